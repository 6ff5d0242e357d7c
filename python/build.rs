//! Keeps what the core defines for its linker, `cu*` functions in place of the driver's library, inside of the
//! module: another user of CUDA in the process must not find them, nor the module those of another.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The core is an archive to the linker, the module's own code is not.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    }
}
