//! Versions after the paper's: each one's loops over the helpers of [`crate::tiling`].
//!
//! A pair's constants stay in registers, and its sums are scaled once, after the loops. A loop goes over the bands of
//! one class ([`crate::plan`]): plain, other occupied, empty and, from v13 on, far ones.

use core::array::{from_fn, from_mut};
use core::hint::select_unpredictable;

use num_complex::Complex64;

use crate::arrays::{Arrays, Layout};
use crate::formula::{
    ThreadSums, first_denominator, reciprocal, reciprocal_unless, second_denominator, term, wdiff,
};
use crate::intrinsics::{sqrt, upper};
use crate::kernel::{Kernel, Loops, entries};
use crate::plan::{EnergiesFrom, Plan, Poles};
use crate::threads::each;
use crate::tiling::{DirectPairs, PairSource, StagedPairs, TilePlace, TileShape, add};

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Largest `|wdiff|²` that takes the second branch.
#[inline(always)]
fn near2(a: &Arrays, wtilde: Complex64) -> f64 {
    let two = a.limits.limittwo;
    let one = wtilde.norm_sqr() / a.limits.limitone;
    if one > two { one } else { two }
}

pub mod v9 {
    //! v9: one pass for all energies, constants of a pair hoisted, empty bands in their own loop.
    //!
    //! A thread has one `(ig, igp)` and all bands; `M` is computed once for all energies. Factors that depend
    //! on the pair alone (Ω², the bound between the branches, the cutoff, vcoul) are computed before the
    //! loop or applied to the sums after it. Empty bands come last and have a loop without `ssx`.
    //!
    //! With `s = w + ω̃` the second branch is `ssx = −Ω²/(2ω̃·s)`, so both are `Ω²·y` with a `y` that is one complex
    //! reciprocal.
    //!
    //! Lines of the nest: 1, 4, 5, 7, 8, 9, 10.

    use super::*;

    version! {
        id: "v9", change: "one pass for all energies, constants of a pair hoisted, empty bands in their own loop",
        source: "docs/versions.md", kernels: [ANY]
    }

    /// One `igp` a thread, eight warps a block.
    pub const SHAPE: TileShape = TileShape { tile: 1, warps: 8 };

    pub const ANY: Kernel = Kernel {
        entries: entries!(tiled tile, SHAPE, term: gpp_v9),
        poles: Poles::AnySize,
        ..Kernel::tiled(SHAPE)
    };

    #[inline(always)]
    unsafe fn tile<const NW: usize>(a: &Arrays, place: TilePlace) -> ThreadSums<NW> {
        let pairs = DirectPairs::<1>(place);
        let wtilde = pairs.wtilde(a, 0);
        let wtilde2 = wtilde * wtilde;
        let near = near2(a, wtilde);
        // |Ω²·y| > sexcut·|eps| is |y|² above this.
        let cutoff = a.limits.sexcut * a.limits.sexcut / wtilde2.norm_sqr();
        let (mut q, mut y) = ([ZERO; NW], [ZERO; NW]);

        pairs.bands(a, 0..a.plan.occupied, |n, band| {
            let (m, occ) = (band.matngmatmgp(0), a.occ(n));
            each::<NW>(|e| {
                let w = band.wx[e];
                let d = wdiff(w, wtilde);
                let is_near = d.norm_sqr() <= near;
                let denominator = if !is_near {
                    q[e] = q[e] + m * reciprocal(d);
                    first_denominator(w + wtilde.re, d, wtilde, wtilde2)
                } else {
                    -second_denominator(w + wtilde.re, wtilde)
                };
                let one = reciprocal(denominator);
                // At w = −ω̃ it is infinite, NaN in the arithmetic: not below the cutoff either.
                if w >= 0.0 || one.norm_sqr() <= cutoff {
                    y[e] = y[e] + m * one * occ;
                }
            });
        });
        pairs.bands(a, a.plan.occupied..a.nbands, |_, band| {
            let m = band.matngmatmgp(0);
            each::<NW>(|e| {
                let d = wdiff(band.wx[e], wtilde);
                let is_near = d.norm_sqr() <= near;
                if !is_near {
                    q[e] = q[e] + m * reciprocal(d);
                }
            });
        });
        let mut sums = ThreadSums::zero();
        let weight = pairs.weight(a, 0);
        let (omega2, half) = (weight * wtilde2, weight * (wtilde * 0.5));
        each::<NW>(|e| {
            sums.asx[e] = sums.asx[e] - omega2 * y[e];
            sums.ach[e] = sums.ach[e] + half * q[e];
        });
        sums
    }
}

