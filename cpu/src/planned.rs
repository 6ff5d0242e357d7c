//! The body of versions that follow the plan: regular poles in vectors by a [`Fraction`], odd ones by the
//! definition.

use std::borrow::Cow;
use std::iter::Zip;
use std::marker::PhantomData;
use std::slice::Iter;

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::VALUES;
use gpp_kernels::plan::Poles;
use gpp_kernels::tiling::HARMLESS;
use num_complex::Complex64;

use crate::definition::{add_odd, prefetch};
use crate::lanes::{ComplexLanes, Lanes, WIDTH, array, tree};
use crate::problem::{Odd, Plan, Task};
use crate::version::{Body, FEW};
use crate::work::{CHAIN, Compensated, Piece};

/// How the terms of regular poles are written.
pub trait Fraction {
    /// What it takes the regular poles to be.
    const POLES: Poles;

    /// The sums of each pair over all bands: `asx`, `ach` of each energy.
    fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW>;
}

/// What pairs sum: `asx` and `ach` of each energy.
#[derive(Clone, Copy)]
pub struct PairSums<L, const NW: usize> {
    /// Screened exchange, with the sign of the definition.
    pub asx: [ComplexLanes<L>; NW],
    pub ach: [ComplexLanes<L>; NW],
}

/// The body of a fraction.
pub struct Planned<F>(PhantomData<F>);

impl<F: Fraction> Body for Planned<F> {
    const POLES: Poles = F::POLES;

    #[inline(always)]
    fn sum<L: Lanes>(token: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
        match task.bands.nw {
            1 => of_energies::<F, L, 1>(token, task, piece, sums),
            2 => of_energies::<F, L, 2>(token, task, piece, sums),
            _ => of_energies::<F, L, 3>(token, task, piece, sums),
        }
    }
}

#[inline(always)]
fn of_energies<F: Fraction, L: Lanes, const NW: usize>(
    token: L::Token,
    task: &Task,
    piece: &Piece,
    sums: &mut [f64],
) {
    let (plan, odd) = task.plan.expect("looked at before");
    let relaid = task.relaid.expect("looked at before");
    let ncouls = task.bands.ncouls;
    let (wx, occ) = ordered::<NW>(task, &plan);
    let empty = plan.occupied * NW..plan.far_begin * NW;
    let spans = [spans::<NW>(&wx[..plan.plain * NW]), spans::<NW>(&wx[empty])];
    let table = Table { wx: &wx, occ: &occ, spans: &spans };
    let aqsm: Vec<Cow<[Complex64]>> = piece.igp.clone().map(|igp| aqsm(task, &plan, igp)).collect();

    // What each number of a vector has summed of each value of each igp.
    let mut lanes = vec![[0.0; WIDTH]; piece.igp.len() * NW * VALUES];
    for ig in piece.ig.clone().step_by(WIDTH) {
        let aqsn = relaid.block(ig / WIDTH);
        for (at, igp) in piece.igp.clone().enumerate() {
            if task.stop.is_asked() {
                return;
            }
            let block = Block::of(task, &odd, igp, ig);
            Block::prefetch(task, piece, igp, ig);
            let lanes = &mut lanes[at * NW * VALUES..][..NW * VALUES];
            let vcoul = L::splat(token, task.slab.vcoul_loc[igp]);
            for lane in (0..WIDTH.min(ncouls - ig)).step_by(L::COUNT) {
                let (wtilde, eps) = block.load::<L>(token, lane);
                let place = Place {
                    token,
                    wtilde,
                    weight: eps.scale(vcoul),
                    aqsn,
                    lane,
                    aqsm: &aqsm[at],
                    table,
                    plan: &plan,
                    limits: task.bands.limits,
                };
                let of_pairs = F::sums::<L, NW>(&place);
                for e in 0..NW {
                    let (asx, ach) = (of_pairs.asx[e], of_pairs.ach[e]);
                    for (value, sum) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
                        sum.add_to(&mut lanes[e * VALUES + value][lane..]);
                    }
                }
            }
        }
    }
    for (at, igp) in piece.igp.clone().enumerate() {
        let mut totals = [Compensated::default(); FEW * VALUES];
        for (total, lanes) in totals.iter_mut().zip(&lanes[at * NW * VALUES..][..NW * VALUES]) {
            total.add(tree(lanes));
        }
        add_odd::<L, NW>(token, task, &odd, (igp, &piece.ig), &mut totals);
        let sums = &mut sums[at * NW * VALUES..][..NW * VALUES];
        sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
    }
}

