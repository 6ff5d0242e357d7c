//! Reference values of a problem by the definition, sharing nothing with the kernels, and error bounds for their results.

mod definition;

use gpp_kernels::kernel::Precision;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::catalogue::Version;
use crate::error::Result;
use crate::problem::heavy::widest;
use crate::problem::{CheckedBands, Extents, Header, SlabView, Sums};
use crate::progress::Bars;
pub use crate::reference::definition::{
    BoundedSum, Energy, Evaluation, ReferenceTerm, Scale, Terms,
};
use crate::reference::definition::{UNDERFLOW, VANISHING, growth, size};

// How far sums may be from exact ones.
//
// A term loses a few roundings, with partial fractions up to 128 ([`crate::problem::plan`]); a sum loses at most
// one for each addition that follows another, since a partial sum is at most Σ|terms|: see [`roundings`]. To that comes
// what rounding decides of a branch or the cutoff, where v3 itself cannot tell.

/// Roundings that one term may lose.
pub const TERM: f64 = 128.0;

/// Error of sums in single precision relative to Σ|terms|: 16 roundings of FP32, 2⁻²⁴ each. A term loses up to 24, one after
/// the other in as many factors, and up to 64 as one of a sum; of one pair alone they add up to two or
/// three, of many to less than one.
const SINGLE: f64 = 1.0 / (1u64 << 20) as f64;

/// The same where a difference of one float each is off by 2⁻²³ of the pole, and a thousandth of it long.
const SINGLE_DIFFERENCES: f64 = 1.0 / (1u64 << 13) as f64;

/// How far sums of a version may be from exact ones, relative to Σ|terms|, if it is in single precision.
pub fn single(version: Version) -> Option<f64> {
    let precision = version.gpu().map(|gpu| gpu.kernels[0].precision);
    let is_plain = matches!(precision, Some(Precision::Single { is_exact: false, .. }));
    version.is_single().then_some(if is_plain { SINGLE_DIFFERENCES } else { SINGLE })
}

/// Roundings relative to Σ|terms| that a sum of any version may lose: those of a term, and as many as additions
/// follow each other on the way of a term to its sum, in any version: at most all; in a
/// thread all bands, or a share of the collapsed loops of a grid of 65535 · 128 threads, where v6 to v8
/// may have twice the average; in the second stage a 512th of the blocks, of at most 65535 or of one for
/// 32 · 8 pairs; and a tree over the lanes and warps of a block in both stages. Versions for CPUs have fewer: 64 bands or
/// `ig`, 64 blocks of `ig` in a piece of work, and a tree of eight; what goes on is compensated.
pub fn roundings(header: &Header) -> f64 {
    let Header { nbands, ngpown, ncouls, .. } = *header;
    let pairs = ngpown as f64 * ncouls as f64;
    let terms = nbands as f64 * pairs;
    let blocks = (pairs / 256.0).max(65_535.0);
    let thread = nbands as f64 + 2.0 * terms / (65_535.0 * 128.0);
    TERM + (thread + blocks / 512.0 + 2.0 * (5.0 + 16.0)).min(terms)
}

/// Interleaved sums, as many as the widest vectors hold.
const LANES: usize = 8;

