//! Compensated summation (A. Neumaier, ZAMM 54, 39, 1974).

/// Additions that follow each other before what they sum goes to a compensated sum.
pub const CHAIN: usize = 64;

/// A sum and what its additions have rounded off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    /// Adds a term.
    #[inline(always)]
    pub fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - sum) + term
        } else {
            (term - sum) + self.sum
        };
        self.sum = sum;
    }

    /// The sum; where it is not finite, as it stands: nothing is known of what it lost.
    #[inline(always)]
    pub fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(terms: &[f64]) -> f64 {
        let mut total = Compensated::default();
        terms.iter().for_each(|&term| total.add(term));
        total.value()
    }

    #[test]
    fn what_additions_round_off_comes_back() {
        assert_eq!(total(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(total(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(total(&[]), 0.0);
        assert_eq!(total(&[0.1]).to_bits(), 0.1f64.to_bits());
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        assert!(total(&[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(total(&[1.0, f64::INFINITY]), f64::INFINITY);
    }
}
