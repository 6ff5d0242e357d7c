//! Finds a compiler with `core` for nvptx64, has it build the kernels, and adds launch bounds to their PTX.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use gpp_kernels::{offdiag, versions};

const TARGET: &str = "nvptx64-nvidia-cuda";
const TARGET_CPU: &str = "sm_70";

/// `2`: the back end fuses a·b + c, which Rust never does by itself.
const FMA_LEVEL: &str = "-nvptx-fma-level=2";

/// The PTX of a crate, and the compiler that wrote it: see [`Compiler::version`].
pub struct Built {
    pub version: String,
    pub ptx: String,
}

/// One module, fully inlined, with the lines of the source.
const PROFILE: [&str; 5] = [
    "inherits='release'",
    "lto='fat'",
    "codegen-units=1",
    "panic='abort'",
    "debug='line-directives-only'",
];

/// The crate in `folder` by the first compiler that builds it, or why each failed.
pub fn first_that_builds(
    compilers: &[Compiler],
    folder: &Path,
    target_dir: &Path,
) -> Result<Built, String> {
    let mut tried = String::new();
    for compiler in compilers {
        match compiler.build(folder, target_dir) {
            Ok(built) => return Ok(built),
            Err(why) => tried += &format!("; {}: {why}", compiler.rustc.display()),
        }
    }
    Err(tried)
}

/// A rustc and the cargo of its toolchain.
pub struct Compiler {
    pub rustc: PathBuf,
    cargo: PathBuf,
}

/// The compiler building this.
pub fn own() -> Compiler {
    let named = |name, default: &str| env::var_os(name).unwrap_or(default.into()).into();
    Compiler { rustc: named("RUSTC", "rustc"), cargo: named("CARGO", "cargo") }
}

/// Compilers to try: the one that `GPP_KERNEL_RUSTC` names, or the one building this and the system's.
pub fn all() -> Vec<Compiler> {
    match env::var_os("GPP_KERNEL_RUSTC") {
        Some(named) => vec![Compiler::from_rustc(named.into())],
        None => vec![own(), Compiler::from_rustc("/usr/bin/rustc".into())],
    }
}

/// Release and LLVM in what `rustc -vV` prints, as in `rustc 1.96.0, LLVM 22.1.8`.
pub fn version_in(text: &str) -> Option<String> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    Some(format!("rustc {}, LLVM {}", value("release:")?, value("LLVM version:")?))
}

impl Compiler {
    pub fn from_rustc(rustc: PathBuf) -> Compiler {
        Compiler { cargo: rustc.with_file_name("cargo"), rustc }
    }

    pub fn version(&self) -> Result<String, String> {
        let text = run(Command::new(&self.rustc).arg("-vV"))?;
        version_in(&text)
            .ok_or_else(|| format!("{} -vV does not say release and LLVM", self.rustc.display()))
    }

    fn build(&self, folder: &Path, target_dir: &Path) -> Result<Built, String> {
        let version = self.version()?;
        let sysroot = run(Command::new(&self.rustc).args(["--print", "sysroot"]))?;
        let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
        if !rustlib.join("src/rust/library/core/src/lib.rs").exists() {
            return Err("has no rust-src".into());
        }

        let mut cargo = Command::new(&self.cargo);
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_build(name)) {
            cargo.env_remove(&name);
        }
        // Lines are of files in the repository, of crates and of Rust's library, wherever these are on this machine.
        let root = folder.parent().unwrap_or(folder);
        let places =
            [(rustlib.join("src/rust"), "/rust"), (crates(), "/crates"), (root.into(), ".")];
        let remap = places.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
        let code = [format!("target-cpu={TARGET_CPU}"), format!("llvm-args={FMA_LEVEL}")];
        let code = code.map(|option| format!("-C{option}"));
        let flags = [code.as_slice(), &remap].concat();
        // Every compiler has a folder of its own.
        let mut key = DefaultHasher::new();
        (&version, &flags).hash(&mut key);
        let target_dir = &target_dir.join(format!("{:016x}", key.finish()));
        cargo
            .current_dir(folder)
            .env("RUSTC", &self.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", "kernels", "--locked"])
            .args(["-Zbuild-std=core", "--target", TARGET, "--target-dir"])
            .arg(target_dir);
        for setting in PROFILE {
            cargo.arg("--config").arg(format!("profile.kernels.{setting}"));
        }
        // The assembly is the product; there is nothing to link. Cargo's own files may be in a folder that its
        // configuration names.
        let ptx = target_dir.join("kernels.s");
        let failed = |e: std::io::Error| format!("{}: {e}", ptx.display());
        fs::create_dir_all(target_dir).map_err(failed)?;
        cargo.args(["--", &format!("--emit=asm={}", ptx.display()), "-C", "linker=/bin/true"]);
        run(&mut cargo)?;
        let ptx = fs::read_to_string(&ptx).map_err(failed)?;
        Ok(Built { version, ptx })
    }
}

/// Where Cargo unpacks crates.
fn crates() -> PathBuf {
    let usual = || env::home_dir().unwrap_or_default().join(".cargo");
    env::var_os("CARGO_HOME").map_or_else(usual, PathBuf::from).join("registry/src")
}

/// Whether a variable says how the program is built. Others say where Cargo finds crates, and by what network.
fn is_of_this_build(name: &OsStr) -> bool {
    let of_machine = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "RUSTUP_HOME",
    ];
    let name = &*name.to_string_lossy();
    let begins_with = |prefixes: &[&str]| prefixes.iter().any(|begin| name.starts_with(begin));
    ["TARGET", "HOST", "OUT_DIR"].contains(&name)
        || begins_with(&["CARGO", "RUST"]) && !begins_with(&of_machine)
}

/// Standard output of a command that succeeded, else the first error it printed.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(first_error(&String::from_utf8_lossy(&output.stderr)).to_string())
}

/// The first error in what a command printed, else its last line.
pub fn first_error(printed: &str) -> &str {
    let first = printed.lines().find(|line| line.starts_with("error"));
    first.or(printed.lines().last()).unwrap_or("failed")
}

const ENTRY: &str = ".visible .entry ";

/// The PTX without debug sections, with each entry's threads, and its limit of registers if it has one.
pub fn with_bounds(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut bounds = None;
    // Of line directives LLVM leaves an empty section, which `ptxas` rejects.
    for line in ptx.lines().filter(|line| !line.trim_start().starts_with(".section")) {
        text += line;
        text.push('\n');
        if let Some(entry) = line.strip_prefix(ENTRY) {
            bounds = bounds_of(entry.trim_end_matches('('));
        } else if line == ")" {
            text += &bounds.take().unwrap_or_default();
        }
    }
    text
}

/// The bounds of an entry; none of one that is no version's.
fn bounds_of(symbol: &str) -> Option<String> {
    if let Some((_, threads)) = offdiag::symbols().find(|(other, _)| *other == symbol) {
        return Some(format!(".maxntid {threads}\n"));
    }
    let (_, kernel, entry) = versions::find(symbol)?;
    let mut bounds = format!(".maxntid {}\n", kernel.threads);
    if let Some(registers) = entry.max_registers.or(kernel.max_registers) {
        bounds += &format!(".maxnreg {registers}\n");
    }
    Some(bounds)
}
