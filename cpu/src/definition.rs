//! The terms of [`gpp_kernels::formula`] in vectors, with masks instead of branches; the quotients are v3's, one real
//! reciprocal or division for each.

use std::ops::Range;

use fearless_simd::prelude::*;
use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::{TOL_ZERO, VALUES};
use num_complex::Complex64;

use crate::problem::{FallbackSlices, SlabTask};
use crate::simd::{ComplexVector, Level, WIDTH, add_to, at_level, reciprocal, splat, store};
use crate::work::{CHAIN, CompensatedSum, add_lanes};

/// Most `ig` of a row: what [`Definition::row`] sums at a time, a chain in each of eight numbers.
pub const ROW: usize = CHAIN * WIDTH;

/// Energies of the versions that hold the sums of all in registers: as many as the paper's problems have.
pub const FEW: usize = 3;

/// One band and energy of an `igp`.
#[derive(Clone, Copy)]
pub struct BandFactors {
    /// Matrix element of G′.
    pub aqsm: Complex64,
    /// Energy in eV.
    pub w: f64,
    /// Coulomb interaction of the `igp`.
    pub vcoul: f64,
    pub occ: f64,
}

impl BandFactors {
    #[inline(always)]
    pub fn from_task(task: &SlabTask, igp: usize, n: usize, iw: usize) -> BandFactors {
        let (bands, slab) = (&task.bands, &task.slab);
        BandFactors {
            aqsm: slab.aqsm[igp * bands.nbands + n],
            w: bands.wx[n * bands.nw + iw],
            vcoul: slab.vcoul_loc[igp],
            occ: bands.occ[n],
        }
    }
}

/// Neighbouring `ig` of one `igp` and one band: ω̃, `δ − ε⁻¹` and matrix elements of G.
pub type PairRow<'a> = [&'a [Complex64]; 3];

/// At most eight numbers, filled up.
#[inline(always)]
pub fn filled_up<T: Copy>(numbers: &[T], padding: T) -> [T; WIDTH] {
    let mut padded = [padding; WIDTH];
    padded[..numbers.len()].copy_from_slice(numbers);
    padded
}

/// The first numbers, filled up if they are fewer than a vector's.
#[inline(always)]
pub fn load_filled_up<S: Simd>(
    token: S,
    numbers: &[Complex64],
    padding: Complex64,
) -> ComplexVector<S> {
    if numbers.len() >= S::f64s::LEN {
        ComplexVector::load(token, numbers)
    } else {
        ComplexVector::load(token, &filled_up(numbers, padding))
    }
}

/// The definition in the vectors of `S`; `RECIPROCAL` has approximate reciprocals for divisions.
#[derive(Clone, Copy)]
pub struct Definition<S: Simd, const RECIPROCAL: bool> {
    pub token: S,
    pub limits: Limits,
}

impl<S: Simd, const RECIPROCAL: bool> Definition<S, RECIPROCAL> {
    #[inline(always)]
    fn one_over(&self, z2: S::f64s) -> S::f64s {
        if RECIPROCAL { reciprocal(self.token, z2) } else { splat(self.token, 1.0) / z2 }
    }

    /// Adds the terms of a row of at most [`ROW`].
    #[inline(always)]
    pub fn row(
        &self,
        [wtilde, eps, aqsn]: PairRow,
        band: BandFactors,
        sums: &mut [CompensatedSum],
    ) {
        let mut lanes = [[0.0; WIDTH]; VALUES];
        let end = wtilde.len() / WIDTH * WIDTH;
        self.blocks::<false>([&wtilde[..end], &eps[..end], &aqsn[..end]], band, &mut lanes);
        if end < wtilde.len() {
            // The last few, and pairs of no weight.
            let wtilde = filled_up(&wtilde[end..], Complex64::ONE);
            let eps = filled_up(&eps[end..], Complex64::ZERO);
            let aqsn = filled_up(&aqsn[end..], Complex64::ZERO);
            self.blocks::<false>([&wtilde, &eps, &aqsn], band, &mut lanes);
        }
        add_lanes(sums, &lanes);
    }