/// Evaluates terms of a problem, slab by slab, one by one, with compensated sums.
///
/// For one column, band and energy the factor `vcoul·conj(aqsm)` is outside the sum over `ig`, of 8 interleaved
/// compensated sums. Columns are added in order and nothing is fused: bits depend on neither threads nor vectors.
///
/// # Errors
/// Those of [`Problem::part`](crate::problem::Problem::part): none for a problem in memory.
pub fn evaluate<'a>(terms: impl Into<Terms<'a>>, progress: impl Into<Bars>) -> Result<Evaluation> {
    let terms = terms.into();
    let (problem, mut columns) = (terms.slabs.problem(), Vec::new());
    let bar = progress.into().bar("serial reference", terms.igp() as u64);
    for igp in terms.slabs.ranges() {
        // Those of a slab begin where those of the last one would go on.
        let first = igp.start.next_multiple_of(terms.every) - igp.start;
        if first >= igp.len() {
            continue;
        }
        let part = problem.part(igp)?;
        let slab = part.view();
        let some = (first..slab.len()).into_par_iter().step_by(terms.every);
        columns.par_extend(some.map(|igp| {
            let sums = column(problem.bands(), slab, igp, &terms);
            bar();
            sums
        }));
    }
    drop(bar);
    let mut totals = vec![[BoundedSum::default(); 2]; terms.energies().len()];
    for column in &columns {
        for (total, parts) in totals.iter_mut().zip(column) {
            total.iter_mut().zip(parts).for_each(|(total, part)| total.merge(part));
        }
    }
    let sums = Sums {
        asx: totals.iter().map(|[ssx, _]| -ssx.sum.value()).collect(),
        ach: totals.iter().map(|[_, sch]| sch.sum.value() * 0.5).collect(),
    };
    let sizes = |size_of_sum: fn(&BoundedSum) -> f64| {
        totals.iter().map(|[ssx, sch]| [size_of_sum(ssx), 0.5 * size_of_sum(sch)]).collect()
    };
    let (magnitudes, undecided) = (sizes(|part| part.magnitude), sizes(|part| part.undecided));
    Ok(Evaluation { sums, scale: Scale { magnitudes, undecided } })
}

/// The sums over `n` and `ig` for one `igp` of a slab, energy by energy: of `ssx` and of `sch`.
fn column(bands: &CheckedBands, slab: SlabView, igp: usize, terms: &Terms) -> Vec<[BoundedSum; 2]> {
    let Extents { nbands, ncouls, nw, .. } = bands.extents();
    let limits = bands.limits();
    let rows = igp * ncouls..(igp + 1) * ncouls;
    let (wtilde, eps) = (&slab.wtilde()[rows.clone()], &slab.eps()[rows]);
    let vcoul = slab.vcoul_loc()[igp];

    let energies = terms.energies();
    let mut sums = vec![[BoundedSum::default(); 2]; energies.len()];
    for n in 0..nbands {
        let aqsn = &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
        let aqsm = slab.aqsm_local().column(n)[igp];
        for (&iw, sum) in energies.iter().zip(&mut sums) {
            let energy = Energy::new(bands.wx()[n * nw + iw], limits);
            let energy = energy.derivative(terms.are_derivatives);
            add_sums_over_ig(
                sum,
                &sums_over_ig(energy, wtilde, eps, aqsn),
                aqsm,
                vcoul,
                bands.occ()[n],
            );
        }
    }
    sums
}

/// Adds what a band gives to the sums of `ssx` and of `sch` for one `igp`, by its [`sums_over_ig`], `aqsm`, `vcoul` and
/// occupation.
pub fn add_sums_over_ig(
    totals: &mut [BoundedSum; 2],
    (sums, sizes): &SumsOverG,
    aqsm: Complex64,
    vcoul: f64,
    occ: f64,
) {
    let factor = aqsm.conj() * vcoul;
    let underflow = UNDERFLOW * (growth(vcoul.abs()) * growth(size(aqsm)) * growth(occ)) * sizes[4];
    let factors = [(factor * occ, size(factor) * occ), (factor, size(factor))];
    for (part, (factor, factor_size)) in factors.into_iter().enumerate() {
        let over_ig = Complex64::new(sums[2 * part], sums[2 * part + 1]);
        let term = factor * over_ig;
        totals[part].sum.add(&[term.re, term.im]);
        totals[part].magnitude += factor_size * sizes[part] + underflow;
        totals[part].undecided += factor_size * sizes[2 + part];
    }
}

/// Real and imaginary parts of `Σ ssx·aqsn` and `Σ sch·aqsn` over `ig`; the 1-norms of both and what rounding may decide
/// of them, and the growth of the terms' factors.
pub type SumsOverG = ([f64; 4], [f64; 5]);

/// The sums over `ig` for one band, `igp` and energy, of these columns: `(ncouls)`.
pub fn sums_over_ig(
    energy: Energy,
    wtilde: &[Complex64],
    eps: &[Complex64],
    aqsn: &[Complex64],
) -> SumsOverG {
    widest(
        #[inline(always)]
        || sum_in_lanes(energy, [wtilde, eps, aqsn]),
    )
}

