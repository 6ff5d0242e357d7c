//! Which bands l and m.

use std::str::FromStr;

use gpp_core::offdiag::{Elements, MOST_BANDS as MOST};
use num_complex::Complex64;

/// Bands that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bands {
    /// The first, from 0.
    pub first: usize,
    /// How many, one at least.
    pub count: usize,
}

/// A text that names no bands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs a number of bands or FROM:TO, from 1 to {MOST}, ends included")]
pub struct NoBands;

impl FromStr for Bands {
    type Err = NoBands;

    fn from_str(text: &str) -> Result<Bands, NoBands> {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
        let (from, to) = match text.split_once(':') {
            Some((from, to)) => (number(from), number(to)),
            None => (Some(1), number(text)),
        };
        match (from, to) {
            (Some(from), Some(to)) if from <= to => {
                Ok(Bands { first: from - 1, count: to + 1 - from })
            }
            _ => Err(NoBands),
        }
    }
}

/// The matrix elements of some bands of more.
pub struct Some<'a> {
    /// Those of all.
    pub all: &'a dyn Elements,
    /// Which.
    pub bands: Bands,
}

impl Elements for Some<'_> {
    fn bands(&self) -> usize {
        self.bands.count
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.all.column(self.bands.first + l, n, column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_counted_from_one() {
        assert_eq!("16".parse(), Ok(Bands { first: 0, count: 16 }));
        assert_eq!("3:3".parse(), Ok(Bands { first: 2, count: 1 }));
        assert_eq!("5:12".parse(), Ok(Bands { first: 4, count: 8 }));
        for wrong in ["", "0", "0:4", "5:4", "1:", ":2", "1:2:3", "-1", "8193", "1:9999", "x"] {
            assert_eq!(wrong.parse::<Bands>(), Err(NoBands), "{wrong}");
        }
    }
}
