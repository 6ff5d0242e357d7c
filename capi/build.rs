//! How the shared library is linked. It hides what it has of other crates: the driver's functions that `gpp-core`
//! defines for the linker must not be found by others in the process, nor theirs by us. It stays loaded once it is:
//! threads that it started run on. Programs that are linked with it by a path look for its name alone.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = ["OS", "ENV", "ARCH"].map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")));
    let [system, libc, processor] = target.map(Result::unwrap_or_default);
    if system != "linux" {
        return;
    }
    for option in ["--exclude-libs,ALL", "-z,nodelete", "-soname,libgpp_c.so"] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{option}");
    }
    // See src/lib.rs.
    if libc == "gnu" && ["x86_64", "aarch64"].contains(&&processor[..]) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=hypot");
    }
}
