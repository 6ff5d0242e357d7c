//! The kernels as code: their build, lists and grids, how a block stages bands, what tells one's code from another's.

mod build;
#[allow(dead_code, reason = "the build script uses all of it")]
#[path = "../../core/build/compiler.rs"]
mod compiler;
mod lists;
mod names;

/// What two compilers wrote of a crate with a version, a tiled version and a second stage of a few lines each.
const RECORDED: [&str; 2] =
    [include_str!("../data/rustc-1.95.ptx"), include_str!("../data/rustc-1.96.ptx")];
