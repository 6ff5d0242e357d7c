//! The defining formula, term by term, with compensated sums: written from the definition and
//! sharing nothing with the kernels.
//!
//! For one column, band and energy the factor `vcoul·conj(aqsm)` is outside the sum over `ig`, which
//! runs in 8 interleaved compensated sums. Columns are evaluated side by side and added in
//! their order, and nothing is fused, so the bits depend neither on the threads nor on the
//! processor's vector width.

use num_complex::Complex64;

use crate::error::Result;
use crate::problem::{Bands, Extents, SlabView, Sums};
use crate::progress::Progress;
use crate::reference::term::{Energy, growth, size, times};
use crate::reference::{Evaluation, Scale, Terms, UNDERFLOW, VANISHING};

/// Interleaved sums, as many as the widest vectors hold.
pub(super) const LANES: usize = 8;

/// Evaluates terms of a problem in double precision.
pub fn evaluate(terms: Terms, progress: impl Into<Progress>) -> Result<Evaluation> {
    let energies = terms.energies();
    let bar = progress.into().bar("serial reference", terms.igp() as u64);
    let columns = terms.columns(|bands, slab, igp| {
        let column = column(bands, slab, igp, energies);
        bar.step();
        column
    })?;
    drop(bar);

    let mut totals = vec![Pair::default(); energies.len()];
    for column in &columns {
        for (total, part) in totals.iter_mut().zip(column) {
            total.add_pair(part);
        }
    }
    let sums = Sums {
        asx: totals.iter().map(|t| -t.ssx.value()).collect(),
        ach: totals.iter().map(|t| t.sch.value() * 0.5).collect(),
    };
    let halved = |[asx, ach]: [f64; 2]| [asx, ach * 0.5];
    let scale = Scale {
        magnitudes: totals.iter().map(|t| halved(t.magnitudes)).collect(),
        undecided: totals.iter().map(|t| halved(t.undecided)).collect(),
    };
    Ok(Evaluation { sums, scale })
}

/// The sums over `n` and `ig` for one `igp` of a slab, energy by energy.
fn column(bands: &Bands, slab: SlabView, igp: usize, energies: &[usize]) -> Vec<Pair> {
    let Extents { nbands, ncouls, nw, .. } = bands.extents();
    let limits = bands.limits();
    let rows = igp * ncouls..(igp + 1) * ncouls;
    let (wtilde, eps) = (&slab.wtilde()[rows.clone()], &slab.eps()[rows]);
    let vcoul = slab.vcoul_loc()[igp];

    let mut sums = vec![Pair::default(); energies.len()];
    for n in 0..nbands {
        let aqsn = &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
        let aqsm = slab.aqsm_local().column(n)[igp].conj();
        let factor = aqsm * vcoul;
        let grown = growth(vcoul.abs()) * growth(size(aqsm)) * growth(bands.occ()[n]);
        for (&iw, sum) in energies.iter().zip(&mut sums) {
            let at = Energy::of(bands.wx()[n * nw + iw], limits);
            let over_ig = sum_over_ig(at, wtilde, eps, aqsn);
            let occ = bands.occ()[n];
            sum.ssx.add(factor * occ * over_ig.ssx);
            sum.sch.add(factor * over_ig.sch);
            for (part, factor) in [size(factor) * occ, size(factor)].into_iter().enumerate() {
                let underflow = UNDERFLOW * grown * over_ig.grown;
                sum.magnitudes[part] += factor * over_ig.magnitudes[part] + underflow;
                sum.undecided[part] += factor * over_ig.undecided[part];
            }
        }
    }
    sums
}

/// `Σ ssx·aqsn` and `Σ sch·aqsn` over `ig`, the sums of their terms' 1-norms, and of what rounding may
/// decide of them.
struct OverIg {
    ssx: Complex64,
    sch: Complex64,
    magnitudes: [f64; 2],
    undecided: [f64; 2],
    grown: f64,
}

/// The sums over `ig`.
fn sum_over_ig(at: Energy, wtilde: &[Complex64], eps: &[Complex64], aqsn: &[Complex64]) -> OverIg {
    widest(
        #[inline(always)]
        || sum_in_lanes(at, wtilde, eps, aqsn),
    )
}

/// Does it with the widest vectors there are; what it calls is `#[inline(always)]`.
pub(super) fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(enable = "avx2")]
        fn avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the feature.
            return unsafe { avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the feature.
            return unsafe { avx2(work) };
        }
    }
    work()
}

