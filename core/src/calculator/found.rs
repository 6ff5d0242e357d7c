//! What comes of a calculation.

use num_complex::Complex64;

use crate::catalogue::Kernel;
use crate::problem::Sums;

/// What came of a calculation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G; to be summed over ranks.
    pub sums: Sums,
    /// The static CH of the same bands, where [`set_static_ch`](super::Calculator::set_static_ch) asks for it; to be
    /// summed over ranks.
    pub static_ch: Option<Complex64>,
    /// The version that calculated them.
    pub version: &'static str,
    /// Seconds that its kernels took, and those of the static CH; with the uploads where the device had no room for
    /// the whole problem, and where there are several.
    pub seconds: f64,
}

impl Found {
    pub(super) fn of(sums: Sums, version: Kernel, seconds: f64) -> Found {
        Found { sums, static_ch: None, version: version.id(), seconds }
    }

    /// With the sums of [`crate::catalogue::static_ch`] and their seconds.
    pub(super) fn with_static_ch(self, sums: &Sums, seconds: f64) -> Found {
        Found { static_ch: Some(sums.ach[0]), seconds: self.seconds + seconds, ..self }
    }
}
