//! How the module is linked.

#[path = "../build/shared.rs"]
mod shared;

fn main() {
    shared::link();
}
