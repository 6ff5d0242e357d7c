//! What kernels in single precision do not sum: rows of matrix elements that go to FP64.

use gpp_kernels::single::LARGEST_SCALE;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::plan::fallback::{FallbackPairs, PairClass};
use crate::problem::range;
use crate::problem::slab::SlabView;

/// Of one row smallest and largest element: with a smaller quotient products of two leave the range of FP32.
const SPAN: f64 = (1u64 << 60) as f64;

/// Rows that FP32 does not hold: their elements, but zeros, span too much, or are too large or small to be scaled.
pub fn wide_rows<'a>(columns: impl Iterator<Item = &'a [Complex64]>, rows: usize) -> Vec<bool> {
    let mut ranges = vec![[f64::INFINITY, 0.0_f64]; rows];
    for column in columns {
        ranges.par_iter_mut().zip(column).with_min_len(1 << 12).for_each(|(range, element)| {
            let size = element.re.abs().max(element.im.abs());
            range[0] = range[0].min(if size == 0.0 { f64::INFINITY } else { size });
            range[1] = range[1].max(size);
        });
    }
    let power = |exponent: i32| 2.0_f64.powi(exponent);
    let sizes = power(-LARGEST_SCALE)..power(LARGEST_SCALE);
    let is_wide =
        |[least, most]: [f64; 2]| most > 0.0 && (!sizes.contains(&most) || most > SPAN * least);
    ranges.into_iter().map(is_wide).collect()
}

impl FallbackPairs {
    /// These, and pairs of wide rows of `aqsn` or `aqsm_local`.
    pub fn in_single(self, slab: SlabView, [wide_ig, wide_igp]: [&[bool]; 2]) -> FallbackPairs {
        let ncouls = slab.ncouls();
        let mut others: Vec<u32> = Vec::new();
        if [wide_ig, wide_igp].iter().any(|rows| rows.contains(&true)) {
            for (igp, is_wide) in wide_igp.iter().enumerate() {
                let of_igp = (0..ncouls).filter(|&ig| *is_wide || wide_ig[ig]);
                others.extend(of_igp.map(|ig| (igp * ncouls + ig) as u32));
            }
        }
        let contributes =
            |pair: u32| range::contributes(slab.wtilde()[pair as usize], slab.eps()[pair as usize]);
        others.retain(|&pair| contributes(pair) && self.pairs.binary_search(&pair).is_err());
        others.sort_unstable();
        others.dedup();
        if others.is_empty() {
            return self;
        }
        let others: Vec<_> = others.into_iter().map(|pair| (pair, PairClass::Fallback)).collect();
        self.with(&others, ncouls)
    }
}
