//! The static CH by its definition, with compensated sums: `−½ Σ vcoul · eps · conj(aqsm) · aqsn`. The factors of a
//! column and band are outside the sum over `ig`.

use num_complex::Complex64;

use crate::error::Result;
use crate::problem::{Bands, Extents, SlabView, Slabs};
use crate::progress::Progress;
use crate::reference::serial::{ComplexSum, LANES, Lanes, widest};
use crate::reference::term::{growth, size, times};
use crate::reference::{Terms, UNDERFLOW};

/// A static CH and how large its terms are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaticCh {
    /// What a kernel must find, in the unit of `vcoul`.
    pub sum: Complex64,
    /// Σ|terms|, as in [`Scale::magnitudes`](crate::reference::Scale::magnitudes).
    pub magnitude: f64,
}

/// That of a problem, slab by slab.
///
/// # Errors
/// Those of [`Slabs::part`]: none for a problem in memory.
pub fn static_ch<'a>(
    problem: impl Into<Slabs<'a>>,
    progress: impl Into<Progress>,
) -> Result<StaticCh> {
    let terms = Terms::from(problem.into());
    let bar = progress.into().bar("static CH, to compare with", terms.igp() as u64);
    let columns = terms.columns(|bands, slab, igp| {
        let column = column(bands, slab, igp);
        bar.step();
        column
    })?;
    drop(bar);
    let (mut sum, mut magnitude) = (ComplexSum::default(), 0.0);
    for column in columns {
        sum.add(column.sum);
        magnitude += column.magnitude;
    }
    Ok(StaticCh { sum: sum.value() * -0.5, magnitude: magnitude * 0.5 })
}

/// The sums over `n` and `ig` for one `igp` of a slab, without the factor −½.
fn column(bands: &Bands, slab: SlabView, igp: usize) -> StaticCh {
    let Extents { nbands, ncouls, .. } = bands.extents();
    let eps = &slab.eps()[igp * ncouls..(igp + 1) * ncouls];
    let vcoul = slab.vcoul_loc()[igp];
    let (mut sum, mut magnitude) = (ComplexSum::default(), 0.0);
    for n in 0..nbands {
        let aqsn = &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
        let aqsm = slab.aqsm_local().column(n)[igp].conj();
        let factor = aqsm * vcoul;
        let over_ig = widest(
            #[inline(always)]
            || sum_over_ig(eps, aqsn),
        );
        sum.add(factor * over_ig.sum);
        let grown = growth(vcoul.abs()) * growth(size(aqsm)) * over_ig.grown;
        magnitude += size(factor) * over_ig.magnitude + UNDERFLOW * grown;
    }
    StaticCh { sum: sum.value(), magnitude }
}

/// `Σ eps·aqsn`, the sum of the terms' 1-norms, and growth of their factors, added.
struct OverIg {
    sum: Complex64,
    magnitude: f64,
    grown: f64,
}

#[inline(always)]
fn sum_over_ig(eps: &[Complex64], aqsn: &[Complex64]) -> OverIg {
    let mut lanes = InLanes::default();
    let (eps, eps_rest) = eps.as_chunks::<LANES>();
    let (aqsn, aqsn_rest) = aqsn.as_chunks::<LANES>();
    for (eps, aqsn) in eps.iter().zip(aqsn) {
        lanes.add_terms(eps, aqsn);
    }
    let filled = |rest: &[Complex64]| {
        let mut all = [Complex64::ZERO; LANES];
        all[..rest.len()].copy_from_slice(rest);
        all
    };
    lanes.add_terms(&filled(eps_rest), &filled(aqsn_rest));
    let [re, im] = lanes.sums.map(Lanes::value);
    let [magnitude, grown] = [lanes.magnitude, lanes.grown].map(|lanes| lanes.iter().sum());
    OverIg { sum: Complex64::new(re, im), magnitude, grown }
}

/// Sums over every eighth `ig`.
#[derive(Default)]
struct InLanes {
    /// Parts of `eps·aqsn`.
    sums: [Lanes; 2],
    magnitude: [f64; LANES],
    grown: [f64; LANES],
}

impl InLanes {
    /// Adds the terms of 8 neighbouring `ig`.
    #[inline(always)]
    fn add_terms(&mut self, eps: &[Complex64; LANES], aqsn: &[Complex64; LANES]) {
        let mut parts = [[0.0; LANES]; 2];
        for lane in 0..LANES {
            let term = times(eps[lane], aqsn[lane]);
            (parts[0][lane], parts[1][lane]) = (term.re, term.im);
            self.magnitude[lane] += size(term);
            self.grown[lane] += growth(size(eps[lane])) * growth(size(aqsn[lane]));
        }
        for (sum, part) in self.sums.iter_mut().zip(&parts) {
            sum.add(part);
        }
    }
}
