//! Many energies: pairs in clusters of neighbouring poles, whose moments give the sums at all energies of their far
//! field ([`crate::expansion`]); in the near field pairs are summed one by one. [`gpp_kernels::sigma`] has the formulas.
//!
//! Work is shared out by chunks of bands and parts of the clusters. Moments are summed with bands in the vectors, their
//! expansions with energies, and the near field with pairs; each number adds the same terms at every level.

use std::ops::Range;

use fearless_simd::prelude::*;
use gpp_kernels::formula::VALUES;
use gpp_kernels::sigma::{Cluster, Pole};
use num_complex::Complex64;

use crate::definition::{BandFactors, Definition, ROW};
use crate::expansion::{Chebyshev, ClusterExpansion, Powers};
use crate::planned::PairSums;
use crate::problem::{BandSlices, CHUNK, ClusterPairs, Clusters, SlabTask, Tiles};
use crate::simd::{ComplexVector, Level, WIDTH, at_level, load, splat, store};
use crate::work::{CompensatedSum, Progress, add_lanes, map};

/// Shares of the clusters for each chunk, the same ones for any number of threads.
pub(crate) const SHARES: usize = 16;

/// The sums of a slab, `(nw · VALUES)`, on the threads of the pool that this is called in. Of Σ alone the far field is in
/// `ach`, and the near field in both.
pub(crate) fn sum<const ALONE: bool>(
    task: &SlabTask,
    level: Level,
    _: Tiles,
    progress: Progress,
) -> Vec<f64> {
    let clusters = task.clusters.expect("checked before");
    let count = match clusters.pairs {
        ClusterPairs::Real(_, clusters) => clusters.len(),
        ClusterPairs::Any(_, clusters) => clusters.len(),
    };
    let chunks = 0..task.bands.nbands.div_ceil(CHUNK);
    let shares: Vec<(usize, usize)> =
        chunks.flat_map(|chunk| (0..SHARES.min(count)).map(move |first| (chunk, first))).collect();
    let of_shares = map(&shares, progress, |&share| {
        let mut sums = vec![CompensatedSum::default(); task.bands.nw * VALUES];
        let to = &mut sums;
        match clusters.pairs {
            ClusterPairs::Real(poles, parts) => at_level!(level, token => {
                add_share::<_, Chebyshev<_>, ALONE>(token, task, &clusters, (poles, parts), share, to);
            }),
            ClusterPairs::Any(poles, discs) => at_level!(level, token => {
                add_share::<_, Powers<_>, ALONE>(token, task, &clusters, (poles, discs), share, to);
            }),
        }
        sums
    });
    let mut totals = vec![CompensatedSum::default(); task.bands.nw * VALUES];
    for sums in &of_shares {
        totals.iter_mut().zip(sums).for_each(|(total, sum)| total.add(sum.value()));
    }
    totals.into_iter().map(CompensatedSum::value).collect()
}

/// Adds the sums of a chunk of bands with each [`SHARES`]th cluster from `first` on.
#[inline(always)]
fn add_share<S: Simd, E: ClusterExpansion<S>, const ALONE: bool>(
    token: S,
    task: &SlabTask,
    pairs: &Clusters,
    (poles, clusters): (&[Pole<E::Wtilde>], &[E::Cluster]),
    (chunk, first): (usize, usize),
    sums: &mut [CompensatedSum],
) {
    let bands = bands_of(task, chunk);
    let mut near = Vec::new();
    for cluster in clusters.iter().skip(first).step_by(SHARES.min(clusters.len())) {
        if task.stop.is_asked() {
            return;
        }
        let Range { start, end } = cluster.pairs();
        let poles_of_cluster = &poles[start as usize..end as usize];
        near.clear();
        if let Some(expansion) = E::for_cluster(token, cluster, task.bands.limits) {
            let moments = expansion.moments(pairs, task.slab.vcoul_loc, poles_of_cluster, chunk);
            let far = (&expansion, &moments);
            add_far_field::<S, E, ALONE>(token, task, &bands, far, sums, &mut near);
        } else {
            for &(n, _) in &bands {
                near.extend((0..task.bands.nw).map(|iw| Near { n, iw, is_first: false }));
            }
        }
        add_near_field(token, task, pairs, poles_of_cluster, &near, sums);
    }
}