    /// Adds whole blocks, or the derivatives of their terms, to the sums of each chain and value.
    #[inline(always)]
    fn blocks<const DERIVATIVE: bool>(
        &self,
        [wtilde, eps, aqsn]: PairRow,
        band: BandFactors,
        lanes: &mut [[f64; WIDTH]],
    ) {
        let token = self.token;
        let count = wtilde.len();
        let (eps, aqsn) = (&eps[..count], &aqsn[..count]);
        for lane in (0..WIDTH).step_by(S::f64s::LEN) {
            let mut sums = [splat(token, 0.0); VALUES];
            for ig in (lane..count).step_by(WIDTH) {
                let end = ig + S::f64s::LEN;
                let wtilde = ComplexVector::load(token, &wtilde[ig..end]);
                let pair = [wtilde, ComplexVector::load(token, &eps[ig..end])];
                let [sch, ssx] = if DERIVATIVE {
                    self.derivatives(pair, splat(token, band.w))
                } else {
                    self.sch_ssx(pair, splat(token, band.w))
                };
                let aqsn = ComplexVector::load(token, &aqsn[ig..end]);
                let m = ComplexVector::splat(token, band.aqsm).conj_mul(aqsn);
                let asx = m * ssx * (-band.vcoul * band.occ);
                let ach = m * sch * (0.5 * band.vcoul);
                let terms = [asx.re, asx.im, ach.re, ach.im];
                for value in 0..VALUES {
                    sums[value] += terms[value];
                }
            }
            for (sum, lanes) in sums.into_iter().zip(&mut *lanes) {
                add_to(token, sum, &mut lanes[lane..]);
            }
        }
    }

    /// `sch` and `ssx` of pairs with these ω̃ and eps at these energies.
    #[inline(always)]
    pub fn sch_ssx(
        &self,
        [wtilde, eps]: [ComplexVector<S>; 2],
        w: S::f64s,
    ) -> [ComplexVector<S>; 2] {
        // Versions with exact divisions are not offered for a formula with a window.
        if RECIPROCAL && self.limits.has_window() {
            let (q, p) = self.window_quotients(wtilde, w);
            let half = (wtilde * eps).scale(splat(self.token, 0.5));
            return [half * q * 2.0, half * (q - p)];
        }
        let token = self.token;
        let wtilde2 = wtilde * wtilde;
        let omega2 = wtilde2 * eps;
        let (d, s) = (w - wtilde.re, w + wtilde.re);
        let im2 = wtilde.im * wtilde.im;
        let wdiffr = d.mul_add(d, im2);
        // ω̃·conj(wdiff)/|wdiff|².
        let delw = (wtilde * ComplexVector::new(d, wtilde.im)).scale(self.one_over(wdiffr));
        let delwr = delw.norm_sqr();
        let is_far = wdiffr.simd_gt(self.limits.limittwo);
        let is_first = is_far & delwr.simd_lt(self.limits.limitone);
        let is_some = is_first | delwr.simd_gt(TOL_ZERO);
        // w² − ω̃² or −2ω̃(w + ω̃).
        let first = ComplexVector::new(d.mul_add(s, im2), -wtilde2.im);
        let second = wtilde * ComplexVector::new(s, wtilde.im) * -2.0;
        let z = ComplexVector::select(is_first, first, second);
        let ssx = (omega2 * ComplexVector::new(z.re, -z.im)).scale(self.one_over(z.norm_sqr()));
        let bound = eps.norm_sqr() * (self.limits.sexcut * self.limits.sexcut);
        // What is not a number is cut off like what is too large.
        let is_kept = w.simd_ge(0.0) | ssx.norm_sqr().simd_le(bound);
        let ssx = ssx.keep(token, is_some & is_kept);
        let sch = (delw * eps).keep(token, is_first);
        [sch, ssx]
    }

