//! How the shared libraries for C and Python are linked.

use std::env;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Hides what the library has of other crates, so that others in the process do not find it. `build/hypot.rs` says why
/// `hypot` is wrapped. A library stays loaded once it is, since threads that it started run on.
pub fn link() {
    println!("cargo::rerun-if-changed=../build/shared.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let mut options = vec!["--exclude-libs,ALL", "-z,nodelete"];
    // What programs for C look for: `libgpp.so.0.2`. A header and a library of two minor versions do not fit.
    let [major, minor] = ["CARGO_PKG_VERSION_MAJOR", "CARGO_PKG_VERSION_MINOR"].map(variable);
    let name = format!("libgpp.so.{major}.{minor}");
    let soname = format!("-soname,{name}");
    if variable("CARGO_PKG_NAME") == "gpp-c" {
        options.push(&soname);
        // Programs that are linked with Cargo's `libgpp_c.so` find it where it was built. The link may be there.
        if let Some(profile) = Path::new(&variable("OUT_DIR")).ancestors().nth(3) {
            let _ = symlink("libgpp_c.so", profile.join(&name));
        }
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
