//! The body of versions that follow the plan: regular poles in vectors by a [`Fraction`], odd ones by the
//! definition.

use std::borrow::Cow;
use std::marker::PhantomData;

use gpp_kernels::plan::Poles;
use gpp_kernels::sums::VALUES;
use gpp_kernels::tiling::HARMLESS;
use num_complex::Complex64;

use crate::compensated::Compensated;
use crate::lanes::{ComplexLanes, Lanes, WIDTH, tree};
use crate::odd::add_odd;
use crate::place::{Place, Table, spans};
use crate::prefetch::prefetch;
use crate::problem::{Odd, Plan, Task};
use crate::version::{Body, FEW};
use crate::work::Piece;

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
    /// Coulomb hole.
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
