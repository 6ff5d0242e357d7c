//! The bounds of cells: how wide they are changes how long sums take, not what comes of them.

use gpp_kernels::arrays::Limits;
use gpp_kernels::cells::series::LEAST;

use super::branches::{LARGEST, SMALLEST};
use crate::problem::{SlabView, range};

/// A cell is at most this part of its poles wide: see [`gpp_kernels::cells::series`].
const WIDEST: f64 = 1.0 / 32.0;

/// No cell is narrower than one of so many parts of what energies come near to.
const MOST: f64 = 16384.0;

/// Who evaluates moments and sums terms one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// Or its emulation.
    Gpu,
    /// The versions of a processor's own.
    Processor,
}

impl Evaluator {
    /// So many terms one by one take as long as the moments of a cell at an energy, as measured: wider cells and
    /// narrower ones took longer.
    fn even(self) -> f64 {
        match self {
            Evaluator::Gpu => 0.12,
            Evaluator::Processor => 0.5,
        }
    }
}

/// What is summed one by one costs as much as so many terms more, however few pairs a cell has.
const BEGUN: f64 = 32.0;

/// Pairs, and energies of bands, that stand for all.
pub(super) const SAMPLE: usize = 1 << 16;

/// What the widths of cells are weighed with.
struct Weighed {
    poles: Sample,
    /// Of those at which a pole may be near, one for each energy of a band.
    energies: Sample,
    limits: Limits,
}

/// Numbers that stand for more.
pub(super) struct Sample {
    sorted: Vec<f64>,
    /// How many each one stands for, or which part of all.
    each: f64,
}

impl Sample {
    pub fn of(mut values: Vec<f64>, each: f64) -> Sample {
        values.sort_unstable_by(f64::total_cmp);
        Sample { sorted: values, each }
    }

    /// All within, `high` excluded.
    pub fn within(&self, low: f64, high: f64) -> f64 {
        let below = |bound: f64| self.sorted.partition_point(|&value| value < bound);
        below(high).saturating_sub(below(low)) as f64 * self.each
    }
}

/// Numbers below `of`, [`SAMPLE`] at most, that keep step with no rows or columns.
pub(super) fn spread(of: usize) -> impl Iterator<Item = usize> {
    // The golden ratio's fraction of 2⁶⁴.
    let at = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let place = move |i: usize| ((u128::from(at(i)) * of as u128) >> 64) as usize;
    (0..of.min(SAMPLE)).map(move |i| if of <= SAMPLE { i } else { place(i) })
}

impl Weighed {
    fn of(slab: SlabView, wx: &[f64], occ: &[f64], limits: Limits) -> Weighed {
        let pairs = slab.wtilde().len();
        let counts = |&at: &usize| range::contributes(slab.wtilde()[at], slab.eps()[at]);
        let poles = spread(pairs).filter(counts).map(|at| slab.wtilde()[at].re).collect();
        let nw = wx.len() / occ.len().max(1);
        // Poles are positive: an occupied band's sums have w − ω̃ and w + ω̃, an empty one's only the first.
        let energies = spread(wx.len())
            .map(|at| if occ[at / nw] == 0.0 { wx[at] } else { wx[at].abs() })
            .collect();
        let of_sample = |all: usize| all as f64 / all.min(SAMPLE) as f64;
        Weighed {
            poles: Sample::of(poles, of_sample(pairs)),
            energies: Sample::of(energies, 1.0 / wx.len().min(SAMPLE) as f64),
            limits,
        }
    }

    /// Terms of a cell that an average energy sums one by one, and what that costs besides.
    fn one_by_one(&self, low: f64, width: f64) -> f64 {
        let mid = low + 0.5 * width;
        // So far from an energy the second branch reaches; there moments tell the sums but for its bounds, the
        // energy itself and the cutoff's bound.
        let second = self.limits.limittwo.sqrt().max(mid / self.limits.limitone.sqrt());
        let told = 0.5 * LEAST * width;
        let around = told.max(second);
        let part = (around - second + 2.0 * width) / around;
        let near = self.energies.within(mid - around, mid + around);
        // A sample may have missed as many as one of it stands for.
        let pairs = self.poles.within(low, low + width).max(self.poles.each - 1.0);
        if pairs > 0.0 { (pairs + BEGUN) * near * part.min(1.0) } else { 0.0 }
    }

    /// The bounds, ascending.
    fn bounds(&self, by: Evaluator) -> Vec<f64> {
        let gamma = self.limits.limittwo.sqrt();
        let reach = self.energies.sorted.last().map_or(0.0, |largest| largest.max(0.0) + gamma);
        let mut bounds = vec![(SMALLEST * gamma).max(1.0 / LARGEST)];
        let mut width = f64::INFINITY;
        while let Some(&low) = bounds.last().filter(|&&low| low < LARGEST) {
            width = (2.0 * width).min(WIDEST * low);
            while width > reach / MOST && self.one_by_one(low, width) > by.even() {
                width *= 0.85;
            }
            bounds.push(low + width);
        }
        bounds
    }
}

/// Bounds of the cells of a slab, ascending, for energies `wx`, `(nw, nbands)`, of bands of these occupations.
///
/// Moments of a cell take as long however many pairs it has, and are evaluated at every energy. So cells are as
/// wide as can be, until what energies sum of them one by one, since some bound or the energy itself is too
/// near, takes as long as their moments: then neither narrower nor wider ones would be faster. How many energies
/// there are is no matter.
pub fn bounds(slab: SlabView, wx: &[f64], occ: &[f64], limits: Limits, by: Evaluator) -> Vec<f64> {
    Weighed::of(slab, wx, occ, limits).bounds(by)
}

#[cfg(test)]
mod tests {
    use gpp_kernels::cells::series::way;
    use gpp_kernels::pairs::Part;

    use super::*;

    /// Where a sample shows no pole there may still be some, and many energies to sum them one by one.
    #[test]
    fn cells_of_poles_that_no_sample_shows_are_told_by_moments() {
        let limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };
        let spread =
            |from: f64, to: f64| (0..1000).map(move |i| from + (to - from) * f64::from(i) / 999.0);
        let energies: Vec<f64> = spread(-8.0, 3.0).collect();
        let weighed = Weighed {
            poles: Sample::of(spread(0.1, 40.0).collect(), 200.0),
            energies: Sample::of(energies.clone(), 1e-3),
            limits,
        };
        for by in [Evaluator::Gpu, Evaluator::Processor] {
            let bounds = weighed.bounds(by);
            let mut seen = 0;
            for cell in bounds.windows(2).filter(|cell| cell[0] >= 50.0) {
                let part = Part { low: cell[0], high: cell[1], begin: 0, end: 1 };
                let left =
                    energies.iter().filter(|&&w| way(w, &part, false, &limits).is_none()).count();
                assert!(left * 200 <= energies.len(), "{cell:?}: {left} one by one");
                seen += 1;
            }
            assert!(seen > 100, "{seen} cells");
        }
    }
}