/// The bands of a chunk, with their energies padded to whole vectors.
#[inline(never)]
fn bands_of(task: &SlabTask, chunk: usize) -> Vec<(usize, Vec<f64>)> {
    let BandSlices { wx, nw, nbands, .. } = task.bands;
    let energies = |n: usize| {
        let mut energies = wx[n * nw..(n + 1) * nw].to_vec();
        energies.resize(nw.next_multiple_of(WIDTH), 1.0);
        (n, energies)
    };
    (chunk * CHUNK..nbands.min((chunk + 1) * CHUNK)).map(energies).collect()
}

/// Adds what the moments of a cluster give at each energy, and lists the bands and energies of its near field.
#[inline(always)]
fn add_far_field<S: Simd, E: ClusterExpansion<S>, const ALONE: bool>(
    token: S,
    task: &SlabTask,
    bands: &[(usize, Vec<f64>)],
    (expansion, moments): (&E, &E::Moments),
    sums: &mut [CompensatedSum],
    near: &mut Vec<Near>,
) {
    let (zero, one) = (splat(token, 0.0), splat(token, 1.0));
    let nw = task.bands.nw;
    let mut with_near = Vec::new();
    for begin in (0..nw).step_by(S::f64s::LEN) {
        let (mut asx, mut ach) = (ComplexVector::zero(token), ComplexVector::zero(token));
        let mut is_near = zero;
        for (at, (n, energies)) in bands.iter().enumerate() {
            let w = load(token, &energies[begin..]);
            let occ = task.bands.occ[*n];
            let far = expansion.far_field_of::<ALONE>(w, occ);
            is_near += far.holds.select(zero, one);
            if !ALONE {
                expansion.add(moments, at, occ, (w, far), (&mut asx, &mut ach));
                continue;
            }
            // The factors of `q` and `p`: see `FarField::factors`.
            let p = (far.holds & far.ssx).select(splat(token, occ), zero);
            let q = (far.holds & far.first).select(one - p, zero);
            // 1/(w + ω̃) is −1/(−w − ω̃).
            for (w, factor) in [(w, q), (-w, -p)] {
                let unused = factor.simd_eq(zero);
                if !unused.all_true() {
                    let sum = expansion.quotients(moments, at, w).scale(factor);
                    ach = ach + sum.keep(token, !unused);
                }
            }
        }
        let count = S::f64s::LEN.min(nw - begin);
        let mut lanes = [0.0; WIDTH];
        for (value, vector) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
            store(token, vector, &mut lanes);
            for (iw, &sum) in (begin..).zip(&lanes[..count]) {
                sums[iw * VALUES + value].add(sum);
            }
        }
        store(token, is_near, &mut lanes);
        if lanes[..count].iter().any(|&bands| bands != 0.0) {
            with_near.push(begin);
        }
    }
    for &(n, ref energies) in bands {
        for &begin in &with_near {
            let count = S::f64s::LEN.min(nw - begin);
            let w = load(token, &energies[begin..]);
            let occ = task.bands.occ[n];
            let far = expansion.far_field_of::<ALONE>(w, occ).holds.to_bitmask();
            let first = expansion.is_first(w, occ != 0.0).to_bitmask();
            let lanes = (0..count).filter(|lane| far >> lane & 1 == 0);
            let of_lane = |lane| Near { n, iw: begin + lane, is_first: first >> lane & 1 == 1 };
            near.extend(lanes.map(of_lane));
        }
    }
}

// The near field: pairs one by one, by the definition, or by `q` and `p` alone where the first branch holds for all of
// them and nothing is cut off. That takes a third of the time, and both are right but for some thirty roundings of a
// term, since nothing cancels:
//
//     ach += c·M·q     asx −= occ·c·M·(q − p) = 2·occ·(c·M·q)·(ω̃·p)

/// A band and an energy in the near field of a cluster.
#[derive(Clone, Copy)]
struct Near {
    n: usize,
    iw: usize,
    /// Whether the first branch certainly holds for all pairs, and nothing is cut off.
    is_first: bool,
}

/// The pairs of a cluster with a band: what all energies have in common.
#[derive(Default)]
struct WithBand {
    wtilde: Vec<Complex64>,
    eps: Vec<Complex64>,
    /// `M`, with the Coulomb interaction of each pair's `igp`.
    m: Vec<Complex64>,
    /// `c·M` if something needs it: filled up to whole vectors, as `ω̃` is.
    weight: Vec<Complex64>,
}

