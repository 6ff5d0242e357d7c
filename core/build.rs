//! Compiles `kernels/` to PTX with rustc's `nvptx64-nvidia-cuda` target and hands it to the library
//! as `$OUT_DIR/kernels.rs`, without kernels where no compiler here can do it (`GPP_NO_KERNELS` then says why), or fails
//! with `GPP_REQUIRE_KERNELS` set.
//! What the kernels and the library are built by is in `GPP_KERNELS_BY` and `GPP_RUSTC`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec;

#[path = "build/compiler.rs"]
mod compiler;

const HOW_TO_INSTALL: &str = "install a compiler with `core` for nvptx64: \
    `rustup component add rust-src`, or without rustup `apt-get install rustc-web cargo-web rust-web-src` on Debian, \
    or name a rustc in GPP_KERNEL_RUSTC";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let sources = Path::new(gpp_kernels::FOLDER);
    let root = sources.parent().expect("a folder is around it");
    // Outside of the repository there are no files of a workspace.
    let of_workspace = ["Cargo.toml", "Cargo.lock"].map(|file| root.join(file));
    for path in of_workspace.iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for path in [sources, Path::new("build.rs"), Path::new("build")] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-env-changed=GPP_KERNEL_RUSTC");
    if let Ok(version) = compiler::own().version() {
        println!("cargo::rustc-env=GPP_RUSTC={version}");
    }

    // In the folder of the profile, so that builds with other features find them built.
    let kernels = out.ancestors().nth(3).unwrap_or(&out).join("kernels");
    let text = match compiler::first_that_builds(&compiler::all(), sources, &kernels) {
        Ok(compiler::Built { version, ptx }) => {
            println!("cargo::rustc-env=GPP_KERNELS_BY={version}");
            compiler::with_bounds(&ptx)
        }
        Err(tried) => {
            let why = format!("built without GPU kernels: {HOW_TO_INSTALL}{tried}");
            let is_required = env::var_os("GPP_REQUIRE_KERNELS").is_some();
            println!("cargo::{}={why}", if is_required { "error" } else { "warning" });
            println!("cargo::rustc-env=GPP_NO_KERNELS={why}");
            // A path that never exists: look again at every build.
            println!("cargo::rerun-if-changed={}", out.join("no-compiler").display());
            String::new()
        }
    };
    let kernels = packed(&text, &out.join("kernels"));
    fs::write(out.join("kernels.rs"), kernels).expect("OUT_DIR can be written");
}

const ENTRY: &str = ".visible .entry ";

/// How hard to pack. The highest level saves one percent more and takes twice as long.
const LEVEL: u8 = 6;

/// Rust for two values: what is outside of kernels, and each kernel's symbol with its packed text, a file of `folder`.
fn packed(ptx: &str, folder: &Path) -> String {
    fs::create_dir_all(folder).expect("the folder can be made");
    let (mut shared, mut kernels) = (String::new(), String::new());
    for part in ptx.split_inclusive("\n}\n") {
        let (outside, kernel) = part.split_at(part.find(ENTRY).unwrap_or(part.len()));
        shared += outside;
        let Some(rest) = kernel.strip_prefix(ENTRY) else { continue };
        let symbol = rest.split('(').next().unwrap_or_default();
        let file = folder.join(symbol);
        fs::write(&file, compress_to_vec(kernel.as_bytes(), LEVEL)).expect("it can be written");
        kernels += &format!("({symbol:?}, include_bytes!({:?})),\n", file.display().to_string());
    }
    format!("({shared:?}, &[\n{kernels}])\n")
}
