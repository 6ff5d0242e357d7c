//! The terms by the definition, in vectors: conditions as selections.
//!
//! See [`gpp_kernels::formula`]; the quotients are v3's, one real reciprocal or division for each.

use std::ops::Range;

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::{TOL_ZERO, VALUES};
use num_complex::Complex64;

use crate::lanes::{ComplexLanes, Lanes, WIDTH, tree};
use crate::problem::{Bands, Odd, Slab, Task};
use crate::version::FEW;
use crate::work::{CHAIN, Compensated};

/// Most `ig` of a row: what [`Definition::row`] sums at a time, a chain in each of eight numbers.
pub const ROW: usize = CHAIN * WIDTH;

/// How a term's quotients are made.
#[derive(Clone, Copy)]
pub struct Definition<L: Lanes, const RECIPROCAL: bool> {
    token: L::Token,
    limits: Limits,
}

/// One band and energy of an `igp`.
#[derive(Clone, Copy)]
pub struct Band {
    /// Matrix element of G′.
    pub aqsm: Complex64,
    /// Energy in eV.
    pub w: f64,
    /// Coulomb interaction of the `igp`.
    pub vcoul: f64,
    pub occ: f64,
}

impl Band {
    /// Band `n` for one `igp` and energy `iw`.
    #[inline(always)]
    pub fn of(bands: &Bands, slab: &Slab, igp: usize, n: usize, iw: usize) -> Band {
        Band {
            aqsm: slab.aqsm[igp * bands.nbands + n],
            w: bands.wx[n * bands.nw + iw],
            vcoul: slab.vcoul_loc[igp],
            occ: bands.occ[n],
        }
    }
}

