//! Compiles `kernels/` to PTX with rustc's `nvptx64-nvidia-cuda` target and hands it to the program
//! as `$OUT_DIR/gpp.ptx`, empty where no compiler here can do it (`GPP_NO_KERNELS` then says why).

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpp_kernels::registry::{Body, Poles, VERSIONS};
use gpp_kernels::tiles::candidates::{CANDIDATES, PREFIX};

#[path = "build/line_table.rs"]
mod line_table;

const TARGET: &str = "nvptx64-nvidia-cuda";
const TARGET_CPU: &str = "sm_70";

/// `2`: the back end fuses a·b + c, which Rust never does by itself.
const FMA_LEVEL: &str = "-nvptx-fma-level=2";

const HOW_TO_INSTALL: &str = "install a compiler with `core` for nvptx64: \
    `apt-get install rustc-web cargo-web rust-web-src` on Debian, \
    `rustup component add rust-src` elsewhere, or name a rustc in GPP_KERNEL_RUSTC";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rerun-if-changed=kernels");
    println!("cargo::rerun-if-env-changed=GPP_KERNEL_RUSTC");
    println!("cargo::rustc-check-cfg=cfg(no_kernels)");

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut tried = String::new();
    let ptx = compilers().into_iter().find_map(|compiler| {
        compiler
            .compile(&root, &out.join("kernels"))
            .map_err(|why| _ = write!(tried, "; {}: {why}", compiler.rustc.display()))
            .ok()
    });
    let text = match ptx {
        Some(ptx) => assemblable(&ptx),
        None => {
            let why = format!("built without GPU kernels: {HOW_TO_INSTALL}{tried}");
            println!("cargo::warning={why}");
            println!("cargo::rustc-env=GPP_NO_KERNELS={why}");
            println!("cargo::rustc-cfg=no_kernels");
            // A path that never exists: look again at every build.
            println!("cargo::rerun-if-changed={}", out.join("no-compiler").display());
            String::new()
        }
    };
    let (versions, candidates) = parted(&text);
    fs::write(out.join("gpp.ptx"), versions).expect("OUT_DIR can be written");
    fs::write(out.join("candidates.ptx"), candidates).expect("OUT_DIR can be written");
}

/// A rustc and the cargo beside it.
struct Compiler {
    rustc: PathBuf,
    cargo: PathBuf,
}

/// Compilers to try: the one named, the one building this, the system's, then rustup's others.
fn compilers() -> Vec<Compiler> {
    let beside = |rustc: PathBuf| Compiler { cargo: rustc.with_file_name("cargo"), rustc };
    if let Some(named) = env::var_os("GPP_KERNEL_RUSTC") {
        return vec![beside(named.into())];
    }
    let mut list = vec![Compiler {
        rustc: env::var_os("RUSTC").unwrap_or("rustc".into()).into(),
        cargo: env::var_os("CARGO").unwrap_or("cargo".into()).into(),
    }];
    list.push(beside("/usr/bin/rustc".into()));
    let rustup = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    let toolchains = rustup.and_then(|home| fs::read_dir(home.join("toolchains")).ok());
    let mut others: Vec<_> = toolchains
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| beside(entry.path().join("bin/rustc")))
        .collect();
    others.sort_by(|a, b| b.rustc.cmp(&a.rustc));
    list.extend(others);
    list
}

