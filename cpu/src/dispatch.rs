//! From a level of vectors to the code that has its instructions switched on.

use fearless_simd::{Level as Detected, Simd};

use crate::lanes::{Lanes, Single, Vector};
use crate::level::Level;

/// What is compiled for every level, and called with `A`.
pub trait Levelled<A> {
    /// Whether it computes in vectors; otherwise one number at a time at every level.
    const IN_VECTORS: bool = true;

    /// Implementations are `#[inline(always)]`, and so is all that they call for each term.
    fn run<L: Lanes>(token: L::Token, with: A);
}

/// Enters the code for a level, with its instructions switched on.
#[inline(always)]
fn enter<B: Levelled<A>, A, S: Simd>(token: S, with: A) {
    token.vectorize(
        #[inline(always)]
        || B::run::<Vector<S>>(token, with),
    );
}

/// Runs it at a level.
///
/// # Panics
/// Where the processor does not have the level.
pub fn at_level<B: Levelled<A>, A>(level: Level, with: A) {
    let detected = Detected::new();
    match level {
        _ if !B::IN_VECTORS => B::run::<Single>((), with),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx512 if let Some(token) = detected.as_avx512() => enter::<B, A, _>(token, with),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx2 if let Some(token) = detected.as_avx2() => enter::<B, A, _>(token, with),
        #[cfg(target_arch = "aarch64")]
        Level::Neon if let Some(token) = detected.as_neon() => enter::<B, A, _>(token, with),
        Level::Scalar => B::run::<Single>((), with),
        _ => unreachable!("{detected:?} has no {level}"),
    }
}
