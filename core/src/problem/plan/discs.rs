//! Discs in the complex plane that hold the poles of a slab: see [`gpp_kernels::discs`].
//!
//! The plane is parted into squares, each of which is divided by four until a disc around it is as far from zero
//! as moments need, and what an average energy sums of it one by one takes less than the moments of the four
//! would. As in `bounds.rs`, both are known from samples, and how large discs are changes how long it takes, not
//! what comes of it.

use gpp_kernels::arrays::Limits;
use gpp_kernels::discs::series::LEAST;
use gpp_kernels::pairs::{Disc, Pole};
use num_complex::Complex64;
use rayon::prelude::*;

use super::bounds::{self, Sample};
use super::branches::{LARGEST, SMALLEST, near2};
use super::sorted::Sorted;
use crate::problem::{SlabView, range};

/// So many terms one by one take as long as the moments of the discs that a square is divided into, at an energy:
/// about half of them are left where it is divided.
const EVEN: f64 = 8.0;

/// What is summed one by one costs as much as so many terms more, of a square and twice that of its parts.
const BEGUN: f64 = 64.0;

/// Poles of the sample at most.
const SAMPLE: usize = 1 << 20;

/// Bits of a place along each axis within the squares of a power of two.
const BITS: u32 = 26;

/// Room for the rounding of distances, relative to a radius.
const ROOM: f64 = 1.0 / (1u64 << 40) as f64;

/// The least radius, relative to the distance from zero: that of a disc of one pole.
const LEAST_RADIUS: f64 = 1.0 / (1u64 << 30) as f64;

/// Those of a slab for energies `wx`, `(nw, nbands)`, of bands of these occupations.
pub(super) fn discs(
    slab: SlabView,
    wx: &[f64],
    occ: &[f64],
    limits: Limits,
) -> Sorted<Complex64, Disc> {
    let squares = Squares::of(wx, occ, limits);
    let bounds = squares.bounds(slab);
    // In front of the first one, and with the last one, stand those that are in no square.
    let cell = |wtilde| {
        squares.place(wtilde).map_or(0, |place| bounds.partition_point(|&bound| bound <= place))
    };
    Sorted::of(
        slab,
        bounds.len() + 1,
        |wtilde| wtilde,
        cell,
        |cell, poles| match cell {
            0 => around(poles, false),
            _ => around(poles, true),
        },
    )
}