impl Compiler {
    /// Builds the kernels crate and returns the PTX.
    fn compile(&self, root: &Path, target_dir: &Path) -> Result<String, String> {
        let sysroot = PathBuf::from(self.print("sysroot")?.trim());
        let rustlib = sysroot.join("lib/rustlib");
        let has_target = fs::read_dir(rustlib.join(TARGET).join("lib"))
            .is_ok_and(|dir| dir.flatten().any(|file| is_core(&file.file_name())));
        let has_source = rustlib.join("src/rust/library/core/src/lib.rs").exists();
        if !has_target && !has_source {
            return Err(format!("has neither rust-src nor {TARGET}"));
        }

        let mut cargo = Command::new(&self.cargo);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let inherited = text.starts_with("CARGO") && text != "CARGO_HOME"
                || text.starts_with("RUST") && text != "RUSTUP_HOME"
                || ["TARGET", "HOST", "OUT_DIR"].contains(&text.as_ref());
            if inherited {
                cargo.env_remove(&name);
            }
        }
        let flags = [
            "-C".to_string(),
            format!("target-cpu={TARGET_CPU}"),
            "-C".to_string(),
            format!("llvm-args={FMA_LEVEL}"),
            format!("--remap-path-prefix={}=.", root.display()),
        ];
        cargo
            .current_dir(root.join("kernels"))
            .env("RUSTC", &self.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .args(["rustc", "--package", "gpp-kernels", "--lib", "--crate-type", "cdylib"])
            .args(["--profile", "kernels", "--locked", "--target", TARGET])
            .arg("--target-dir")
            .arg(target_dir);
        if !has_target {
            cargo.arg("-Zbuild-std=core");
        }
        // The assembly is the product; there is nothing to link.
        cargo.args(["--", "--emit=asm", "-C", "linker=/bin/true"]);
        run(&mut cargo)?;

        let deps = target_dir.join(TARGET).join("kernels/deps");
        let ptx = fs::read_dir(&deps)
            .map_err(|e| format!("{}: {e}", deps.display()))?
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension() == Some(OsStr::new("s")))
            .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok())
            .ok_or("it wrote no PTX")?;
        fs::read_to_string(&ptx).map_err(|e| format!("{}: {e}", ptx.display()))
    }

    fn print(&self, what: &str) -> Result<String, String> {
        run(Command::new(&self.rustc).args(["--print", what]))
    }
}

fn is_core(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("libcore-") && name.ends_with(".rlib")
}

/// Standard output of a command that succeeded, else the first error it printed.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().find(|line| line.starts_with("error"));
    Err(first.or(errors.lines().last()).unwrap_or("failed").to_string())
}

/// The PTX as `ptxas` and the driver take it: lines that profilers can show, and for each entry the
/// launch bounds that the registry states.
fn assemblable(ptx: &str) -> String {
    let lines = line_table::rewrite(ptx);
    let mut text = String::with_capacity(lines.len());
    let mut bounds = None;
    for line in lines.lines() {
        if line.starts_with(".target") {
            text += &line.replace(", debug", "");
        } else {
            text += line;
        }
        text.push('\n');
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            bounds = launch_bounds(entry.trim_end_matches('('));
        } else if line == ")" {
            text += &bounds.take().unwrap_or_default();
        }
    }
    text
}

/// The directives of one entry: its threads, and its register cap where it has one. Candidates take
/// one when they are loaded.
fn launch_bounds(symbol: &str) -> Option<String> {
    let has = |bodies: &[Body]| bodies.iter().any(|body| body.symbol == symbol);
    if let Some(candidate) = CANDIDATES.iter().find(|candidate| has(candidate.bodies)) {
        return Some(format!(".maxntid {}\n// cap\n", candidate.shape.threads()));
    }
    let launch = VERSIONS
        .iter()
        .flat_map(|version| [Poles::Any, Poles::Real].map(|poles| version.of(poles)))
        .find(|launch| has(launch.bodies))?;
    let mut bounds = format!(".maxntid {}\n", launch.threads);
    if let Some(registers) = launch.max_registers {
        bounds += &format!(".maxnreg {registers}\n");
    }
    Some(bounds)
}

/// The module in two: all but the candidates' entries, and those.
fn parted(text: &str) -> (String, String) {
    let (mut versions, mut candidates) = (String::new(), String::new());
    // What stands outside of entries goes to both.
    let (mut to_versions, mut to_candidates) = (true, true);
    for line in text.lines() {
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            to_candidates = entry.starts_with(PREFIX);
            to_versions = !to_candidates;
        }
        for (wanted, part) in [(to_versions, &mut versions), (to_candidates, &mut candidates)] {
            if wanted {
                *part += line;
                part.push('\n');
            }
        }
        if line == "}" {
            (to_versions, to_candidates) = (true, true);
        }
    }
    (versions, candidates)
}
