//! Which poles the fast loops may take.
//!
//! What they may lose is what a run is allowed (`reference/bound.rs`): relative to Σ|terms|, 128 roundings
//! of a term and one for each of `n` bands that a thread adds one after the other. `q − p`, taken term
//! by term, loses `3κ` roundings where `|w| = κ·|ω̃|`, and its sum `n/2` however large `κ` is; so
//! `3κ + n/2 ≤ 128 + n` for any number of bands asks for `κ ≤ 42`, less what a term loses elsewhere.
//! A difference of two sums would lose `κ·n/2`. Real poles have one quotient and no such bound.

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::branches::{LARGEST, SMALLEST, near2};
use super::cutoff::Cutoff;
use super::energies::Lookup;

/// Largest `κ`.
const MOST_CANCELLATION: f64 = 32.0;

/// What a pole must be for the fast loops.
#[derive(Debug)]
pub struct Regular {
    poles: Poles,
    /// Of the larger of the two parts.
    smallest: f64,
    /// The occupied bands' energies: a pole exactly there is an edge case.
    occupied: Lookup,
    /// All energies: one at a pole's bound between the branches is another.
    energies: Lookup,
    /// The occupied bands' energies below zero, where one may be at the cutoff.
    cutoff: Cutoff,
    limits: Limits,
    /// False where no pole is.
    possible: bool,
}

impl Regular {
    /// For a problem with these energies, of which those are of occupied bands, and these poles.
    pub fn of(wx: &[f64], occupied: &[f64], limits: Limits, poles: Poles) -> Regular {
        let largest = |energies: &[f64]| energies.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
        let gamma = limits.limittwo.sqrt();
        let mut smallest = (SMALLEST * gamma).max(1.0 / LARGEST);
        if poles == Poles::Any {
            smallest = smallest.max(largest(occupied) / MOST_CANCELLATION);
        }
        Regular {
            poles,
            smallest,
            cutoff: Cutoff::of(occupied.iter().copied().filter(|&w| w < 0.0), limits),
            occupied: Lookup::of(occupied.iter().copied()),
            energies: Lookup::of(wx.iter().copied()),
            limits,
            possible: largest(wx) <= LARGEST && gamma <= LARGEST,
        }
    }

    /// Whether it is.
    pub fn holds(&self, pole: Complex64) -> bool {
        let size = pole.re.abs().max(pole.im.abs());
        let on_axis = pole.im == 0.0;
        let suits = match self.poles {
            Poles::Real => on_axis && pole.re > 0.0,
            // Behind the imaginary axis w + ω̃ may vanish.
            Poles::Any => pole.re >= 0.0,
            Poles::Unread => true,
        };
        self.possible
            && suits
            && (self.smallest..=LARGEST).contains(&size)
            && !(on_axis && self.occupied.contains(pole.re))
            && !self.at_bound(pole)
            && !self.cutoff.is_at(pole)
    }

    /// Ranges outside of which all poles on the positive real axis are regular, but for those beyond [`LARGEST`]; none
    /// where there are no such ranges.
    pub fn sizes(&self) -> Option<Vec<[f64; 2]>> {
        let Limits { limittwo, limitone, .. } = self.limits;
        if !self.possible || !(4.0..=1e12).contains(&limitone) {
            return None;
        }
        let mut ranges = self.cutoff.sizes()?;
        ranges.push([0.0, self.smallest]);
        ranges.extend(self.occupied.all().iter().map(|&w| [w, w]));
        // As in `at_bound`, with room for its rounding and for that here.
        let (gamma, part) = (limittwo.sqrt(), 1.0 / limitone.sqrt());
        let factor = |by: f64| 1.0 + part * by;
        for &w in self.energies.all() {
            let room = 64.0 * f64::EPSILON * (w.abs() + 4.0 * gamma);
            let (least, most) = (gamma * (1.0 - UPPER) - room, gamma * (1.0 + UPPER) + room);
            ranges.push([w + least, w + most]);
            ranges.push([w - most, w - least]);
            // Where the bound grows with the pole.
            for [least, most] in
                [[1.0 - 2.0 * UPPER, 1.0 + 2.0 * UPPER], [-1.0 - 2.0 * UPPER, -1.0 + 2.0 * UPPER]]
            {
                let range = [w / factor(most), w / factor(least)];
                if range[1] * part * 1.01 >= gamma {
                    ranges.push(range);
                }
            }
        }
        Some(ranges)
    }

    /// Whether some energy is so near to the bound between the branches that upper words cannot
    /// tell on which side.
    fn at_bound(&self, pole: Complex64) -> bool {
        let near2 = near2(self.limits, pole);
        let least = near2 * (1.0 - UPPER) - pole.im * pole.im;
        let most = near2 * (1.0 + UPPER) - pole.im * pole.im;
        if most < 0.0 {
            return false;
        }
        let (least, most) = (least.max(0.0).sqrt(), most.sqrt());
        // The ends themselves are rounded.
        let room = 4.0 * f64::EPSILON * (pole.re.abs() + most);
        let any = |low: f64, high: f64| self.energies.any(low - room, high + room);
        any(pole.re + least, pole.re + most) || any(pole.re - most, pole.re - least)
    }
}

/// Two numbers that differ by this part of themselves have different upper words; with room for
/// rounding.
const UPPER: f64 = 1.0 / (1u64 << 18) as f64;