pub mod v10 {
    //! v10: partial fractions without a branch, approximate reciprocals corrected once.
    //!
    //! With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, both branches are
    //! `ssx = ½ω̃·eps·(q − p)` and `sch = ω̃·eps·q`: no choice of denominators is left. And with
    //! `1/z = conj(z)/|z|²`, where `Im z = ∓Im ω̃` is the pair's own, a sum over `M·q` or `M·(q − p)` is two
    //! sums of `M` times something real. A reciprocal is the hardware's approximation and one cubic correction, three
    //! fused operations.
    //!
    //! `q − p` is taken term by term. If `|w|` is `κ` times `|ω̃|` it loses `3κ` roundings, so `ssx` of pairs with a large
    //! `κ` is summed by v3's formula. The difference of a sum of `q` and a sum of `p` would lose as many in each band.
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::v9::SHAPE;
    use super::*;

    version! {
        id: "v10", change: "partial fractions without a branch, approximate reciprocals corrected once",
        source: "docs/versions.md", kernels: [ANY]
    }

    pub const ANY: Kernel = Kernel {
        poles: Poles::Any,
        entries: entries!(tiled tile, SHAPE, term: gpp_v10),
        ..super::v9::ANY
    };

    /// What the loops need of one pole.
    #[derive(Clone, Copy)]
    pub struct ComplexPole {
        pub re: f64,
        /// Square of the imaginary part.
        pub im2: f64,
        /// Upper 32 bits of the largest |w − ω̃|² of the second branch. Pairs for which the lower 32 would matter are
        /// fallback pairs.
        near: f32,
    }

    /// `Im f / Im ω̃` and `Re f` of a factor `f`.
    pub type Factor = [f64; 2];

    impl ComplexPole {
        #[inline(always)]
        pub fn from_wtilde(a: &Arrays, wtilde: Complex64) -> ComplexPole {
            ComplexPole { re: wtilde.re, im2: wtilde.im * wtilde.im, near: upper(near2(a, wtilde)) }
        }

        /// `q` and `q − p` of an energy that nothing cuts off.
        #[inline(always)]
        pub fn quotients(&self, w: f64) -> [Factor; 2] {
            let (d, s) = (w - self.re, w + self.re);
            let (d2, s2) = (d * d + self.im2, s * s + self.im2);
            let one_q = reciprocal_unless(upper(d2) <= self.near, d2);
            let one_p = reciprocal_unless(false, s2);
            let re = d * one_q;
            [[one_q, re], [one_q + one_p, re - s * one_p]]
        }

        /// `w ∓ Re ω̃`, each with `|w ∓ ω̃|²`; whether the second branch takes it, and whether the cutoff takes `ssx`.
        #[inline(always)]
        pub fn denominators(&self, a: &Arrays, w: f64) -> ([f64; 2], [f64; 2], bool, bool) {
            let size2 = self.re * self.re + self.im2;
            let bound = size2 / a.limits.sexcut;
            let (d, s) = (w - self.re, w + self.re);
            let (d2, s2) = (d * d + self.im2, s * s + self.im2);
            let near = upper(d2) <= self.near;
            let z2 = select_unpredictable(near, size2 * 4.0, d2) * s2;
            let cut = w < 0.0 && z2 < bound * bound;
            ([d, d2], [s, s2], near, cut)
        }

