//! What is recorded of the static CH.

use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::reference::verify::{Outcome, Verification};

/// The static CH of a problem's bands: see docs/sigma.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaticCh {
    /// Real and imaginary part, in the unit of `vcoul`; null where they are no numbers.
    pub sum: [Option<f64>; 2],
    /// Seconds of its calculation, with uploads where its data were not in place.
    pub seconds: f64,
    /// The comparison with the reference.
    pub verification: Verification,
}

impl StaticCh {
    /// Of a sum that took so many seconds.
    pub fn of(sum: Complex64, seconds: f64, verification: Verification) -> StaticCh {
        let number = |part: f64| part.is_finite().then_some(part);
        StaticCh { sum: [sum.re, sum.im].map(number), seconds, verification }
    }

    /// The sum.
    pub fn value(&self) -> Complex64 {
        let [re, im] = self.sum.map(|part| part.unwrap_or(f64::NAN));
        Complex64::new(re, im)
    }

    /// Whether it was compared and differs.
    pub fn is_incorrect(&self) -> bool {
        self.verification.outcome == Outcome::Incorrect
    }
}
