//! How the shared libraries for C and Python are linked.

use std::env;

/// Hides what the library has of other crates: others in the process must not find the driver's functions that
/// `gpp-core` defines for the linker, nor the library theirs. `build/hypot.rs` says why `hypot` is wrapped.
pub fn link(options: &[&str]) {
    println!("cargo::rerun-if-changed=build.rs");
    let target = ["OS", "ENV", "ARCH"].map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")));
    let [system, libc, processor] = target.map(Result::unwrap_or_default);
    if system != "linux" {
        return;
    }
    let wraps = libc == "gnu" && ["x86_64", "aarch64"].contains(&&processor[..]);
    let hypot = wraps.then_some("--wrap=hypot");
    for option in ["--exclude-libs,ALL"].iter().chain(options).copied().chain(hypot) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{option}");
    }
}
