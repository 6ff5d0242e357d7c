//! One order of bands for all batches of energies, so that matrix elements are laid out once.

use bytemuck::Zeroable;
use rayon::prelude::*;

use super::{HALVED, half_of, half_of_most};
use crate::error::Result;
use crate::problem::Bands;
use crate::problem::memory::{Array, zeros};

/// Bands in an order in which those of each class of [`gpp_kernels::plan`] are neighbours, whichever of the
/// problem's energies are looked at. It is the problem's own where energies of bands ascend.
#[derive(Clone, Debug, PartialEq)]
pub struct BandOrder {
    bands: Vec<usize>,
    full: usize,
    occupied: usize,
}

impl BandOrder {
    /// Of a problem's bands: those of occupation 1, by falling `wx`; those of another that is not zero; empty
    /// ones, by falling `wx`. That is by rising energy of the band, whatever the energies of the problem are;
    /// where `wx` is made otherwise, empty bands whose energies have other distances come before the others.
    pub fn of(bands: &Bands) -> BandOrder {
        let all = 0..bands.header().nbands;
        let occ = |n: usize| bands.occ()[n];
        let of_header = bands.falling();
        let falling = |mut chosen: Vec<usize>, extreme: fn(&[f64]) -> f64| {
            let key = |n: usize| {
                of_header.as_ref().map_or_else(|| extreme(bands.energies(n)), |falling| falling[n])
            };
            chosen.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
            chosen
        };
        let least = |w: &[f64]| w.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |w: &[f64]| w.iter().copied().fold(f64::NEG_INFINITY, f64::max);

        let mut order = falling(all.clone().filter(|&n| occ(n) == 1.0).collect(), least);
        let full = order.len();
        order.extend(all.clone().filter(|&n| occ(n) != 1.0 && occ(n) != 0.0));
        let occupied = order.len();
        let empty: Vec<usize> = all.filter(|&n| occ(n) == 0.0).collect();
        let (uneven, even) = match of_header {
            Some(_) => (Vec::new(), empty),
            None => parted(bands, &empty),
        };
        order.extend(falling(uneven, most));
        order.extend(falling(even, most));
        BandOrder { bands: order, full, occupied }
    }

    /// Bands (0-based) in this order.
    pub fn bands(&self) -> &[usize] {
        &self.bands
    }

    /// Bands of occupation 1, the first ones.
    pub fn full(&self) -> usize {
        self.full
    }

    /// Bands of an occupation that is not zero.
    pub fn occupied(&self) -> usize {
        self.occupied
    }

    /// Whether the bands stand in this order already.
    pub fn is_kept(&self) -> bool {
        self.bands.is_sorted()
    }

    /// An array with a column for each band, given by its columns, in this order, with zeros added to each column up
    /// to `padded` rows.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn reordered<'a, T: Zeroable + Copy + Send + Sync + 'a>(
        &self,
        array: &Array,
        padded: usize,
        column: impl Fn(usize) -> &'a [T] + Sync,
    ) -> Result<Vec<T>> {
        let mut columns = zeros(array.name, padded * self.bands.len())?;
        columns.par_chunks_mut(padded).zip(&self.bands).for_each(|(to, &n)| {
            let from = column(n);
            to[..from.len()].copy_from_slice(from);
        });
        Ok(columns)
    }
}

/// Parts bands in two: those whose energies have other distances than in most bands, then all others.
fn parted(bands: &Bands, of: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut uneven = vec![false; of.len()];
    for at in 1..bands.nw() {
        let pair = |n: usize| &bands.energies(n)[at - 1..=at];
        let half = half_of_most(of.iter().map(|&n| pair(n)));
        let largest = of.iter().flat_map(|&n| pair(n)).fold(0.0, |a: f64, w| a.max(w.abs()));
        for (uneven, &n) in uneven.iter_mut().zip(of) {
            let found = half_of(pair(n));
            let is_even = (found - half).abs() <= HALVED * f64::EPSILON * largest;
            *uneven |= !is_even;
        }
    }
    let those = |is: bool| {
        let chosen = of.iter().zip(&uneven).filter(move |(_, uneven)| **uneven == is);
        chosen.map(|(n, _)| *n).collect()
    };
    (those(true), those(false))
}
