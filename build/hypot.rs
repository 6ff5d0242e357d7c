// `hypot` has a version of its own since glibc 2.35, with which older systems do not load. `hypotf64` is the same
// function, there since 2.27: a shared library linked with `--wrap=hypot` calls it by that name.

#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
std::arch::global_asm!(".globl __wrap_hypot; .hidden __wrap_hypot; __wrap_hypot: jmp hypotf64@PLT");

#[cfg(all(target_env = "gnu", target_arch = "aarch64"))]
std::arch::global_asm!(".globl __wrap_hypot; .hidden __wrap_hypot; __wrap_hypot: b hypotf64");
