//! Finds a compiler with `core` for nvptx64 and has it build the kernels.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "nvptx64-nvidia-cuda";
const TARGET_CPU: &str = "sm_70";

/// `2`: the back end fuses a·b + c, which Rust never does by itself.
const FMA_LEVEL: &str = "-nvptx-fma-level=2";

/// A rustc and the cargo beside it.
pub struct Compiler {
    pub rustc: PathBuf,
    cargo: PathBuf,
}

/// The compiler building this.
pub fn own() -> Compiler {
    Compiler {
        rustc: env::var_os("RUSTC").unwrap_or("rustc".into()).into(),
        cargo: env::var_os("CARGO").unwrap_or("cargo".into()).into(),
    }
}

/// Compilers to try: the one named, the one building this, the system's, then rustup's others.
pub fn compilers() -> Vec<Compiler> {
    let beside = |rustc: PathBuf| Compiler { cargo: rustc.with_file_name("cargo"), rustc };
    if let Some(named) = env::var_os("GPP_KERNEL_RUSTC") {
        return vec![beside(named.into())];
    }
    let mut list = vec![own(), beside("/usr/bin/rustc".into())];
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
    /// Its release and its LLVM's, as in `rustc 1.96.0, LLVM 22.1.8`.
    pub fn version(&self) -> Result<String, String> {
        let text = run(Command::new(&self.rustc).arg("-vV"))?;
        let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        match (of("release:"), of("LLVM version:")) {
            (Some(release), Some(llvm)) => Ok(format!("rustc {release}, LLVM {llvm}")),
            _ => Err(format!("{} -vV says neither release nor LLVM", self.rustc.display())),
        }
    }

    /// Builds the kernels crate and returns the PTX.
    pub fn compile(&self, root: &Path, target_dir: &Path) -> Result<String, String> {
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