impl WithBand {
    /// Of some pairs and band `n`: one by one, since their rows are anywhere.
    #[inline(never)]
    fn fill<W: Copy + Into<Complex64>>(
        &mut self,
        (task, of): (&SlabTask, &Clusters),
        poles: &[Pole<W>],
        n: usize,
    ) {
        let m = |pole: &Pole<W>| {
            let (ig, igp) = (pole.ig as usize, pole.igp as usize);
            of.aqsm.at(n, igp).conj() * of.aqsn.at(n, ig) * task.slab.vcoul_loc[igp]
        };
        for values in [&mut self.wtilde, &mut self.eps, &mut self.m, &mut self.weight] {
            values.clear();
        }
        self.wtilde.extend(poles.iter().map(|pole| pole.wtilde.into()));
        self.eps.extend(poles.iter().map(|pole| pole.eps));
        self.m.extend(poles.iter().map(m));
    }

    /// Makes weights if there are none. The last pair, without one, fills up the vectors.
    #[inline(never)]
    fn weigh(&mut self) {
        let (Some(&last), true) = (self.wtilde.last(), self.weight.is_empty()) else { return };
        let pairs = self.m.iter().zip(&self.wtilde).zip(&self.eps);
        self.weight.extend(pairs.map(|((m, wtilde), eps)| m * (wtilde * eps * 0.5)));
        let count = self.m.len().next_multiple_of(WIDTH);
        self.wtilde.resize(count, last);
        self.weight.resize(count, Complex64::ZERO);
    }

    /// Adds the terms of some pairs where the first branch holds for all, and nothing is cut off.
    #[inline(always)]
    fn add_first<S: Simd>(
        &self,
        token: S,
        row: Range<usize>,
        [w, occ]: [f64; 2],
        sums: &mut [CompensatedSum],
    ) {
        let (w, one) = (splat(token, w), splat(token, 1.0));
        let mut lanes = [[0.0; WIDTH]; VALUES];
        for lane in (0..WIDTH).step_by(S::f64s::LEN) {
            let (mut asx, mut ach) = (ComplexVector::zero(token), ComplexVector::zero(token));
            for at in (row.start + lane..row.end).step_by(WIDTH) {
                let wtilde = ComplexVector::load(token, &self.wtilde[at..]);
                let (d, s) = (w - wtilde.re, w + wtilde.re);
                let im2 = wtilde.im * wtilde.im;
                let q = ComplexVector::new(d, wtilde.im).scale(one / d.mul_add(d, im2));
                let of_q = ComplexVector::load(token, &self.weight[at..]) * q;
                ach = ach + of_q;
                if occ != 0.0 {
                    let p = ComplexVector::new(s, -wtilde.im).scale(one / s.mul_add(s, im2));
                    asx = asx.add_product(of_q, wtilde * p);
                }
            }
            let asx = asx * (-2.0 * occ);
            PairSums { asx: Some([asx]), ach: [ach] }.add_to(token, lane, &mut lanes);
        }
        add_lanes(sums, &lanes);
    }
}

/// Adds the terms of some pairs at these energies, band by band.
#[inline(always)]
fn add_near_field<S: Simd, W: Copy + Into<Complex64>>(
    token: S,
    task: &SlabTask,
    clusters: &Clusters,
    poles: &[Pole<W>],
    near: &[Near],
    sums: &mut [CompensatedSum],
) {
    let definition = Definition::<S, false> { token, limits: task.bands.limits };
    let (mut pairs, mut of_band) = (WithBand::default(), None);
    for &Near { n, iw, is_first } in near {
        if task.stop.is_asked() {
            return;
        }
        if of_band != Some(n) {
            pairs.fill((task, clusters), poles, n);
            of_band = Some(n);
        }
        if is_first {
            pairs.weigh();
        }
        // The rest of `M` is with the pairs.
        let w = task.bands.wx[n * task.bands.nw + iw];
        let band = BandFactors { aqsm: Complex64::ONE, w, vcoul: 1.0, occ: task.bands.occ[n] };
        let sums = &mut sums[iw * VALUES..(iw + 1) * VALUES];
        for begin in (0..pairs.m.len()).step_by(ROW) {
            let row = begin..pairs.m.len().min(begin + ROW);
            if is_first {
                pairs.add_first(token, row, [band.w, band.occ], sums);
            } else {
                let (wtilde, eps) = (&pairs.wtilde[row.clone()], &pairs.eps[row.clone()]);
                definition.row([wtilde, eps, &pairs.m[row]], band, sums);
            }
        }
    }
}
