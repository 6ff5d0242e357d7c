//! The pairs that the fast loops pass by.

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Plan;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::plan::{Lookup, near2};
use crate::problem::{Extents, SlabView, range};

/// The odd poles of a slab, igp by igp.
#[derive(Clone, Debug, PartialEq)]
pub struct OddPoles {
    mask: Vec<u32>,
    pairs: Vec<u32>,
    begins: Vec<u32>,
}

impl OddPoles {
    /// Bytes of those of a slab while they are found, where they are no more than one of 16 pairs: each igp has its
    /// own before all are put together.
    pub fn bytes_while_made(slab: Extents) -> u64 {
        slab.odd_bytes().saturating_mul(2)
    }

    /// Of a slab, where `is_regular` says it of a pole.
    pub(super) fn of(slab: SlabView, is_regular: impl Fn(Complex64) -> bool + Sync) -> OddPoles {
        let ncouls = slab.ncouls();
        let words = Plan::words(ncouls as u32) as usize;
        let of_igp = |(igp, (wtilde, eps)): (usize, (&[Complex64], &[Complex64]))| {
            let mut mask = vec![0; words];
            let mut pairs = Vec::new();
            for (ig, (&pole, &eps)) in wtilde.iter().zip(eps).enumerate() {
                let counts = range::contributes(pole, eps);
                if !(counts && is_regular(pole)) {
                    mask[ig / 32] |= 1 << (ig % 32);
                    if counts {
                        pairs.push((igp * ncouls + ig) as u32);
                    }
                }
            }
            (mask, pairs)
        };
        let columns = slab.wtilde().par_chunks(ncouls).zip(slab.eps().par_chunks(ncouls));
        let (masks, pairs): (Vec<_>, Vec<_>) = columns.enumerate().map(of_igp).unzip();
        let ends = pairs.iter().scan(0, |end, pairs: &Vec<u32>| {
            *end += pairs.len() as u32;
            Some(*end)
        });
        let begins = [0].into_iter().chain(ends).collect();
        OddPoles { mask: masks.concat(), pairs: pairs.concat(), begins }
    }

    /// None, of kernels that read no pole.
    pub(super) fn none(slab: SlabView) -> OddPoles {
        let words = Plan::words(slab.ncouls() as u32) as usize;
        let (mask, begins) = (vec![0; words * slab.len()], vec![0; slab.len() + 1]);
        OddPoles { mask, pairs: Vec::new(), begins }
    }

    /// These and others of the same slab, ascending pairs that contribute and are none of these.
    pub(super) fn with(&self, others: &[u32], ncouls: usize) -> OddPoles {
        let words = Plan::words(ncouls as u32) as usize;
        let mut mask = self.mask.clone();
        let mut counts: Vec<u32> = self.begins.windows(2).map(|of| of[1] - of[0]).collect();
        for &pair in others {
            let (igp, ig) = (pair as usize / ncouls, pair as usize % ncouls);
            mask[igp * words + ig / 32] |= 1 << (ig % 32);
            counts[igp] += 1;
        }
        let mut pairs = [&self.pairs, others].concat();
        // Two ascending runs, which this merges.
        pairs.sort();
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        let begins = [0].into_iter().chain(ends).collect();
        OddPoles { mask, pairs, begins }
    }

    /// See [`Plan::odd_mask`]; pairs of no weight are in it too. igp counts from the slab's begin.
    pub fn mask(&self) -> &[u32] {
        &self.mask
    }

    /// See [`Plan::odd_pairs`]: offsets `igp · ncouls + ig`, ascending; igp counts from the slab's begin.
    pub fn pairs(&self) -> &[u32] {
        &self.pairs
    }

    /// Where the pairs of each igp of the slab begin, and where the last one's end.
    pub fn begins(&self) -> &[u32] {
        &self.begins
    }
}

// Energies at the cutoff: `|ssx| = sexcut·|eps|`, where versions that round otherwise than v3 would
// decide otherwise.

/// Relative room around the cutoff, far more than any version's rounding.
const ROOM: f64 = 1.0 / (1u64 << 40) as f64;

/// Relative room around the energies that are looked at, more than their own rounding.
const WINDOW: f64 = 1.0 / (1u64 << 30) as f64;