    /// Their derivatives, as [`gpp_kernels::formula::term_and_derivative`] writes them.
    #[inline(always)]
    fn derivatives(&self, pair: [ComplexVector<S>; 2], w: S::f64s) -> [ComplexVector<S>; 2] {
        let (token, [sch, ssx]) = (self.token, self.sch_ssx(pair, w));
        let (q, p) = if self.limits.has_window() {
            self.window_quotients(pair[0], w)
        } else {
            let ComplexVector { re, im } = pair[0];
            let quotient = |x: S::f64s, im: S::f64s| {
                let one = self.one_over(x.mul_add(x, im * im));
                ComplexVector::new(x * one, im * one)
            };
            (quotient(w - re, im), quotient(w + re, -im))
        };
        // Where a part is zero its quotient may be infinite.
        let is_some = |z: ComplexVector<S>| z.re.abs().simd_gt(0.0) | z.im.abs().simd_gt(0.0);
        let q = q.keep(token, is_some(sch));
        [sch * q * -1.0, (ssx * (q + p) * -1.0).keep(token, is_some(ssx))]
    }

    /// `q` and `p` by [`gpp_kernels::formula::windowed`].
    #[inline(always)]
    fn window_quotients(
        &self,
        wtilde: ComplexVector<S>,
        w: S::f64s,
    ) -> (ComplexVector<S>, ComplexVector<S>) {
        let (zero, window2) = (splat(self.token, 0.0), splat(self.token, self.limits.limittwo));
        let quotient = |x: S::f64s, window: f64| {
            let is_inside = (x * x).simd_le(window2);
            let one = self.one_over(x * x + is_inside.select(window2, zero));
            ComplexVector::new(x * one, is_inside.select(one * window, zero))
        };
        let window = self.limits.limittwo.sqrt();
        (quotient(w - wtilde.re, -window), quotient(w + wtilde.re, window))
    }
}

/// Adds the fallback pairs of an `igp` among some `ig` to `(VALUES, SUMS)` totals, a vector of them at a time: those of `NW`
/// energies; if `SUMS` are more, of one energy and the derivative.
#[inline(always)]
pub fn add_fallback<S: Simd, const NW: usize, const SUMS: usize>(
    token: S,
    task: &SlabTask,
    fallback: &FallbackSlices,
    (igp, ig): (usize, &Range<usize>),
    totals: &mut [CompensatedSum],
) {
    let (bands, slab) = (&task.bands, &task.slab);
    let definition = Definition::<S, true> { token, limits: bands.limits };
    let first = igp * bands.ncouls;
    let pairs_of_igp =
        &fallback.pairs[fallback.begins[igp] as usize..fallback.begins[igp + 1] as usize];
    let [begin, end] = [ig.start, ig.end]
        .map(|bound| pairs_of_igp.partition_point(|&pair| (pair as usize) < first + bound));
    // Of pairs with small poles, which the mask does not have, only `asx`.
    let (fallback_pairs, small): (Vec<u32>, Vec<u32>) = pairs_of_igp[begin..end]
        .iter()
        .partition(|&&pair| fallback.bits(bands.ncouls, igp, pair as usize - first) & 1 == 1);
    let pairs = fallback_pairs.chunks(WIDTH).map(|pairs| (pairs, false));
    for (pairs, is_small) in pairs.chain(small.chunks(WIDTH).map(|pairs| (pairs, true))) {
        if task.stop.is_asked() {
            return;
        }
        // The rest of the vector has no weight.
        let (mut wtilde, mut eps) = ([Complex64::ONE; WIDTH], [Complex64::ZERO; WIDTH]);
        for (lane, &pair) in pairs.iter().enumerate() {
            (wtilde[lane], eps[lane]) = (slab.wtilde[pair as usize], slab.eps[pair as usize]);
        }
        for begin in (0..bands.nbands).step_by(CHAIN) {
            let mut lanes = [[0.0; WIDTH]; FEW * VALUES];
            for n in begin..bands.nbands.min(begin + CHAIN) {
                if is_small && bands.occ[n] == 0.0 {
                    continue;
                }
                let column = &bands.aqsn[n * bands.ncouls..][..bands.ncouls];
                let mut aqsn = [Complex64::ZERO; WIDTH];
                for (lane, &pair) in pairs.iter().enumerate() {
                    aqsn[lane] = column[pair as usize - first];
                }
                for e in 0..NW {
                    let band = BandFactors::from_task(task, igp, n, e);
                    let lanes = &mut lanes[e * VALUES..][..VALUES];
                    definition.blocks::<false>([&wtilde, &eps, &aqsn], band, lanes);
                }
                if NW < SUMS {
                    let band = BandFactors::from_task(task, igp, n, 0);
                    let lanes = &mut lanes[NW * VALUES..][..VALUES];
                    definition.blocks::<true>([&wtilde, &eps, &aqsn], band, lanes);
                }
            }
            if is_small {
                lanes.chunks_exact_mut(VALUES).for_each(|values| values[2..].fill([0.0; WIDTH]));
            }
            add_lanes(totals, &lanes[..SUMS * VALUES]);
        }
    }
}