        /// The same of an energy that may be cut off, and whether it is.
        #[inline(always)]
        pub fn cut_quotients(&self, a: &Arrays, w: f64) -> ([Factor; 2], bool) {
            let ([d, d2], [s, s2], near, cut) = self.denominators(a, w);
            let one_q = reciprocal_unless(near, d2);
            let one_p = reciprocal_unless(cut, s2);
            let re = d * one_q;
            ([[one_q, re], [one_q + one_p, re - s * one_p]], cut)
        }

        /// `q`.
        #[inline(always)]
        pub fn quotient(&self, w: f64) -> Factor {
            let d = w - self.re;
            let d2 = d * d + self.im2;
            let one = reciprocal_unless(upper(d2) <= self.near, d2);
            [one, d * one]
        }

        /// `q` of a far band.
        #[inline(always)]
        pub fn far_quotient(&self, w: f64) -> Factor {
            let d = w - self.re;
            let one = reciprocal_unless(false, d * d + self.im2);
            [one, d * one]
        }
    }

    /// The sum of `M·f`, from the sums of `M` times both numbers of a [`Factor`], with `im = Im ω̃`.
    #[inline(always)]
    pub fn joined([factor, re]: [Complex64; 2], im: f64) -> Complex64 {
        Complex64::new(re.re - im * factor.im, re.im + im * factor.re)
    }

    /// The factors ω̃ and ½·vcoul·ω̃·eps, read again after the loops, which do not hold them.
    #[inline(always)]
    pub unsafe fn factors<const T: usize>(
        a: &Arrays,
        pairs: impl PairSource<T>,
        t: usize,
    ) -> (Complex64, Complex64) {
        let wtilde = pairs.wtilde(a, t);
        (wtilde, pairs.weight(a, t) * (wtilde * 0.5))
    }

    #[inline(always)]
    unsafe fn tile<const NW: usize>(a: &Arrays, place: TilePlace) -> ThreadSums<NW> {
        sums(a, DirectPairs::<1>(place))
    }

    /// The sums of a thread's pair, whose bands are read in either way.
    #[inline(always)]
    pub unsafe fn sums<const NW: usize>(a: &Arrays, pairs: impl PairSource<1>) -> ThreadSums<NW> {
        let pole = ComplexPole::from_wtilde(a, pairs.wtilde(a, 0));
        let (mut q, mut y) = ([[ZERO; 2]; NW], [[ZERO; 2]; NW]);
        let mut sums = ThreadSums::zero();

        pairs.bands(a, 0..a.plan.plain, |_, band| {
            let m = band.matngmatmgp(0);
            each::<NW>(|e| {
                let [of_q, of_y] = pole.quotients(band.wx[e]);
                add(&mut q[e], m, of_q);
                add(&mut y[e], m, of_y);
            });
        });
        if a.plan.plain < a.plan.occupied {
            pairs.bands(a, a.plan.plain..a.plan.occupied, |n, band| {
                let (m, occ) = (band.matngmatmgp(0), a.occ(n));
                each::<NW>(|e| {
                    let ([of_q, of_y], cut) = pole.cut_quotients(a, band.wx[e]);
                    add(&mut q[e], m, of_q);
                    add(&mut y[e], m * select_unpredictable(cut, 0.0, occ), of_y);
                });
            });
        }
        let (wtilde, half) = factors(a, pairs, 0);
        let half = half * select_unpredictable(a.plan.is_small(wtilde), 0.0, 1.0);
        each::<NW>(|e| sums.asx[e] = sums.asx[e] - half * joined(y[e], wtilde.im));
        pairs.bands(a, a.plan.occupied..a.nbands, |_, band| {
            let m = band.matngmatmgp(0);
            each::<NW>(|e| add(&mut q[e], m, pole.quotient(band.wx[e])));
        });
        let (wtilde, half) = factors(a, pairs, 0);
        each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * joined(q[e], wtilde.im));
        sums
    }
}

