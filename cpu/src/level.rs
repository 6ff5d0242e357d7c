//! Which vectors a processor has.

use std::fmt;
use std::str::FromStr;

use fearless_simd::{Level as Detected, Simd};

use crate::lanes::{Lanes, Single, Vector};

/// An instruction set that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One number at a time.
    Scalar,
    /// Two: 64-bit ARM.
    Neon,
    /// Four, with fused operations: x86-64-v3.
    Avx2,
    /// Eight, with approximate reciprocals: AVX-512 as of Ice Lake and Zen 4.
    Avx512,
}

impl Level {
    pub const ALL: [Level; 4] = [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// FP64 numbers in a vector.
    pub const fn lanes(self) -> usize {
        match self {
            Level::Scalar => 1,
            Level::Neon => 2,
            Level::Avx2 => 4,
            Level::Avx512 => 8,
        }
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        let detected = Detected::new();
        match self {
            Level::Scalar => true,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => detected.as_neon().is_some(),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx2 => detected.as_avx2().is_some(),
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            Level::Avx512 => detected.as_avx512().is_some(),
            #[allow(unreachable_patterns, reason = "each architecture has levels of its own")]
            _ => {
                let _ = detected;
                false
            }
        }
    }

    /// Those that this processor has, the widest last.
    pub fn available() -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    /// The widest that this processor has.
    pub fn best() -> Level {
        Level::available().pop().unwrap_or(Level::Scalar)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no level's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLevel;

impl FromStr for Level {
    type Err = NoLevel;

    fn from_str(name: &str) -> Result<Level, NoLevel> {
        Level::ALL.into_iter().find(|level| level.name() == name).ok_or(NoLevel)
    }
}

// From a level of vectors to the code that has its instructions switched on.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert_eq!("sse".parse::<Level>(), Err(NoLevel));
    }

    #[test]
    fn the_best_is_available() {
        assert!(Level::Scalar.is_available());
        assert!(Level::best().is_available());
        assert!(Level::available().is_sorted());
    }
}
