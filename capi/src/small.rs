//! What is small of a call: bands n, energies, limits.

use std::borrow::Cow;

use gpp_core::Calculator;
use gpp_core::lent::Pod;
use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::problem::memory;
use num_complex::Complex64;

use crate::border::{Seen, extent, finite};
use crate::status::Failure;
use crate::types::Formula;

type Result<T> = std::result::Result<T, Failure>;

/// Bytes that the system is not asked about.
const ALWAYS_THERE: usize = 1 << 24;

/// What brings small arrays of the GPU's to the host.
pub fn fetch<T: Pod>(
    calculator: &Calculator,
) -> impl Fn(&'static str, u64, usize) -> Result<Vec<T>> + '_ {
    // SAFETY: found on the GPU; that it has so many elements, which nobody writes, is the caller's word.
    |name, at, len| Ok(unsafe { calculator.fetch_vector(name, at, len) }?)
}

/// Bands n by energies and occupations, energies of the sums, and limits.
pub struct Small<'a> {
    pub e: Cow<'a, [f64]>,
    pub occ: Cow<'a, [f64]>,
    pub omega: Cow<'a, [f64]>,
    pub formula: gpp_core::Formula,
}

impl<'a> Small<'a> {
    /// Looks at them.
    ///
    /// # Safety
    /// As of `gpp_sums`.
    pub unsafe fn seen(
        calculator: &Calculator,
        seen: &mut Seen,
        (nbands, e, occ): (usize, *const f64, *const f64),
        (nw, omega): (i64, *const f64),
        formula: *const Formula,
    ) -> Result<Small<'a>> {
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let formula = match formula.is_null() {
                true => gpp_core::Formula::default(),
                false => {
                    let &Formula { gamma, sexcut } = seen.one("formula", formula)?;
                    gpp_core::Formula { gamma, sexcut }
                }
            };
            let nw = extent("nw", nw, MOST_ENERGIES)?;
            Ok(Small {
                e: seen.small("e", e, nbands, fetch(calculator))?,
                occ: seen.small("occ", occ, nbands, fetch(calculator))?,
                omega: seen.small("omega", omega, nw, fetch(calculator))?,
                formula,
            })
        }
    }

    /// Fails where there is no room for what is copied of the arrays, so many rows for each band among it: an
    /// allocation that fails ends the process. Fails at an energy that is none.
    pub fn check(&self, rows: usize) -> Result<()> {
        let of_bands = rows * size_of::<Complex64>() + size_of_val(&self.omega[..]) + 32;
        let needed = of_bands.saturating_mul(self.e.len());
        if needed > ALWAYS_THERE {
            memory::require("the rows of aqsm and the energies", needed as u64)?;
        }
        finite("e", &self.e)?;
        finite("omega", &self.omega)
    }
}