pub mod v11 {
    //! v11: bands staged in shared memory, eight at a time.
    //!
    //! v10 waits for `aqsn` half of its time. A block brings eight bands to shared memory while it sums
    //! the eight before, so no load is waited for, and `aqsn` leaves L2 once for the eight warps that
    //! share its `ig`.
    //!
    //! Lines of the nest: 5, 6.

    use super::v9::SHAPE;
    use super::*;

    version! {
        id: "v11", change: "bands staged in shared memory, eight at a time",
        source: "docs/versions.md", kernels: [ANY]
    }

    pub const ANY: Kernel =
        Kernel { entries: entries!(tiled tile, SHAPE, term: gpp_v11), ..super::v10::ANY };

    #[inline(always)]
    pub unsafe fn tile<const NW: usize>(a: &Arrays, place: TilePlace) -> ThreadSums<NW> {
        v10::sums(a, StagedPairs::<1, 8, 1, true>(place))
    }
}

pub mod v12 {
    //! v12: real arithmetic for real poles.
    //!
    //! BerkeleyGW's default makes every ω̃ real. Then `q = 1/(w − ω̃)` and `y = 1/(w² − ω̃²)` are real, so each
    //! accumulation is two fused operations, not four, and one reciprocal gives both: with `d = w − ω̃` and `s = w + ω̃`
    //! the two branches are the same quotient of another denominator, `z = (near ? −2ω̃ : d) · s`, `y = 1/z`, and away
    //! from the pole `q = s·y`. A thread has two `igp`. gpp finds out whether all poles are real when it loads the
    //! problem, and sums other problems as in v11.
    //!
    //! Lines of the nest: 6, 7, 8, 10.

    use super::v9::SHAPE as SINGLE;
    use super::v11::tile as any;
    use super::*;

    version! {
        id: "v12", change: "real arithmetic for real poles",
        source: "docs/versions.md", kernels: [REAL, ANY]
    }

    /// Two `igp` a thread.
    pub const SHAPE: TileShape = TileShape { tile: 2, warps: 8 };

    pub const REAL: Kernel = Kernel {
        poles: Poles::Real,
        entries: entries!(tiled real, SHAPE, term: gpp_v12_real),
        ..Kernel::tiled(SHAPE)
    };

    /// For any poles: v11's loops.
    pub const ANY: Kernel =
        Kernel { entries: entries!(tiled any, SINGLE, term: gpp_v12), ..super::v11::ANY };