/// Neighbouring `ig` of one `igp` and one band, at most [`ROW`].
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`.
    pub eps: &'a [Complex64],
    /// Matrix elements of G.
    pub aqsn: &'a [Complex64],
}

impl<'a> Row<'a> {
    /// Pairs `ig` of an `igp`, and band `n`.
    #[inline(always)]
    pub fn of(task: &Task<'a>, igp: usize, n: usize, ig: std::ops::Range<usize>) -> Row<'a> {
        let ncouls = task.bands.ncouls;
        Row {
            wtilde: &task.slab.wtilde[igp * ncouls..][ig.clone()],
            eps: &task.slab.eps[igp * ncouls..][ig.clone()],
            aqsn: &task.bands.aqsn[n * ncouls..][ig],
        }
    }
}

impl<L: Lanes, const RECIPROCAL: bool> Definition<L, RECIPROCAL> {
    #[inline(always)]
    pub fn new(token: L::Token, limits: Limits) -> Self {
        Definition { token, limits }
    }

    #[inline(always)]
    fn splat(&self, value: f64) -> L {
        L::splat(self.token, value)
    }

    #[inline(always)]
    fn load(&self, from: &[Complex64]) -> ComplexLanes<L> {
        let (re, im) = L::load_complex(self.token, from);
        ComplexLanes::new(re, im)
    }

    /// `1 / z2`, real.
    #[inline(always)]
    fn one_over(&self, z2: L) -> L {
        if RECIPROCAL { z2.reciprocal() } else { self.splat(1.0).div(z2) }
    }

    /// Adds the terms of a row to the sums of its energy.
    #[inline(always)]
    pub fn row(&self, row: Row, band: Band, sums: &mut [Compensated]) {
        let mut lanes = [[0.0; WIDTH]; VALUES];
        let whole = row.wtilde.len() / WIDTH * WIDTH;
        let blocks = (&row.wtilde[..whole], &row.eps[..whole], &row.aqsn[..whole]);
        self.blocks(blocks, band, &mut lanes);
        if whole < row.wtilde.len() {
            // The last few, filled up with pairs of no weight.
            let mut wtilde = [Complex64::ONE; WIDTH];
            let (mut eps, mut aqsn) = ([Complex64::ZERO; WIDTH], [Complex64::ZERO; WIDTH]);
            let rest = row.wtilde.len() - whole;
            wtilde[..rest].copy_from_slice(&row.wtilde[whole..]);
            eps[..rest].copy_from_slice(&row.eps[whole..]);
            aqsn[..rest].copy_from_slice(&row.aqsn[whole..]);
            self.blocks((&wtilde, &eps, &aqsn), band, &mut lanes);
        }
        for (sum, lanes) in sums.iter_mut().zip(lanes) {
            sum.add(crate::lanes::tree(&lanes));
        }
    }

    /// Adds whole blocks of ω̃, eps and `aqsn` to what each number has summed of each value.
    #[inline(always)]
    pub fn blocks(
        &self,
        (wtilde, eps, aqsn): (&[Complex64], &[Complex64], &[Complex64]),
        band: Band,
        lanes: &mut [[f64; WIDTH]],
    ) {
        let count = wtilde.len();
        let (eps, aqsn) = (&eps[..count], &aqsn[..count]);

        for lane in (0..WIDTH).step_by(L::COUNT) {
            let mut sums = [self.splat(0.0); VALUES];
            for ig in (lane..count).step_by(WIDTH) {
                let end = ig + L::COUNT;
                let pair = [self.load(&wtilde[ig..end]), self.load(&eps[ig..end])];
                let terms = self.term(pair, self.load(&aqsn[ig..end]), band);
                for value in 0..VALUES {
                    sums[value] = sums[value].add(terms[value]);
                }
            }
            for (sum, lanes) in sums.into_iter().zip(&mut *lanes) {
                sum.add_to(&mut lanes[lane..]);
            }
        }
    }

    /// What a term adds to `asx` and `ach`.
    #[inline(always)]
    fn term(&self, pair: [ComplexLanes<L>; 2], aqsn: ComplexLanes<L>, band: Band) -> [L; VALUES] {
        let [wtilde, eps] = pair;
        let (token, w) = (self.token, self.splat(band.w));
        let wtilde2 = wtilde.mul(wtilde);
        let omega2 = wtilde2.mul(eps);
        let (d, s) = (w.sub(wtilde.re), w.add(wtilde.re));
        let im2 = wtilde.im.mul(wtilde.im);
        let wdiffr = d.mul_add(d, im2);
        // ω̃·conj(wdiff)/|wdiff|².
        let delw = wtilde.mul(ComplexLanes::new(d, wtilde.im)).scale(self.one_over(wdiffr));
        let delwr = delw.norm_sqr();
        let limittwo = self.splat(self.limits.limittwo);
        let limitone = self.splat(self.limits.limitone);
        let is_first = L::and(limittwo.lt(wdiffr), delwr.lt(limitone));
        let is_some = L::or(is_first, self.splat(TOL_ZERO).lt(delwr));
        // w² − ω̃² or −2ω̃(w + ω̃).
        let first = ComplexLanes::new(d.mul_add(s, im2), wtilde2.im.neg());
        let second = wtilde.mul(ComplexLanes::new(s, wtilde.im)).scale(self.splat(-2.0));
        let z = ComplexLanes::new(
            L::select(is_first, first.re, second.re),
            L::select(is_first, first.im, second.im),
        );
        let ssx =
            omega2.mul(ComplexLanes::new(z.re, z.im.neg())).scale(self.one_over(z.norm_sqr()));
        let sexcut = self.splat(self.limits.sexcut);
        let bound = sexcut.mul(sexcut).mul(eps.norm_sqr());
        // What is not a number is cut off like what is too large.
        let kept = L::or(self.splat(0.0).le(w), ssx.norm_sqr().le(bound));
        let ssx = ssx.keep(token, L::and(is_some, kept));
        let sch = delw.mul(eps).keep(token, is_first);
        let aqsm = ComplexLanes::new(self.splat(band.aqsm.re), self.splat(band.aqsm.im));
        let m = aqsm.conj_mul(aqsn);
        let asx = m.mul(ssx).scale(self.splat(-band.vcoul * band.occ));
        let ach = m.mul(sch).scale(self.splat(0.5 * band.vcoul));
        [asx.re, asx.im, ach.re, ach.im]
    }
}

// Odd pairs: by the definition, a vector of them at a time, wherever they stand.

/// Adds the odd pairs of an `igp` among some `ig` to `(VALUES, nw)` totals.
#[inline(always)]
pub fn add_odd<L: Lanes, const NW: usize>(
    token: L::Token,
    task: &Task,
    odd: &Odd,
    (igp, ig): (usize, &Range<usize>),
    totals: &mut [Compensated],
) {
    let first = igp * task.bands.ncouls;
    let all = &odd.pairs[odd.begins[igp] as usize..odd.begins[igp + 1] as usize];
    let begin = all.partition_point(|&pair| (pair as usize) < first + ig.start);
    let end = all.partition_point(|&pair| (pair as usize) < first + ig.end);
    let mut at = begin;
    while at < end && !task.stop.is_asked() {
        let pairs = &all[at..end.min(at + WIDTH)];
        add_pairs::<L, NW>(token, task, igp, pairs, totals);
        at += WIDTH;
    }
}

/// Adds at most [`WIDTH`] pairs; the rest of the vector has no weight.
#[inline(always)]
fn add_pairs<L: Lanes, const NW: usize>(
    token: L::Token,
    task: &Task,
    igp: usize,
    pairs: &[u32],
    totals: &mut [Compensated],
) {
    let (bands, slab) = (&task.bands, &task.slab);
    let definition = Definition::<L, true>::new(token, bands.limits);
    let first = igp * bands.ncouls;
    let (mut wtilde, mut eps) = ([Complex64::ONE; WIDTH], [Complex64::ZERO; WIDTH]);
    for (lane, &pair) in pairs.iter().enumerate() {
        (wtilde[lane], eps[lane]) = (slab.wtilde[pair as usize], slab.eps[pair as usize]);
    }
    for begin in (0..bands.nbands).step_by(CHAIN) {
        let mut lanes = [[0.0; WIDTH]; FEW * VALUES];
        for n in begin..bands.nbands.min(begin + CHAIN) {
            let column = &bands.aqsn[n * bands.ncouls..][..bands.ncouls];
            let mut aqsn = [Complex64::ZERO; WIDTH];
            for (lane, &pair) in pairs.iter().enumerate() {
                aqsn[lane] = column[pair as usize - first];
            }
            for e in 0..NW {
                let band = Band::of(bands, slab, igp, n, e);
                let lanes = &mut lanes[e * VALUES..][..VALUES];
                definition.blocks((&wtilde, &eps, &aqsn), band, lanes);
            }
        }
        for (total, lanes) in totals.iter_mut().zip(&lanes[..NW * VALUES]) {
            total.add(tree(lanes));
        }
    }
}

/// Asks for the cache lines of a slice, where the processor has an instruction for that: neighbouring `igp`
/// are a whole column apart, farther than what a processor fetches by itself.
#[inline(always)]
pub fn prefetch<T>(soon: &[T]) {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        #[cfg(target_arch = "x86")]
        use core::arch::x86::{_MM_HINT_T0, _mm_prefetch};
        #[cfg(target_arch = "x86_64")]
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        const LINE: usize = 64;
        let first: *const i8 = soon.as_ptr().cast();
        for at in (0..size_of_val(soon)).step_by(LINE) {
            // SAFETY: a hint, which reads nothing that the program could see; within the slice besides.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.add(at)) };
        }
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let _ = soon;
}
