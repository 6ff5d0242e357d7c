//! The loop over bands of a vector of pairs, for versions that follow the plan.

use std::iter::Zip;
use std::slice::Iter;

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::compensated::CHAIN;
use crate::lanes::{ComplexLanes, Lanes, WIDTH, array};
use crate::problem::Plan;

/// The bands as the loops read them, in the plan's order.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// Energies, `(nw, nbands)`.
    pub wx: &'a [f64],
    /// Occupations.
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

/// A band: M for each pair, and the energies.
pub struct Band<L, const NW: usize> {
    /// `conj(aqsm)·aqsn`.
    pub m: ComplexLanes<L>,
    /// Matrix elements of G.
    pub aqsn: ComplexLanes<L>,
    /// Matrix element of G′, the same in each lane.
    pub aqsm: ComplexLanes<L>,
    /// Energies.
    pub w: [L; NW],
    /// Occupation.
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

    /// A complex zero.
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