/// The energies that the cutoff may take.
#[derive(Debug)]
pub struct Cutoff {
    energies: Lookup,
    limits: Limits,
}

impl Cutoff {
    /// Of occupied bands' energies below zero.
    pub fn of(energies: impl IntoIterator<Item = f64>, limits: Limits) -> Cutoff {
        Cutoff { energies: Lookup::of(energies), limits }
    }

    /// Whether for some energy `|ssx|` is at the cutoff or has no bound.
    ///
    /// In the first branch `|w² − ω̃²| = |ω̃|²/sexcut` there, a quadratic equation for `w²`; in the
    /// second `|w + ω̃| = |ω̃|/(2·sexcut)`. The solutions only say which energies to look at.
    pub fn is_at(&self, pole: Complex64) -> bool {
        let sexcut = self.limits.sexcut;
        if self.energies.is_empty() || sexcut == 0.0 {
            return false;
        }
        // Regular poles are neither so large nor so small that their squares are none.
        let size = pole.norm_sqr().sqrt();
        let any = |low: f64, high: f64| {
            self.energies.any(low, high)
                && self.energies.within(low, high).iter().any(|&w| self.is_undecided(w, pole))
        };

        let first = size * size / sexcut;
        let square = pole * pole;
        let room = WINDOW * size * size;
        let first = shell(first, square.im).is_some_and(|(least, most)| {
            [(square.re - most, square.re - least), (square.re + least, square.re + most)]
                .into_iter()
                .any(|(low, high)| {
                    let (low, high) = ((low - room).max(0.0), high + room);
                    high >= 0.0 && any(-high.sqrt(), -low.sqrt())
                })
        });
        let room = WINDOW * size;
        first
            || shell(size / (2.0 * sexcut), pole.im).is_some_and(|(least, most)| {
                any(-pole.re - most - room, -pole.re - least + room)
                    || any(-pole.re + least - room, -pole.re + most + room)
            })
    }

    /// Ranges of size outside of which no pole on the real axis is at the cutoff; none where that cannot be said.
    pub fn sizes(&self) -> Option<Vec<[f64; 2]>> {
        let inverse = 1.0 / self.limits.sexcut;
        if self.energies.is_empty() || self.limits.sexcut == 0.0 {
            return Some(Vec::new());
        }
        if !inverse.is_finite() {
            return None;
        }
        // Windows as above, relative to the size or its square, and as much for their own rounding.
        let within = |middle: f64, of: f64| {
            let room = 2.0 * WINDOW * (1.0 + of);
            let most = middle + room;
            [(middle - room).max(0.0), if most >= 0.0 { most } else { f64::NAN }]
        };
        let squares = [within(1.0 - inverse, inverse), within(1.0 + inverse, inverse)];
        let half = 0.5 * inverse;
        let [one, other] = squares.map(|of| of.map(f64::sqrt));
        let parts = [one, other, within(1.0 - half, half), within(1.0 + half, half)];
        // A quotient by zero has no end; one by no number holds nothing.
        let range = |w: f64| parts.map(|[least, most]| [-w / most, -w / least]);
        Some(self.energies.all().iter().flat_map(|&w| range(w)).collect())
    }

    /// Whether rounding may decide about this energy.
    fn is_undecided(&self, w: f64, pole: Complex64) -> bool {
        let (d, s) = ((pole - w).norm(), (pole + w).norm());
        let near = d * d <= near2(self.limits, pole);
        let ssx = pole.norm() / s * if near { 0.5 } else { pole.norm() / d };
        !ssx.is_finite() || (ssx / self.limits.sexcut - 1.0).abs() <= ROOM
    }
}

/// What is left for one leg of a right triangle with about this hypotenuse and that other leg.
fn shell(hypotenuse: f64, leg: f64) -> Option<(f64, f64)> {
    let square = |room: f64| hypotenuse * hypotenuse * (1.0 + room) - leg * leg * (1.0 - room);
    let most = square(WINDOW);
    (most >= 0.0).then(|| (square(-WINDOW).max(0.0).sqrt(), most.sqrt()))
}

#[cfg(test)]
mod tests;