// `ssx` and `sch` of many pairs at one energy, as matrices: what Σ as a matrix multiplies by matrix elements.

/// Real parts, imaginary parts, and their sums: element (ig, igp) of each at `ig + stride · igp`.
pub type Planes<'a> = [&'a mut [f64]; 3];

#[derive(Clone)]
pub struct DefinitionPairs<'a> {
    /// ω̃ in eV, `(ncouls, igp)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, alike.
    pub eps: &'a [Complex64],
    /// Rows of both.
    pub ncouls: usize,
    pub ig: Range<usize>,
    /// Columns of the planes are so far apart.
    pub stride: usize,
}

/// Makes `sch`, and `ssx` if there are planes for it, at `w = wx(iw,n)`.
///
/// # Panics
/// If planes are too short, or the CPU does not have the level.
pub fn make(
    level: Level,
    pairs: &DefinitionPairs,
    (w, limits): (f64, Limits),
    sch: Planes,
    ssx: Option<Planes>,
) {
    match ssx {
        Some(ssx) => at_level!(level, token => fill(token, pairs, w, limits, &mut [sch, ssx])),
        None => at_level!(level, token => fill(token, pairs, w, limits, &mut [sch])),
    }
}

/// Fills the planes of `sch`, or of `sch` and `ssx`.
#[inline(always)]
fn fill<S: Simd, const N: usize>(
    token: S,
    pairs: &DefinitionPairs,
    w: f64,
    limits: Limits,
    planes: &mut [Planes; N],
) {
    let DefinitionPairs { wtilde, eps, ncouls, ref ig, stride } = *pairs;
    let definition = Definition::<S, true> { token, limits };
    let count = ig.len();
    for igp in 0..wtilde.len() / ncouls {
        let from = igp * ncouls + ig.start;
        let (wtilde, eps) = (&wtilde[from..from + count], &eps[from..from + count]);
        for at in (0..count).step_by(S::f64s::LEN) {
            let is_whole = at + S::f64s::LEN <= count;
            let pair = [
                load_filled_up(token, &wtilde[at..], Complex64::ONE),
                load_filled_up(token, &eps[at..], Complex64::ZERO),
            ];
            let terms = definition.sch_ssx(pair, splat(token, w));
            for value in 0..N {
                let ComplexVector { re, im } = terms[value];
                let parts = [re, im, re + im];
                for part in 0..3 {
                    let to = &mut planes[value][part][igp * stride + at..igp * stride + count];
                    if is_whole {
                        store(token, parts[part], to);
                    } else {
                        let mut padded = [0.0; WIDTH];
                        store(token, parts[part], &mut padded);
                        to.copy_from_slice(&padded[..count - at]);
                    }
                }
            }
        }
    }
}
