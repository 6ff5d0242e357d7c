//! The loop over bands of a vector of pairs, for versions that follow the plan.

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::lanes::{ComplexLanes, Lanes, WIDTH};
use crate::problem::Plan;

/// The bands as the loops read them, in the plan's order.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// Energies, `(nw, nbands)`.
    pub wx: &'a [f64],
    /// Occupations.
    pub occ: &'a [f64],
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
    /// Matrix elements of G of the block, as in [`crate::relaid::Relaid`].
    pub aqsn: &'a [f64],
    /// Where the vector begins in the block.
    pub lane: usize,
    /// Matrix elements of G′, `(nbands)`.
    pub aqsm: &'a [Complex64],
    /// The bands.
    pub table: Table<'a>,
    /// The plan.
    pub plan: &'a Plan<'a>,
    /// Limits of the formula.
    pub limits: Limits,
}

/// A band: M for each pair, the energies, and its place in the plan's order.
pub struct Band<L, const NW: usize> {
    /// `conj(aqsm)·aqsn`.
    pub m: ComplexLanes<L>,
    /// Energies.
    pub w: [L; NW],
    /// Number of the band.
    pub n: usize,
}

impl<L: Lanes> Place<'_, L> {
    /// The same number in each.
    #[inline(always)]
    pub fn splat(&self, value: f64) -> L {
        L::splat(self.token, value)
    }

    /// A complex zero.
    #[inline(always)]
    pub fn zero(&self) -> ComplexLanes<L> {
        ComplexLanes::zero(self.token)
    }

    /// Calls `step` for each band of `begin..end`.
    #[inline(always)]
    pub fn each<const NW: usize>(
        &self,
        begin: usize,
        end: usize,
        mut step: impl FnMut(Band<L, NW>),
    ) {
        let (aqsn, _) = self.aqsn.as_chunks::<{ 2 * WIDTH }>();
        let (wx, _) = self.table.wx.as_chunks::<NW>();
        let (aqsn, aqsm, wx) = (&aqsn[begin..end], &self.aqsm[begin..end], &wx[begin..end]);
        let lane = self.lane.min(WIDTH - L::COUNT);
        for (at, ((aqsn, aqsm), wx)) in aqsn.iter().zip(aqsm).zip(wx).enumerate() {
            let aqsn = ComplexLanes::new(
                L::load(self.token, &aqsn[lane..]),
                L::load(self.token, &aqsn[WIDTH + lane..]),
            );
            let aqsm = ComplexLanes::new(self.splat(aqsm.re), self.splat(aqsm.im));
            step(Band { m: aqsm.conj_mul(aqsn), w: wx.map(|w| self.splat(w)), n: begin + at });
        }
    }

    /// `occ(n)`.
    #[inline(always)]
    pub fn occ(&self, n: usize) -> L {
        self.splat(self.table.occ[n])
    }

    /// Largest `|wdiff|²` that takes the second branch.
    #[inline(always)]
    pub fn largest2(&self) -> L {
        let two = self.splat(self.limits.limittwo);
        let one = self.wtilde.norm_sqr().div(self.splat(self.limits.limitone));
        L::select(two.lt(one), one, two)
    }
}
