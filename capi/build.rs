//! How the shared library is linked. It stays loaded once it is, since threads that it started run on. Programs that
//! are linked with it by a path look for its name alone.

#[path = "../build/shared.rs"]
mod shared;

fn main() {
    shared::link(&["-z,nodelete", "-soname,libgpp_c.so"]);
}