    #[inline(always)]
    unsafe fn real<const NW: usize>(a: &Arrays, place: TilePlace) -> ThreadSums<NW> {
        let pairs = StagedPairs::<2, 8, 1, true>(place);
        let poles: [RealPole; 2] = from_fn(|t| RealPole::from_wtilde(a, pairs.wtilde(a, t)));
        let weight = |t: usize| pairs.weight(a, t) * poles[t].wtilde;
        let (mut q, mut y) = ([[ZERO; NW]; 2], [[ZERO; NW]; 2]);
        let mut sums = ThreadSums::zero();

        pairs.bands(a, 0..a.plan.plain, |_, band| {
            let w: [f64; NW] = from_fn(|e| band.wx[e]);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                let both = w.map(|w| poles[t].quotients(w));
                add(&mut y[t], m, both.map(|(y, _)| y));
                add(&mut q[t], m, both.map(|(_, q)| q));
            });
        });
        pairs.bands(a, a.plan.plain..a.plan.occupied, |n, band| {
            let occ = a.occ(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let (one, quotient) = poles[t].cut_quotients(a, band.wx[e]);
                    add(from_mut(&mut y[t][e]), m, [one * occ]);
                    add(from_mut(&mut q[t][e]), m, [quotient]);
                });
            });
        });
        each::<2>(|t| {
            let omega2 = weight(t) * poles[t].wtilde;
            each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
        });
        pairs.bands(a, a.plan.occupied..a.nbands, |_, band| {
            let w: [f64; NW] = from_fn(|e| band.wx[e]);
            each::<2>(|t| {
                add(&mut q[t], band.matngmatmgp(t), w.map(|w| poles[t].quotient(w)));
            });
        });
        each::<2>(|t| {
            let (half, q) = (weight(t) * 0.5, q[t].map(flushed));
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * q[e]);
        });
        sums
    }

    /// What the loops need of one pole.
    #[derive(Clone, Copy)]
    pub struct RealPole {
        pub wtilde: f64,
        /// Upper 32 bits of the largest |w − ω̃| of the second branch, as in v10.
        near: f32,
    }

    impl RealPole {
        #[inline(always)]
        pub fn from_wtilde(a: &Arrays, wtilde: Complex64) -> RealPole {
            RealPole { wtilde: wtilde.re, near: upper(sqrt(near2(a, wtilde))) }
        }

        /// `d`, `s`, `z`, and whether `d` is near.
        #[inline(always)]
        pub fn denominators(&self, w: f64) -> (f64, f64, f64, bool) {
            let (d, s) = (w - self.wtilde, w + self.wtilde);
            let near = upper(d) <= self.near;
            (d, s, select_unpredictable(near, self.wtilde * -2.0, d) * s, near)
        }

        /// Whether the cutoff takes `ssx`.
        #[inline(always)]
        pub fn is_cut(&self, a: &Arrays, w: f64, z: f64) -> bool {
            let bound = self.wtilde * self.wtilde / a.limits.sexcut;
            w < 0.0 && z * z < bound * bound
        }

        /// `y` and `q` of an energy without cutoff; near the pole `q` is tiny, not zero, which saves a
        /// selection.
        #[inline(always)]
        pub fn quotients(&self, w: f64) -> (f64, f64) {
            let (_, s, z, near) = self.denominators(w);
            let y = reciprocal_unless(false, z);
            (y, upper_unless(near, s) * y)
        }

        /// `y` and `q` of an energy that may be cut off, with the cutoff of `a`.
        #[inline(always)]
        pub fn cut_quotients(&self, a: &Arrays, w: f64) -> (f64, f64) {
            let (d, _, z, near) = self.denominators(w);
            let cut = self.is_cut(a, w, z);
            (reciprocal_unless(cut, z), reciprocal_unless(near, d))
        }

        /// `q`.
        #[inline(always)]
        pub fn quotient(&self, w: f64) -> f64 {
            let d = w - self.wtilde;
            reciprocal_unless(upper(d) <= self.near, d)
        }
    }

    /// `x`, or only its lower 32 bits if `near` holds: below 1e-313.
    #[inline(always)]
    fn upper_unless(near: bool, x: f64) -> f64 {
        let (upper, lower) = ((x.to_bits() >> 32) as u32, x.to_bits() as u32);
        let upper = select_unpredictable(near, 0, upper);
        f64::from_bits(u64::from(upper) << 32 | u64::from(lower))
    }

    /// A sum of `M·q`, without what `upper_unless` left of those near the pole.
    #[inline(always)]
    pub fn flushed(q: Complex64) -> Complex64 {
        let flush = |x: f64| if x.abs() < 1e-280 { 0.0 } else { x };
        Complex64::new(flush(q.re), flush(q.im))
    }
}

pub mod v13 {
    //! v13: energies in constant memory, one reciprocal for two energies.
    //!
    //! v12 waits for reads of registers. A band's energies are the same for all threads, so an addition can
    //! take them from constant memory instead of a register. If the constant memory does not hold all
    //! energies, v12's kernels run.
    //!
    //! In nearly all bands two energies differ by the same amount, `2h`. In *far* bands, to which no pole is near, two
    //! real quotients then share a reciprocal, and no test for the branch is needed. Let `x` be the mean of the two
    //! energies less `ω̃`. The quotients are `1/(x ∓ h) = (x ± h)/(x² − h²)`, made of `1/(x² − h²)` and `x/(x² − h²)`.
    //! `|x| ≥ 3h`, so neither the denominator nor the sums of the two cancel.
    //!
    //! Lines of the nest: 6, 7.

    use super::any_poles::tile as any;
    use super::v12::{RealPole, SHAPE, flushed};
    use super::*;