/// The parts of one term, and their sizes.
#[inline(always)]
fn parts_of_term(energy: Energy, [wtilde, eps, aqsn]: [Complex64; 3]) -> SumsOverG {
    let term = energy.term(wtilde, eps);
    let (asx, ach) = (term.ssx * aqsn, term.sch * aqsn);
    let factor = size(aqsn);
    let vanishing = VANISHING.map(|part| part * factor * size(eps));
    let quotient = term.quotients[0].max(term.quotients[1]);
    let sizes = [
        size(asx) + vanishing[0],
        size(ach) + vanishing[1],
        factor * term.undecided[0],
        factor * term.undecided[1],
        growth(factor) * growth(size(eps)) * growth(quotient),
    ];
    ([asx.re, asx.im, ach.re, ach.im], sizes)
}

/// Compensated sums over `ig` of the parts of terms, and sums of their sizes: every eighth `ig` in a sum of its own. The
/// term of zeros vanishes.
#[inline(always)]
fn sum_in_lanes(energy: Energy, arrays: [&[Complex64]; 3]) -> SumsOverG {
    let chunks = arrays.map(|array| array.as_chunks::<LANES>());
    let filled = chunks.map(|(_, rest)| {
        let mut padded = [Complex64::ZERO; LANES];
        padded[..rest.len()].copy_from_slice(rest);
        padded
    });
    let remaining = (!chunks[0].1.is_empty()).then(|| filled.each_ref());
    let full = (0..chunks[0].0.len()).map(|at| chunks.map(|(full, _)| &full[at]));

    let mut sums = [CompensatedSums::<LANES>::default(); 4];
    let mut sizes = [[0.0; LANES]; 5];
    for all in full.chain(remaining) {
        // Parts of complex numbers apart: so the compiler makes vectors of the lanes.
        let lanes = all.map(|array| (array.map(|z| z.re), array.map(|z| z.im)));
        let mut parts = [[0.0; LANES]; 4];
        for lane in 0..LANES {
            let number = |array: usize| Complex64::new(lanes[array].0[lane], lanes[array].1[lane]);
            let (of_parts, of_sizes) = parts_of_term(energy, [0, 1, 2].map(number));
            for (parts, part) in parts.iter_mut().zip(of_parts) {
                parts[lane] = part;
            }
            for (sizes, size) in sizes.iter_mut().zip(of_sizes) {
                sizes[lane] += size;
            }
        }
        for (sum, part) in sums.iter_mut().zip(&parts) {
            sum.add(part);
        }
    }
    (sums.map(CompensatedSums::total), sizes.map(|lanes| lanes.iter().sum()))
}

#[derive(Clone, Copy)]
pub struct CompensatedSums<const N: usize> {
    sums: [f64; N],
    lost: [f64; N],
}

impl<const N: usize> Default for CompensatedSums<N> {
    fn default() -> Self {
        CompensatedSums { sums: [0.0; N], lost: [0.0; N] }
    }
}

impl<const N: usize> CompensatedSums<N> {
    #[inline(always)]
    fn add(&mut self, terms: &[f64; N]) {
        for ((sum, lost), term) in self.sums.iter_mut().zip(&mut self.lost).zip(terms) {
            let rounded = *sum + term;
            // What rounding loses, by Knuth.
            let from_term = rounded - *sum;
            *lost += (*sum - (rounded - from_term)) + (term - from_term);
            *sum = rounded;
        }
    }

    fn values(self) -> [f64; N] {
        std::array::from_fn(|sum| self.sums[sum] + self.lost[sum])
    }

    fn total(self) -> f64 {
        let mut total = CompensatedSums::<1>::default();
        for parts in self.sums.into_iter().zip(self.lost) {
            total.add(&[parts.0]);
            total.add(&[parts.1]);
        }
        total.values()[0]
    }
}

/// Sums of real and imaginary parts.
pub type ComplexSum = CompensatedSums<2>;

impl ComplexSum {
    pub fn merge(&mut self, other: &ComplexSum) {
        self.add(&other.sums);
        self.add(&other.lost);
    }

    pub fn value(&self) -> Complex64 {
        let [re, im] = self.values();
        Complex64::new(re, im)
    }
}