#[inline(always)]
fn sum_in_lanes(at: Energy, wtilde: &[Complex64], eps: &[Complex64], aqsn: &[Complex64]) -> OverIg {
    let mut lanes = InLanes::default();
    let (wtilde, wtilde_rest) = wtilde.as_chunks::<LANES>();
    let (eps, eps_rest) = eps.as_chunks::<LANES>();
    let (aqsn, aqsn_rest) = aqsn.as_chunks::<LANES>();
    for ((wtilde, eps), aqsn) in wtilde.iter().zip(eps).zip(aqsn) {
        lanes.add_terms(at, wtilde, eps, aqsn);
    }
    if !wtilde_rest.is_empty() {
        // Vanished modes contribute nothing.
        let filled = |rest: &[Complex64]| {
            let mut all = [Complex64::ZERO; LANES];
            all[..rest.len()].copy_from_slice(rest);
            all
        };
        lanes.add_terms(at, &filled(wtilde_rest), &filled(eps_rest), &filled(aqsn_rest));
    }
    let [ssx_re, ssx_im, sch_re, sch_im] = lanes.sums.map(|lanes| lanes.value());
    OverIg {
        ssx: Complex64::new(ssx_re, ssx_im),
        sch: Complex64::new(sch_re, sch_im),
        magnitudes: lanes.magnitudes.map(|lanes| lanes.iter().sum()),
        undecided: lanes.undecided.map(|lanes| lanes.iter().sum()),
        grown: lanes.grown.iter().sum(),
    }
}

/// Sums over every eighth `ig`.
#[derive(Default)]
struct InLanes {
    /// Parts of `ssx·aqsn` and of `sch·aqsn`.
    sums: [Lanes; 4],
    magnitudes: [[f64; LANES]; 2],
    undecided: [[f64; LANES]; 2],
    grown: [f64; LANES],
}

impl InLanes {
    /// Adds the terms of 8 neighbouring `ig`.
    #[inline(always)]
    fn add_terms(
        &mut self,
        at: Energy,
        wtilde: &[Complex64; LANES],
        eps: &[Complex64; LANES],
        aqsn: &[Complex64; LANES],
    ) {
        let mut parts = [[0.0; LANES]; 4];
        for lane in 0..LANES {
            let term = at.term::<f64>(wtilde[lane], eps[lane]);
            let (asx, ach) = (times(term.ssx, aqsn[lane]), times(term.sch, aqsn[lane]));
            parts[0][lane] = asx.re;
            parts[1][lane] = asx.im;
            parts[2][lane] = ach.re;
            parts[3][lane] = ach.im;
            let factor = size(aqsn[lane]);
            let vanishing = VANISHING.map(|part| part * factor * size(eps[lane]));
            let quotient = term.quotients[0].max(term.quotients[1]);
            self.grown[lane] += growth(factor) * growth(size(eps[lane])) * growth(quotient);
            for (part, size) in [size(asx), size(ach)].into_iter().enumerate() {
                self.magnitudes[part][lane] += size + vanishing[part];
                self.undecided[part][lane] += factor * term.undecided[part];
            }
        }
        for (sum, part) in self.sums.iter_mut().zip(&parts) {
            sum.add(part);
        }
    }
}

/// `a + b` and what rounding it lost (Knuth).
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

#[derive(Clone, Copy, Default)]
pub(super) struct Lanes {
    sum: [f64; LANES],
    lost: [f64; LANES],
}

impl Lanes {
    #[inline(always)]
    pub(super) fn add(&mut self, terms: &[f64; LANES]) {
        for ((sum, lost), term) in self.sum.iter_mut().zip(&mut self.lost).zip(terms) {
            let (rounded, error) = two_sum(*sum, *term);
            *sum = rounded;
            *lost += error;
        }
    }

    pub(super) fn value(self) -> f64 {
        let mut total = Compensated::default();
        for lane in 0..LANES {
            total.add(self.sum[lane]);
            total.add(self.lost[lane]);
        }
        total.value()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, x: f64) {
        let (sum, lost) = two_sum(self.sum, x);
        self.sum = sum;
        self.lost += lost;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ComplexSum {
    re: Compensated,
    im: Compensated,
}

impl ComplexSum {
    pub(super) fn add(&mut self, z: Complex64) {
        self.re.add(z.re);
        self.im.add(z.im);
    }

    pub(super) fn value(self) -> Complex64 {
        Complex64::new(self.re.value(), self.im.value())
    }
}

/// The two sums of one energy.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    ssx: ComplexSum,
    sch: ComplexSum,
    magnitudes: [f64; 2],
    undecided: [f64; 2],
}

impl Pair {
    fn add_pair(&mut self, part: &Pair) {
        for at in 0..2 {
            self.magnitudes[at] += part.magnitudes[at];
            self.undecided[at] += part.undecided[at];
        }
        for (to, from) in [(&mut self.ssx, &part.ssx), (&mut self.sch, &part.sch)] {
            for (to, from) in [(&mut to.re, &from.re), (&mut to.im, &from.im)] {
                to.add(from.sum);
                to.add(from.lost);
            }
        }
    }
}