    version! {
        id: "v13", change: "energies in constant memory, one reciprocal for two energies",
        source: "docs/versions.md", kernels: [REAL, ANY], beyond: &v12::GPU, capability: (7, 0)
    }

    pub const REAL: Kernel = Kernel {
        energies_from: EnergiesFrom::ConstantMemory,
        entries: entries!(tiled real, SHAPE, term: gpp_v13_real),
        ..v12::REAL
    };

    /// For any poles, by v10's formulas.
    pub const ANY: Kernel =
        Kernel { poles: Poles::Any, entries: entries!(tiled any, SHAPE, term: gpp_v13), ..REAL };

    #[inline(always)]
    unsafe fn real<const NW: usize>(a: &Arrays, place: TilePlace) -> ThreadSums<NW> {
        sums(a, StagedPairs::<2, 8, 1, false>(place))
    }

    /// The sums of a thread's two pairs, whose bands are read in either way.
    #[inline(always)]
    pub unsafe fn sums<const NW: usize>(a: &Arrays, pairs: impl PairSource<2>) -> ThreadSums<NW> {
        let plan = &a.plan;
        let poles: [RealPole; 2] = from_fn(|t| RealPole::from_wtilde(a, pairs.wtilde(a, t)));
        let weight = |t: usize| pairs.weight(a, t) * poles[t].wtilde;
        let (mut q, mut y) = ([[ZERO; NW]; 2], [[ZERO; NW]; 2]);
        let mut sums = ThreadSums::zero();

        pairs.bands(a, 0..plan.plain, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                let both = w.map(|w| poles[t].quotients(w));
                add(&mut y[t], m, both.map(|(y, _)| y));
                add(&mut q[t], m, both.map(|(_, q)| q));
            });
        });
        pairs.bands(a, plan.plain..plan.occupied, |n, band| {
            let (w, occ): ([f64; NW], f64) = (plan.energies(n), a.occ(n));
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let (one, quotient) = poles[t].cut_quotients(a, w[e]);
                    add(from_mut(&mut y[t][e]), m, [one * occ]);
                    add(from_mut(&mut q[t][e]), m, [quotient]);
                });
            });
        });
        each::<2>(|t| {
            let omega2 = weight(t) * poles[t].wtilde;
            each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
        });
        pairs.bands(a, plan.occupied..plan.far_begin, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                add(&mut q[t], band.matngmatmgp(t), w.map(|w| poles[t].quotient(w)));
            });
        });
        let mut far = [[ZERO; NW]; 2];
        pairs.bands(a, plan.far_begin..a.nbands, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                add(&mut far[t], band.matngmatmgp(t), self::far(w, poles[t].wtilde, plan));
            });
        });
        each::<2>(|t| {
            let half = weight(t) * 0.5;
            let q = joined(q[t].map(flushed), far[t], plan);
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * q[e]);
        });
        sums
    }

    /// What `M` of a far band is multiplied with: `1/(x² − h²)` and `x/(x² − h²)`, then `1/(w − ω̃)` for a third
    /// energy; or `1/(w − ω̃)` for a single one.
    #[inline(always)]
    pub fn far<const NW: usize>(w: [f64; NW], wtilde: f64, plan: &Plan) -> [f64; NW] {
        let c = -wtilde;
        let single = |e: usize| reciprocal_unless(false, w[e] + c);
        if NW == 1 {
            return [single(0); NW];
        }
        let x = w[0] + (c + plan.half);
        let one = reciprocal_unless(false, x * x - plan.square);
        from_fn(|e| match e {
            0 => one,
            1 => x * one,
            _ => single(e),
        })
    }

    /// The sums of `M·q` over all bands, from those over far ones of `M` times [`far`] and those over the others.
    #[inline(always)]
    pub fn joined<const NW: usize>(
        q: [Complex64; NW],
        far: [Complex64; NW],
        plan: &Plan,
    ) -> [Complex64; NW] {
        if NW == 1 {
            return from_fn(|e| q[e] + far[e]);
        }
        let (one, x) = (far[0] * plan.half, far[1 % NW]);
        from_fn(|e| {
            q[e] + match e {
                0 => x + one,
                1 => x - one,
                _ => far[e],
            }
        })
    }
}