/// Energies and occupations in the plan's order.
fn ordered<'a, const NW: usize>(task: &'a Task, plan: &Plan) -> (Cow<'a, [f64]>, Cow<'a, [f64]>) {
    let (wx, occ) = (task.bands.wx, task.bands.occ);
    if plan.order.is_sorted() {
        return (wx.into(), occ.into());
    }
    let energies = plan.order.iter().flat_map(|&n| &wx[n * NW..(n + 1) * NW]).copied();
    (energies.collect(), plan.order.iter().map(|&n| occ[n]).collect())
}

/// Matrix elements of G′ of one `igp` in the plan's order.
fn aqsm<'a>(task: &Task<'a>, plan: &Plan, igp: usize) -> Cow<'a, [Complex64]> {
    let nbands = task.bands.nbands;
    let own = &task.slab.aqsm[igp * nbands..][..nbands];
    if plan.order.is_sorted() {
        return own.into();
    }
    plan.order.iter().map(|&n| own[n]).collect()
}

/// Eight neighbouring pairs of an `igp`: poles that are not regular are a harmless one of weight zero.
struct Block {
    wtilde: [Complex64; WIDTH],
    eps: [Complex64; WIDTH],
}

impl Block {
    fn of(task: &Task, odd: &Odd, igp: usize, ig: usize) -> Block {
        let ncouls = task.bands.ncouls;
        let count = WIDTH.min(ncouls - ig);
        let first = igp * ncouls + ig;
        let mut block =
            Block { wtilde: [Complex64::new(HARMLESS, 0.0); WIDTH], eps: [Complex64::ZERO; WIDTH] };
        block.wtilde[..count].copy_from_slice(&task.slab.wtilde[first..first + count]);
        block.eps[..count].copy_from_slice(&task.slab.eps[first..first + count]);
        let mut bits = odd.bits(ncouls, igp, ig);
        while bits != 0 {
            let at = bits.trailing_zeros() as usize;
            block.wtilde[at] = Complex64::new(HARMLESS, 0.0);
            block.eps[at] = Complex64::ZERO;
            bits &= bits - 1;
        }
        block
    }

    /// The pairs that are summed after these.
    #[inline(always)]
    fn prefetch(task: &Task, piece: &Piece, igp: usize, ig: usize) {
        let (igp, ig) = match igp + 1 {
            next if next < piece.igp.end => (next, ig),
            _ => (piece.igp.start, ig + WIDTH),
        };
        let ncouls = task.bands.ncouls;
        let pairs = igp * ncouls + ig.min(ncouls)..igp * ncouls + (ig + WIDTH).min(ncouls);
        prefetch(&task.slab.wtilde[pairs.clone()]);
        prefetch(&task.slab.eps[pairs]);
    }

    #[inline(always)]
    fn load<L: Lanes>(&self, token: L::Token, lane: usize) -> (ComplexLanes<L>, ComplexLanes<L>) {
        let (re, im) = L::load_complex(token, &self.wtilde[lane..]);
        let (eps_re, eps_im) = L::load_complex(token, &self.eps[lane..]);
        (ComplexLanes::new(re, im), ComplexLanes::new(eps_re, eps_im))
    }
}

// Sums over bands that lose nothing however many bands there are.

/// Sums of some energies over bands, [`CHAIN`] of them at a time.
#[derive(Clone, Copy)]
pub struct Running<L, const NW: usize> {
    /// Of the bands since [`Running::settle`].
    pub part: [ComplexLanes<L>; NW],
    total: [ComplexLanes<L>; NW],
    lost: [ComplexLanes<L>; NW],
}

impl<L: Lanes, const NW: usize> Running<L, NW> {
    #[inline(always)]
    pub fn zero(token: L::Token) -> Self {
        let zero = [ComplexLanes::zero(token); NW];
        Running { part: zero, total: zero, lost: zero }
    }

