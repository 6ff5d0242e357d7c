//! Where the matrix elements of many bands come from.

use std::sync::OnceLock;

use gpp_cpu::stop::Stop;
use num_complex::Complex64;

use super::MOST_BANDS;
use crate::error::{Error, Result};
use crate::problem::System;
use crate::problem::range::LARGEST_FACTOR;
use crate::problem::synthesis;

/// `A_l(ig,n)` of bands l.
pub trait Elements: Sync {
    /// Bands l.
    fn bands(&self) -> usize;

    /// Fills in `A_l(:,n)`, all ig of a band l and an n (0-based).
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]);
}

/// Those of a built-in system: any l and n by the seed alone, falling with |G| as `aqsn` does.
pub struct Synthesised<'a> {
    columns: synthesis::Elements<'a>,
    bands: usize,
}

impl<'a> Synthesised<'a> {
    /// Of so many bands of a system.
    pub fn new(system: &'a System, seed: u64, bands: usize) -> Synthesised<'a> {
        Synthesised { columns: synthesis::Elements::new(system, seed), bands }
    }
}

impl Elements for Synthesised<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.columns.column(l, n, column);
    }
}

/// `a(ncouls, nbands, bands)` of a caller's, column-major. Its numbers are looked at where they are read.
pub struct Borrowed<'a> {
    a: &'a [Complex64],
    nbands: usize,
    bands: usize,
    /// The number that was found wrong first.
    wrong: OnceLock<String>,
    /// Asked then.
    stop: &'a Stop,
}

impl<'a> Borrowed<'a> {
    /// Of so many G and bands n, one at least of each. A number that is not finite or too large has a calculation stop.
    ///
    /// # Errors
    /// [`Error::Data`] where these are not the elements of 1 to [`MOST_BANDS`] bands l.
    pub fn new(
        a: &'a [Complex64],
        [ncouls, nbands]: [usize; 2],
        stop: &'a Stop,
    ) -> Result<Borrowed<'a>> {
        let bands = a.len().checked_div(ncouls * nbands).unwrap_or(0);
        if bands * ncouls * nbands != a.len() || !(1..=MOST_BANDS).contains(&bands) {
            return Err(wrong(format!(
                "needs {ncouls} * {nbands} elements for each of 1 to {MOST_BANDS} bands, has {}",
                a.len()
            )));
        }
        Ok(Borrowed { a, nbands, bands, wrong: OnceLock::new(), stop })
    }

    /// Fails if such a number was read.
    ///
    /// # Errors
    /// [`Error::Data`], which names the number.
    pub fn check(&self) -> Result<()> {
        self.wrong.get().map_or(Ok(()), |what| Err(wrong(what.clone())))
    }
}

impl Elements for Borrowed<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let begin = (l * self.nbands + n) * column.len();
        column.copy_from_slice(&self.a[begin..begin + column.len()]);
        let is_right = |part: f64| part.abs() <= LARGEST_FACTOR;
        if let Some(ig) = column.iter().position(|z| !(is_right(z.re) && is_right(z.im))) {
            let (at, found) = (format!("({},{},{})", ig + 1, n + 1, l + 1), column[ig]);
            let needs = format!("its parts must be at most {LARGEST_FACTOR:e}");
            self.wrong.get_or_init(|| format!("is {found:e} at {at}; {needs}"));
            self.stop.ask(0);
        }
    }
}

fn wrong(what: String) -> Error {
    Error::Data { origin: "a(ig,n,l)".into(), what }
}
