//! How the shared libraries for C and Python are linked.

use std::env;

/// Hides what the library has of other crates: others in the process must not find the driver's functions that
/// `gpp-core` defines for the linker, nor the library theirs. `build/hypot.rs` says why `hypot` is wrapped. A library
/// stays loaded once it is, since threads that it started run on. Programs that are linked with the library for C by a
/// path look for its name alone; cargo-c, which sets the feature `capi`, gives what it installs a name with a version.
pub fn link() {
    println!("cargo::rerun-if-changed=../build/shared.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let mut options = vec!["--exclude-libs,ALL", "-z,nodelete"];
    if variable("CARGO_PKG_NAME") == "gpp-c" && env::var_os("CARGO_FEATURE_CAPI").is_none() {
        options.push("-soname,libgpp_c.so");
    }
    let architecture = variable("CARGO_CFG_TARGET_ARCH");
    if variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && ["x86_64", "aarch64"].contains(&&architecture[..])
    {
        options.push("--wrap=hypot");
    }
    for option in options {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{option}");
    }
}
