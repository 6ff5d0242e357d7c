//! Keeps what the core defines for its linker, `cu*` functions in place of the driver's library, inside of the
//! module: another user of CUDA in the process must not find them, nor the module those of another.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The core is an archive to the linker, the module's own code is not.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // See src/lib.rs.
        let is = |part: &str, names: &[&str]| {
            std::env::var(format!("CARGO_CFG_TARGET_{part}"))
                .is_ok_and(|is| names.contains(&&is[..]))
        };
        if is("ENV", &["gnu"]) && is("ARCH", &["x86_64", "aarch64"]) {
            println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=hypot");
        }
    }
}