pub mod any_poles {
    //! What v13 and v14 do for any poles: v10's formulas for two `igp` a thread, with energies as operands.

    use super::v10::{ComplexPole, factors, joined};
    use super::*;

    #[inline(always)]
    pub unsafe fn tile<const NW: usize>(a: &Arrays, place: TilePlace) -> ThreadSums<NW> {
        let (plan, pairs) = (&a.plan, StagedPairs::<2, 8, 1, false>(place));
        let poles: [ComplexPole; 2] = from_fn(|t| ComplexPole::from_wtilde(a, pairs.wtilde(a, t)));
        let (mut q, mut y) = ([[[ZERO; 2]; NW]; 2], [[[ZERO; 2]; NW]; 2]);
        let mut sums = ThreadSums::zero();

        pairs.bands(a, 0..plan.plain, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let [of_q, of_y] = poles[t].quotients(w[e]);
                    add(&mut q[t][e], m, of_q);
                    add(&mut y[t][e], m, of_y);
                });
            });
        });
        if plan.plain < plan.occupied {
            pairs.bands(a, plan.plain..plan.occupied, |n, band| {
                let (w, occ): ([f64; NW], f64) = (plan.energies(n), a.occ(n));
                each::<2>(|t| {
                    let m = band.matngmatmgp(t);
                    each::<NW>(|e| {
                        let ([of_q, of_y], cut) = poles[t].cut_quotients(a, w[e]);
                        add(&mut q[t][e], m, of_q);
                        add(&mut y[t][e], m * select_unpredictable(cut, 0.0, occ), of_y);
                    });
                });
            });
        }
        each::<2>(|t| {
            let (wtilde, half) = factors(a, pairs, t);
            let half = half * select_unpredictable(plan.is_small(wtilde), 0.0, 1.0);
            each::<NW>(|e| sums.asx[e] = sums.asx[e] - half * joined(y[t][e], wtilde.im));
        });
        pairs.bands(a, plan.occupied..plan.far_begin, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| add(&mut q[t][e], m, poles[t].quotient(w[e])));
            });
        });
        pairs.bands(a, plan.far_begin..a.nbands, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| add(&mut q[t][e], m, poles[t].far_quotient(w[e])));
            });
        });
        each::<2>(|t| {
            let (wtilde, half) = factors(a, pairs, t);
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * joined(q[t][e], wtilde.im));
        });
        sums
    }
}

pub mod v14 {
    //! v14: lists of the pairs that have terms, static pairs summed separately.
    //!
    //! A pair whose ω̃ or `eps` is zero has no terms, but v13 still computes it. Here each lane has a list of the
    //! `igp` that it sums. The block copies `aqsm` of the range of `igp` in these lists straight to shared memory
    //! (`cp.async`, which needs compute capability 8.0), and each lane reads the `igp` of its list from there. The
    //! arithmetic is v13's, except for *static* pairs (pole 1e12 eV), which have separate lists and no quotients.
    //! BerkeleyGW sets invalid modes to zero or to 1e12 eV.
    //!
    //! Complex poles, of which none is static, are summed as in v13.
    //!
    //! Lines of the nest: 2, 5.

    use super::any_poles::tile as any;
    use super::v12::SHAPE;
    use super::v13::sums;
    use super::*;

    version! {
        id: "v14", change: "lists of the pairs that have terms, static pairs summed separately",
        source: "docs/versions.md", kernels: [REAL, ANY], beyond: &v12::GPU, capability: (8, 0)
    }

    pub const REAL: Kernel = Kernel {
        loops: Loops::Listed,
        layout: Layout::Listed,
        entries: entries!(listed sums: gpp_v14_real),
        ..v13::REAL
    };

    pub const ANY: Kernel =
        Kernel { entries: entries!(tiled any, SHAPE, term: gpp_v14), ..v13::ANY };
}
