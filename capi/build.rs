//! Hides what the shared library has of other crates: the driver's functions that `gpp-core` defines for the
//! linker must not be found by others in the process, nor theirs by us. And keeps it loaded once it is: threads
//! that it started run on.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if linux {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