    /// Adds the part to the total, and what that rounds off to what is lost (D. E. Knuth, TAOCP 2,
    /// 4.2.2, theorem B).
    #[inline(always)]
    pub fn settle(&mut self, token: L::Token) {
        for e in 0..NW {
            let (part, total, lost) = (self.part[e], self.total[e], self.lost[e]);
            let (re, lost_re) = two_sum(total.re, part.re);
            let (im, lost_im) = two_sum(total.im, part.im);
            self.total[e] = ComplexLanes::new(re, im);
            self.lost[e] = lost.add(ComplexLanes::new(lost_re, lost_im));
            self.part[e] = ComplexLanes::zero(token);
        }
    }

    /// The sum of energy `e`, settled.
    #[inline(always)]
    pub fn sum(&self, e: usize) -> ComplexLanes<L> {
        self.total[e].add(self.lost[e])
    }
}

/// `a + b` and what it rounds off.
#[inline(always)]
fn two_sum<L: Lanes>(a: L, b: L) -> (L, L) {
    let sum = a.add(b);
    let own = sum.sub(a);
    (sum, a.sub(sum.sub(own)).add(b.sub(own)))
}

/// Goes through the bands of `begin..end` of a place. A function with a closure would be compiled without the
/// level's instructions.
macro_rules! each_band {
    ($place:ident, $begin:expr, $end:expr, $band:ident => $body:block) => {
        for row in $place.rows::<NW>($begin, $end) {
            let $band = $place.band(row);
            $body
        }
    };
}
pub(crate) use each_band;

/// Goes through the bands of `begin..end` in chains and settles the sums after each.
macro_rules! over_chains {
    ($place:ident, $begin:expr, $end:expr, [$($sum:ident),+], $chain:ident => $body:block) => {
        let (mut begin, end) = ($begin, $end);
        while begin < end {
            let $chain = begin..end.min(begin + $crate::work::CHAIN);
            begin = $chain.end;
            $body
            $($sum.settle($place.token);)+
        }
    };
}
pub(crate) use over_chains;

/// `over_chains`, band after band.
macro_rules! over_bands {
    ($place:ident, $begin:expr, $end:expr, [$($sum:ident),+], $band:ident => $body:block) => {
        $crate::planned::over_chains!($place, $begin, $end, [$($sum),+], chain => {
            $crate::planned::each_band!($place, chain.start, chain.end, $band => $body);
        });
    };
}
pub(crate) use over_bands;

/// `over_bands` by spans: `$clear` for the bands of those that `$is_clear` holds of, `$body` for the others.
macro_rules! over_spans {
    (
        $place:ident, $spans:expr, $begin:expr, $end:expr, [$($sum:ident),+],
        $span:ident => $is_clear:expr, $band:ident => $clear:block, $body:block
    ) => {
        let mut spans = $spans.iter();
        $crate::planned::over_chains!($place, $begin, $end, [$($sum),+], chain => {
            for begin in chain.clone().step_by($crate::planned::SPAN) {
                let stop = chain.end.min(begin + $crate::planned::SPAN);
                if spans.next().is_some_and(|$span| $is_clear) {
                    $crate::planned::each_band!($place, begin, stop, $band => $clear);
                } else {
                    $crate::planned::each_band!($place, begin, stop, $band => $body);
                }
            }
        });
    };
}
pub(crate) use over_spans;

// The loop over bands of a vector of pairs, for versions that follow the plan.

/// The bands as the loops read them, in the plan's order.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// Energies, `(nw, nbands)`.
    pub wx: &'a [f64],
    pub occ: &'a [f64],
    /// Spans of the plain bands, and of the empty ones that are not far.
    pub spans: &'a [Vec<Span>; 2],
}

/// The least and the largest energy of neighbouring bands.
pub type Span = [f64; 2];

/// Bands of a span.
pub const SPAN: usize = CHAIN / 2;

/// The spans of bands with these energies, `(nw, bands)`, in their order.
pub fn spans<const NW: usize>(wx: &[f64]) -> Vec<Span> {
    let wider = |[least, largest]: Span, &w: &f64| [least.min(w), largest.max(w)];
    let none = [f64::INFINITY, f64::NEG_INFINITY];
    wx.chunks(SPAN * NW).map(|span| span.iter().fold(none, wider)).collect()
}