/// The disc of some poles, without a radius where moments do not tell their sums.
fn around(poles: &[Pole<Complex64>], is_square: bool) -> Disc {
    let ends = |of: fn(Complex64) -> f64| {
        let all = poles.iter().map(|pole| of(pole.wtilde));
        all.fold((f64::INFINITY, -f64::INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ((left, right), (low, high)) = (ends(|z| z.re), ends(|z| z.im));
    let middle = Complex64::new(0.5 * (left + right), 0.5 * (low + high));
    let most = poles.iter().fold(0.0, |most: f64, pole| most.max((pole.wtilde - middle).norm()));
    let radius = (most * (1.0 + ROOM)).max(middle.norm() * LEAST_RADIUS);
    // Where the sample had none of a square's poles it may be as large as any.
    let is_disc = is_square && LEAST * radius <= middle.norm();
    Disc { middle, radius: if is_disc { radius } else { f64::NAN }, begin: 0, end: 0 }
}

/// Squares around zero and what parts them further.
struct Squares {
    limits: Limits,
    /// Which part of all energies a pole is near to, those of occupied bands and their opposites.
    energies: Sample,
    /// The larger part of a pole is from here on.
    smallest: f64,
}

impl Squares {
    fn of(wx: &[f64], occ: &[f64], limits: Limits) -> Squares {
        let nw = wx.len() / occ.len().max(1);
        let both = |at: usize| [Some(wx[at]), (occ[at / nw] != 0.0).then_some(-wx[at])];
        let energies = bounds::spread(wx.len()).flat_map(both).flatten().collect();
        let each = 1.0 / wx.len().min(bounds::SAMPLE) as f64;
        let smallest = (SMALLEST * limits.limittwo.sqrt()).max(1.0 / LARGEST);
        Squares { limits, energies: Sample::of(energies, each), smallest }
    }

    /// Where a pole is: the power of two of its larger part, then the square of that size within the four by
    /// four around zero, and the quarters within that, from the largest to the smallest, two bits for each.
    /// None where it is too small, too large, or no number.
    fn place(&self, pole: Complex64) -> Option<u64> {
        let size = pole.re.abs().max(pole.im.abs());
        if !(self.smallest..=LARGEST).contains(&size) || !pole.is_finite() {
            return None;
        }
        let power = size.to_bits() >> 52;
        let unit = f64::from_bits(power << 52);
        let along = |x: f64| {
            let quarters = (x / unit + 2.0) * f64::from(1u32 << (BITS - 2));
            spread((quarters as u64).min((1 << BITS) - 1))
        };
        Some(power << (2 * BITS) | along(pole.im) << 1 | along(pole.re))
    }

    /// Where the squares of a slab begin, ascending.
    fn bounds(&self, slab: SlabView) -> Vec<u64> {
        let (wtilde, eps) = (slab.wtilde(), slab.eps());
        let every = wtilde.len().div_ceil(SAMPLE);
        let place = |at: usize| Some(wtilde[at]).filter(|&pole| range::contributes(pole, eps[at]));
        let mut sample: Vec<u64> = (0..wtilde.len().div_ceil(every))
            .into_par_iter()
            .filter_map(|at| self.place(place(at * every)?))
            .collect();
        sample.par_sort_unstable();
        let (mut bounds, mut rest) = (Vec::new(), &sample[..]);
        for power in self.smallest.to_bits() >> 52..=LARGEST.to_bits() >> 52 {
            let end = rest.partition_point(|place| place >> (2 * BITS) == power);
            let (own, behind) = rest.split_at(end);
            self.part(own, every as f64, power << (2 * BITS), 2 * BITS, &mut bounds);
            rest = behind;
        }
        bounds
    }

    /// Adds the bounds of the square of so many bits from `begin` on, with these poles of the sample, each of
    /// which stands for `every`.
    fn part(&self, own: &[u64], every: f64, begin: u64, bits: u32, bounds: &mut Vec<u64>) {
        if own.is_empty() || bits == 0 || self.is_disc(own.len() as f64 * every, begin, bits) {
            bounds.push(begin);
            return;
        }
        let (bits, mut rest) = (bits - 2, own);
        for quarter in 0..4 {
            let begin = begin + (quarter << bits);
            let end = rest.partition_point(|&place| place - begin < 1 << bits);
            let (own, behind) = rest.split_at(end);
            self.part(own, every, begin, bits, bounds);
            rest = behind;
        }
    }

    /// Whether a square of so many pairs is divided no further.
    fn is_disc(&self, pairs: f64, begin: u64, bits: u32) -> bool {
        let unit = f64::from_bits(begin >> (2 * BITS) << 52);
        let step = unit / f64::from(1u32 << (BITS - 2));
        let half = 0.5 * step * (1u64 << (bits / 2)) as f64;
        let along = |bits: u64| gathered(bits) as f64 * step - 2.0 * unit + half;
        let middle = Complex64::new(along(begin), along(begin >> 1));
        let radius = std::f64::consts::SQRT_2 * half;
        let needed = LEAST * radius;
        needed <= middle.norm() && (pairs - BEGUN) * self.one_by_one(middle, radius, needed) <= EVEN
    }

    /// Which part of all energies sums a disc one by one: those at which moments, that need such a distance, do
    /// not tell its sums, and those at which it lies across the bound of the second branch.
    fn one_by_one(&self, middle: Complex64, radius: f64, needed: f64) -> f64 {
        let second = near2(self.limits, middle).sqrt();
        let around = needed.max(second + radius);
        let across = (around * around - middle.im * middle.im).max(0.0).sqrt();
        let part = (around - second + radius) / around;
        self.energies.within(middle.re - across, middle.re + across) * part.min(1.0)
    }
}

/// Masks between whose steps half of the bits move.
const MASKS: [(u32, u64); 5] = [
    (16, 0x0000_ffff_0000_ffff),
    (8, 0x00ff_00ff_00ff_00ff),
    (4, 0x0f0f_0f0f_0f0f_0f0f),
    (2, 0x3333_3333_3333_3333),
    (1, 0x5555_5555_5555_5555),
];

/// A zero in front of each of 32 bits.
fn spread(bits: u64) -> u64 {
    MASKS.iter().fold(bits, |bits, (by, mask)| (bits | bits << by) & mask)
}

/// Every second bit of those of a place, from the last one on.
fn gathered(bits: u64) -> u64 {
    let place = bits & ((1 << (2 * BITS)) - 1);
    let steps = MASKS.iter().rev().zip(MASKS.iter().rev().skip(1).map(|(_, mask)| *mask));
    let all = steps.fold(place & MASKS[4].1, |bits, ((by, _), mask)| (bits | bits >> by) & mask);
    (all | all >> 16) & 0xffff_ffff
}

#[cfg(test)]
mod tests;