/// Neighbouring `ig` of one `igp`, and their bands.
#[derive(Clone, Copy)]
pub struct Place<'a, L: Lanes> {
    /// Shows that the processor has the vectors.
    pub token: L::Token,
    /// ω̃ of the regular pairs; of others a pole that harms nothing.
    pub wtilde: ComplexLanes<L>,
    /// vcoul · eps of the regular pairs; zero for others.
    pub weight: ComplexLanes<L>,
    /// Matrix elements of G of the block, as in [`crate::problem::Relaid`].
    pub aqsn: &'a [f64],
    /// Where the vector begins in the block.
    pub lane: usize,
    /// Matrix elements of G′, `(nbands)`.
    pub aqsm: &'a [Complex64],
    pub table: Table<'a>,
    pub plan: &'a Plan<'a>,
    pub limits: Limits,
}

/// A band: M for each pair, and the energies.
pub struct Band<L, const NW: usize> {
    /// `conj(aqsm)·aqsn`.
    pub m: ComplexLanes<L>,
    /// Matrix elements of G.
    pub aqsn: ComplexLanes<L>,
    /// Matrix element of G′, the same in each lane.
    pub aqsm: ComplexLanes<L>,
    pub w: [L; NW],
    pub occ: f64,
}

/// `aqsn` of the block, `aqsm`, energies and occupation of a band.
pub type Row<'a, const NW: usize> =
    ((&'a [f64; 2 * WIDTH], &'a Complex64), (&'a [f64; NW], &'a f64));

/// Some rows. An iterator over [`Band`]s would be stepped by functions of the library, without the level's
/// instructions.
pub type Rows<'a, const NW: usize> = Zip<
    Zip<Iter<'a, [f64; 2 * WIDTH]>, Iter<'a, Complex64>>,
    Zip<Iter<'a, [f64; NW]>, Iter<'a, f64>>,
>;

impl<L: Lanes> Place<'_, L> {
    /// A vector with this number in each lane.
    #[inline(always)]
    pub fn splat(&self, value: f64) -> L {
        L::splat(self.token, value)
    }

    #[inline(always)]
    pub fn zero(&self) -> ComplexLanes<L> {
        ComplexLanes::zero(self.token)
    }

    /// What memory holds of the bands of `begin..end`, in the plan's order.
    #[inline(always)]
    pub fn rows<const NW: usize>(&self, begin: usize, end: usize) -> Rows<'_, NW> {
        let (aqsn, _) = self.aqsn.as_chunks::<{ 2 * WIDTH }>();
        let (wx, _) = self.table.wx.as_chunks::<NW>();
        let elements = aqsn[begin..end].iter().zip(&self.aqsm[begin..end]);
        elements.zip(wx[begin..end].iter().zip(&self.table.occ[begin..end]))
    }

    /// A band of what memory holds of it.
    #[inline(always)]
    pub fn band<const NW: usize>(&self, row: Row<'_, NW>) -> Band<L, NW> {
        let ((aqsn, aqsm), (wx, &occ)) = row;
        let lane = self.lane.min(WIDTH - L::COUNT);
        let aqsn = ComplexLanes::new(
            L::load(self.token, &aqsn[lane..]),
            L::load(self.token, &aqsn[WIDTH + lane..]),
        );
        let aqsm = ComplexLanes::new(self.splat(aqsm.re), self.splat(aqsm.im));
        Band { m: aqsm.conj_mul(aqsn), aqsn, aqsm, w: array!(NW, e => self.splat(wx[e])), occ }
    }

    /// Largest `|wdiff|²` that takes the second branch.
    #[inline(always)]
    pub fn largest2(&self) -> L {
        let two = self.splat(self.limits.limittwo);
        let one = self.wtilde.norm_sqr().div(self.splat(self.limits.limitone));
        L::select(two.lt(one), one, two)
    }
}

/// `1/z` of each; `PAIRED` takes one division for two that are not zero and whose product is finite:
/// `1/a = b·r` and `1/b = a·r` with `r = 1/(a·b)`. A division runs beside the fused operations that an
/// approximate reciprocal would take for its corrections; there are few enough left for that.
#[inline(always)]
pub fn reciprocals<L: Lanes, const PAIRED: bool, const N: usize>(z: [L; N]) -> [L; N] {
    let mut one = z;
    let mut at = 0;
    while PAIRED && at + 1 < N {
        let both = z[at].mul(z[at + 1]).one_over();
        (one[at], one[at + 1]) = (z[at + 1].mul(both), z[at].mul(both));
        at += 2;
    }
    while at < N {
        one[at] = z[at].reciprocal();
        at += 1;
    }
    one
}
