//! Σ alone in single precision.
//!
//! All versions sum as v15 does, but quotients, products and sums over bands are of FP32, of [copies](crate::single) of the
//! matrix elements. A pair's sum is multiplied with `½·vcoul·eps·ω̃` after the loops, in FP64. Pairs that FP32 cannot sum are
//! fallback pairs.

use core::array::from_fn;
use core::hint::select_unpredictable;
use core::marker::PhantomData;
use core::ops::Range;

use num_complex::{Complex32, Complex64};

use crate::arrays::{Arrays, Layout};
use crate::formula::{ThreadSums, term};
use crate::intrinsics::{single_reciprocal, sqrt};
use crate::kernel::{Kernel, Loops, Precision, entries};
use crate::plan::{LARGEST_SINGLE, Poles, two_floats};
use crate::single::{BandStep, SHAPE, SingleCopy, SingleElements, SinglePairs, TILE, unrolled};
use crate::threads::each;
use crate::tiling::TilePlace;
use crate::versions::{v12, v13};

/// A sum of sums in FP32.
pub trait Total: Copy {
    const ZERO: Self;
    fn add(&mut self, part: Complex32);
    fn value(self) -> Complex64;
}

impl Total for Complex64 {
    const ZERO: Complex64 = Complex64::new(0.0, 0.0);

    #[inline(always)]
    fn add(&mut self, part: Complex32) {
        *self = *self + in_double(part);
    }

    #[inline(always)]
    fn value(self) -> Complex64 {
        self
    }
}

/// A sum of FP32 and what it has too much (Kahan).
#[derive(Clone, Copy)]
pub struct Compensated {
    sum: Complex32,
    excess: Complex32,
}

impl Total for Compensated {
    const ZERO: Compensated = Compensated { sum: ZERO, excess: ZERO };

    #[inline(always)]
    fn add(&mut self, part: Complex32) {
        let added = part - self.excess;
        let sum = self.sum + added;
        self.excess = (sum - self.sum) - added;
        self.sum = sum;
    }

    #[inline(always)]
    fn value(self) -> Complex64 {
        in_double(self.sum) - in_double(self.excess)
    }
}

const ZERO: Complex32 = Complex32::new(0.0, 0.0);

#[inline(always)]
fn in_double(x: Complex32) -> Complex64 {
    Complex64::new(x.re.into(), x.im.into())
}

/// An occupation without its last bits, by integers: a loop in which an FP64 number is converted has an instruction of FP64.
#[inline(always)]
unsafe fn occupation(a: &Arrays, n: u32) -> f32 {
    let bits = *a.occ.add(n as usize).cast::<u64>();
    let exponents = (1023 - 127) << 52;
    let is_zero = bits < exponents + (1 << 52);
    f32::from_bits(if is_zero { 0 } else { ((bits - exponents) >> 29) as u32 })
}

/// `1/x`, or zero if `unless` holds.
#[inline(always)]
fn reciprocal_unless(unless: bool, x: f32) -> f32 {
    select_unpredictable(unless, 0.0, single_reciprocal(x))
}

/// Adds `m` times a real factor to each of `N` sums.
#[inline(always)]
fn add<const N: usize>(sums: &mut [Complex32; N], m: Complex32, factors: [f32; N]) {
    each::<N>(|at| {
        let (sum, factor) = (&mut sums[at], factors[at]);
        sum.re = sum.re + m.re * factor;
        sum.im = sum.im + m.im * factor;
    });
}

/// Largest `|w − ω̃|²` of the second branch.
#[inline(always)]
fn near2(a: &Arrays, wtilde: Complex64) -> f64 {
    let (first, second) = (a.limits.limittwo, wtilde.norm_sqr() / a.limits.limitone);
    if first > second { first } else { second }
}

/// A class of bands: see [`crate::plan`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    PlainFar,
    Plain,
    Occupied,
    Empty,
    Far,
}

/// A class as a type.
pub trait OfClass {
    const CLASS: Class;
}

macro_rules! classes {
    ($($name:ident)+) => {$(
        pub struct $name;

        impl OfClass for $name {
            const CLASS: Class = Class::$name;
        }
    )+};
}

classes! { PlainFar Plain Occupied Empty Far }

/// A pole, and what loops over the bands of a class do with it.
pub trait Pole<const NW: usize>: Copy {
    /// Sums of `M` times factors.
    type Sums: Copy;
    const ZERO: Self::Sums;

    fn new(a: &Arrays, wtilde: Complex64) -> Self;

    /// Adds band `n`, of the energies `w` of two floats each, of which the second ones count if it `IS_EXACT`.
    unsafe fn add<C: OfClass, const IS_EXACT: bool>(
        &self,
        of: (&Arrays, u32),
        w: [[f32; 2]; NW],
        m: Complex32,
        sums: &mut Self::Sums,
    );

    /// The sums of `M` times each energy's quotient.
    fn joined<C: OfClass>(&self, sums: Self::Sums) -> [Complex32; NW];
}

/// Bands whose sum is in FP32 before it is added to that of all, if the differences are exact.
pub const BANDS: u32 = 64;

/// A thread's tile, and the sums of its pairs over bands of a class.
struct Tile<'a, const NW: usize, P: Pole<NW>, T, C, const IS_EXACT: bool> {
    a: &'a Arrays,
    poles: &'a [P; TILE],
    totals: &'a mut [[T; NW]; TILE],
    /// Of a part.
    sums: [P::Sums; TILE],
    of: PhantomData<C>,
}

impl<const NW: usize, P: Pole<NW>, T: Total, C: OfClass, const IS_EXACT: bool> BandStep
    for Tile<'_, NW, P, T, C, IS_EXACT>
{
    const PART: u32 = if IS_EXACT { BANDS } else { 1 << 31 };

    #[inline(always)]
    unsafe fn step(&mut self, n: u32, band: &SingleElements) {
        let w = self.a.plan.single_energies(n);
        unrolled! { t => {
            let m = band.matngmatmgp(t);
            self.poles[t].add::<C, IS_EXACT>((self.a, n), w, m, &mut self.sums[t]);
        } }
    }

    #[inline(always)]
    fn end(&mut self) {
        unrolled! { t => {
            let joined = self.poles[t].joined::<C>(self.sums[t]);
            each::<NW>(|e| self.totals[t][e].add(joined[e]));
            self.sums[t] = P::ZERO;
        } }
    }
}

/// Adds the bands of a class to the sums of a thread's tile.
#[inline(always)]
unsafe fn add_class<const NW: usize, P: Pole<NW>, T: Total, C: OfClass, const IS_EXACT: bool>(
    a: &Arrays,
    place: TilePlace,
    range: Range<u32>,
    (poles, totals): (&[P; TILE], &mut [[T; NW]; TILE]),
) {
    let sums = [P::ZERO; TILE];
    let mut tile = Tile::<NW, P, T, C, IS_EXACT> { a, poles, totals, sums, of: PhantomData };
    SinglePairs(place).bands(a, range, &mut tile);
}

/// The sums of a thread's tile. It `IS_EXACT` if `w ∓ ω̃` is of two floats each.
#[inline(always)]
unsafe fn tile<const NW: usize, P: Pole<NW>, T: Total, const IS_EXACT: bool>(
    a: &Arrays,
    place: TilePlace,
) -> ThreadSums<NW> {
    let plan = &a.plan;
    // One that no energy is near in the place of none.
    let poles = from_fn(|t| match place.pair(a, t) {
        Some((ig, igp)) => P::new(a, a.wtilde(ig, igp)),
        None => P::new(a, Complex64::new(LARGEST_SINGLE, 0.0)),
    });
    let mut totals = [[T::ZERO; NW]; TILE];
    macro_rules! add_class {
        ($class:ident, $range:expr) => {
            add_class::<NW, P, T, $class, IS_EXACT>(a, place, $range, (&poles, &mut totals));
        };
    }
    add_class!(PlainFar, 0..plan.plain_far);
    add_class!(Plain, plan.plain_far..plan.plain);
    add_class!(Occupied, plan.plain..plan.occupied);
    add_class!(Empty, plan.occupied..plan.far_begin);
    add_class!(Far, plan.far_begin..a.nbands);

    let mut sums = ThreadSums::zero();
    let [of_aqsn, of_aqsm] = [SingleCopy::of_aqsn(a), SingleCopy::of_aqsm_local(a)];
    unrolled! { t => {
        if let Some((ig, igp)) = place.pair(a, t) {
            let scale = of_aqsn.scale(ig) * of_aqsm.scale(igp);
            let weight = a.eps(ig, igp) * (a.vcoul_loc(igp) * 0.5) * a.wtilde(ig, igp);
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + weight * (totals[t][e].value() * scale));
        }
    } }
    sums
}

/// What the loops need of a real pole.
#[derive(Clone, Copy)]
pub struct RealPole {
    wtilde: [f32; 2],
    /// The largest `|w − ω̃|` of the second branch.
    near: f32,
    /// Of the plan.
    half: f32,
    inverse_sexcut: f32,
}

impl RealPole {
    /// `w − ω̃`.
    #[inline(always)]
    fn difference<const IS_EXACT: bool>(&self, w: [f32; 2]) -> f32 {
        let upper = w[0] - self.wtilde[0];
        if IS_EXACT { upper + (w[1] - self.wtilde[1]) } else { upper }
    }

    /// `w + ω̃`.
    #[inline(always)]
    fn sum<const IS_EXACT: bool>(&self, w: [f32; 2]) -> f32 {
        let upper = w[0] + self.wtilde[0];
        if IS_EXACT { upper + (w[1] + self.wtilde[1]) } else { upper }
    }

    /// `q`, zero near the pole.
    #[inline(always)]
    fn quotient<const IS_EXACT: bool>(&self, w: [f32; 2]) -> f32 {
        let d = self.difference::<IS_EXACT>(w);
        reciprocal_unless(d.abs() <= self.near, d)
    }

    /// `(1 − occ)·q + occ·p`, or `q` if the cutoff takes `ssx`: `((1 − occ)·s + occ·d)/(d·s)`, near the pole `occ/s`.
    #[inline(always)]
    fn of_occupied<const IS_EXACT: bool>(&self, w: [f32; 2], occ: f32) -> f32 {
        let (d, s) = (self.difference::<IS_EXACT>(w), self.sum::<IS_EXACT>(w));
        let (z, near) = (d * s, d.abs() <= self.near);
        let bound = self.wtilde[0] * self.wtilde[0] * self.inverse_sexcut;
        let cut = w[0] < 0.0 && z.abs() < bound;
        let both = select_unpredictable(cut, 1.0, (1.0 - occ) * s + occ * d);
        let share = select_unpredictable(cut, 0.0, occ);
        let numerator = select_unpredictable(near, share, both);
        let denominator = select_unpredictable(near, s, z);
        numerator * single_reciprocal(select_unpredictable(cut, d, denominator))
    }

    /// What `M` of a far band is multiplied with for `1/(w + c)`, as in v15: of two energies with the mean `x − c`
    /// `1/(x² − h²)` and `x/(x² − h²)`, of three `R = 1/(x(x² − d²))`, `x·R` and `x²·R`.
    #[inline(always)]
    fn far<const NW: usize>(&self, w: [[f32; 2]; NW], c: f32) -> [f32; NW] {
        if NW == 1 {
            return [single_reciprocal(w[0][0] + c); NW];
        }
        let (x, factor) = match NW {
            2 => (w[0][0] + (c + self.half), 1.0),
            _ => (w[1][0] + c, 4.0),
        };
        let difference = x * x - factor * (self.half * self.half);
        let one = single_reciprocal(if NW == 2 { difference } else { x * difference });
        from_fn(|e| match e {
            0 => one,
            1 => x * one,
            _ => x * (x * one),
        })
    }
}

impl<const NW: usize> Pole<NW> for RealPole {
    type Sums = [Complex32; NW];
    const ZERO: [Complex32; NW] = [ZERO; NW];

    #[inline(always)]
    fn new(a: &Arrays, wtilde: Complex64) -> RealPole {
        RealPole {
            wtilde: two_floats(wtilde.re),
            near: sqrt(near2(a, wtilde)) as f32,
            half: a.plan.half as f32,
            inverse_sexcut: (1.0 / a.limits.sexcut) as f32,
        }
    }

    #[inline(always)]
    unsafe fn add<C: OfClass, const IS_EXACT: bool>(
        &self,
        (a, n): (&Arrays, u32),
        w: [[f32; 2]; NW],
        m: Complex32,
        sums: &mut [Complex32; NW],
    ) {
        let factors = match C::CLASS {
            Class::PlainFar => self.far(w, self.wtilde[0]),
            Class::Plain => w.map(|w| single_reciprocal(self.sum::<IS_EXACT>(w))),
            Class::Occupied => {
                let occ = occupation(a, n);
                w.map(|w| self.of_occupied::<IS_EXACT>(w, occ))
            }
            Class::Empty => w.map(|w| self.quotient::<IS_EXACT>(w)),
            Class::Far => self.far(w, -self.wtilde[0]),
        };
        add(sums, m, factors);
    }

    #[inline(always)]
    fn joined<C: OfClass>(&self, sums: [Complex32; NW]) -> [Complex32; NW] {
        if NW == 1 || !matches!(C::CLASS, Class::PlainFar | Class::Far) {
            return sums;
        }
        let (one, x, square) = (sums[0], sums[1 % NW], sums[2 % NW]);
        let (h, d) = (self.half, 2.0 * self.half);
        match NW {
            2 => from_fn(|e| if e == 0 { x + one * h } else { x - one * h }),
            _ => from_fn(|e| match e {
                0 => square + x * d,
                1 => square - one * (d * d),
                _ => square - x * d,
            }),
        }
    }
}

/// What the loops need of any pole, in units of a power of two, with which its larger part is between 1 and 2: fourth powers
/// of sums of it and an energy are in the range of FP32.
#[derive(Clone, Copy)]
pub struct ComplexPole {
    /// The inverse of the unit.
    scale: f32,
    re: [f32; 2],
    im: f32,
    /// The largest `|w − ω̃|²` of the second branch.
    near2: f32,
    /// Of the plan.
    half: f32,
    inverse_sexcut: f32,
}

/// `Im f / Im ω̃` and `Re f` of a factor `f`, in the pole's unit.
type Factor = [f32; 2];

impl ComplexPole {
    /// `w − Re ω̃`.
    #[inline(always)]
    fn difference<const IS_EXACT: bool>(&self, w: [f32; 2]) -> f32 {
        let upper = w[0] * self.scale - self.re[0];
        if IS_EXACT { upper + (w[1] * self.scale - self.re[1]) } else { upper }
    }

    /// `w + Re ω̃`.
    #[inline(always)]
    fn sum<const IS_EXACT: bool>(&self, w: [f32; 2]) -> f32 {
        let upper = w[0] * self.scale + self.re[0];
        if IS_EXACT { upper + (w[1] * self.scale + self.re[1]) } else { upper }
    }

    /// Of `1/(x ± i·Im ω̃)`, zero if it is `near`.
    #[inline(always)]
    fn factor(&self, x: f32, near: f32) -> Factor {
        let square = x * x + self.im * self.im;
        let one = reciprocal_unless(square <= near, square);
        [one, x * one]
    }

    /// `(1 − occ)·q + occ·p`, or `q` if the cutoff takes `ssx`, with the sign of `p`'s imaginary part.
    #[inline(always)]
    fn of_occupied<const IS_EXACT: bool>(&self, w: [f32; 2], occ: f32) -> Factor {
        let im2 = self.im * self.im;
        let size2 = self.re[0] * self.re[0] + im2;
        let bound = size2 * self.inverse_sexcut;
        let (d, s) = (self.difference::<IS_EXACT>(w), self.sum::<IS_EXACT>(w));
        let (d2, s2) = (d * d + im2, s * s + im2);
        let near = d2 <= self.near2;
        let cut = w[0] < 0.0 && d2 * s2 < bound * bound;
        let share = select_unpredictable(cut, 0.0, occ);
        let q = (1.0 - share) * reciprocal_unless(near, d2);
        let p = share * reciprocal_unless(cut, s2);
        [p - q, s * p + d * q]
    }

    /// Of `1/(w ± ω̃)` as `sign` has it, neither of them near: as v15's of two energies, of another one its own.
    #[inline(always)]
    fn far<const NW: usize>(&self, w: [[f32; 2]; NW], sign: f32) -> [Factor; NW] {
        let re = sign * self.re[0];
        let own = |e: usize| {
            let x = w[e][0] * self.scale + re;
            let one = single_reciprocal(x * x + self.im * self.im);
            [one, x * one]
        };
        if NW == 1 {
            return [own(0); NW];
        }
        let x = w[0][0] * self.scale + (re + self.half);
        let (h2, im2) = (self.half * self.half, self.im * self.im);
        let y = x * x + (im2 - h2);
        let one = single_reciprocal(y * y + 4.0 * h2 * im2);
        let y_one = y * one;
        from_fn(|e| match e {
            0 => [one, x * one],
            1 => [y_one, x * y_one],
            _ => own(e),
        })
    }

    /// The sums of `M` times each energy's own factor, from those of `M` times [`ComplexPole::far`].
    #[inline(always)]
    fn own<const NW: usize>(&self, far: [[Complex32; 2]; NW]) -> [[Complex32; 2]; NW] {
        let ([one, x], [y, re]) = (far[0], far[1 % NW]);
        let (h, h2) = (self.half, self.half * self.half);
        let (factor, of_factor) = (y + one * (2.0 * h2), x * (2.0 * h));
        let of_re = y * h - one * (2.0 * h * (self.im * self.im));
        from_fn(|e| match e {
            0 => [factor + of_factor, re + of_re],
            1 => [factor - of_factor, re - of_re],
            _ => far[e],
        })
    }
}

impl<const NW: usize> Pole<NW> for ComplexPole {
    type Sums = [[Complex32; 2]; NW];
    const ZERO: [[Complex32; 2]; NW] = [[ZERO; 2]; NW];

    #[inline(always)]
    fn new(a: &Arrays, wtilde: Complex64) -> ComplexPole {
        let (re, im) = (wtilde.re.abs(), wtilde.im.abs());
        let exponent = if re > im { re } else { im }.to_bits() >> 52;
        let scale = f64::from_bits(((2 * 1023 - exponent) & 2047) << 52);
        ComplexPole {
            scale: scale as f32,
            re: two_floats(wtilde.re * scale),
            im: (wtilde.im * scale) as f32,
            near2: (near2(a, wtilde) * (scale * scale)) as f32,
            half: (a.plan.half * scale) as f32,
            inverse_sexcut: (1.0 / a.limits.sexcut) as f32,
        }
    }

    #[inline(always)]
    unsafe fn add<C: OfClass, const IS_EXACT: bool>(
        &self,
        (a, n): (&Arrays, u32),
        w: [[f32; 2]; NW],
        m: Complex32,
        sums: &mut [[Complex32; 2]; NW],
    ) {
        let factors = match C::CLASS {
            Class::PlainFar => self.far(w, 1.0),
            Class::Plain => w.map(|w| self.factor(self.sum::<IS_EXACT>(w), -1.0)),
            Class::Occupied => {
                let occ = occupation(a, n);
                w.map(|w| self.of_occupied::<IS_EXACT>(w, occ))
            }
            Class::Empty => w.map(|w| self.factor(self.difference::<IS_EXACT>(w), self.near2)),
            Class::Far => self.far(w, -1.0),
        };
        each::<NW>(|e| add(&mut sums[e], m, factors[e]));
    }

    #[inline(always)]
    fn joined<C: OfClass>(&self, sums: [[Complex32; 2]; NW]) -> [Complex32; NW] {
        let is_far = matches!(C::CLASS, Class::PlainFar | Class::Far);
        let sums = if is_far && NW > 1 { self.own(sums) } else { sums };
        // That of q has the sign of the pole's imaginary part.
        let im = if matches!(C::CLASS, Class::Empty | Class::Far) { self.im } else { -self.im };
        sums.map(|[of_im, of_re]| {
            let sum = Complex32::new(of_re.re - im * of_im.im, of_re.im + im * of_im.re);
            sum * self.scale
        })
    }
}

/// A version and its kernels: how it adds up, then the symbols for real poles and for any.
macro_rules! in_single {
    (
        id: $id:literal, change: $change:literal,
        is_exact: $is_exact:literal, has_heavy: $has_heavy:literal, total: $total:ty,
        real: $real:ident, any: $any:ident
    ) => {
        version! {
            id: $id, change: $change, source: "docs/versions.md", kernels: [REAL, ANY],
            beyond: &v12::GPU, capability: (8, 0)
        }

        pub const REAL: Kernel = Kernel {
            precision: Precision::Single { is_exact: $is_exact, has_heavy: $has_heavy },
            is_sigma_alone: true,
            layout: Layout::Single,
            loops: Loops::Tiled(SHAPE),
            threads: SHAPE.threads(),
            max_registers: Some(128),
            entries: entries!(
                tiled super::tile::<NW, RealPole, $total, $is_exact>, SHAPE, term: $real
            ),
            ..v13::REAL
        };

        pub const ANY: Kernel = Kernel {
            poles: Poles::AnySize,
            entries: entries!(
                tiled super::tile::<NW, ComplexPole, $total, $is_exact>, SHAPE, term: $any
            ),
            ..REAL
        };
    };
}

pub mod s1 {
    //! s1: v15 in single precision.
    //!
    //! FP32 has 24 bits, a rounding of 6e-8. Each factor of a term loses a few of these, and a sum over bands one in each.
    //! In Σ the roundings of millions of pairs average out; those of a pair that holds much of Σ do not. What is lost for
    //! good is `w − ω̃` near a pole: the difference of two rounded numbers of 20 eV is off by 1e-6 eV, so at `gamma` 0.5 a
    //! quotient is off by 30 roundings.
    //!
    //! FP32 has twice as many lanes as FP64 on an H100 and 64 times as many on other cards, half as many bytes to copy, and
    //! numbers that take one register: a thread has four `igp` for any poles. `rcp.approx.ftz.f32` is one instruction and right to
    //! 1.65 roundings; it needs no correction.
    //!
    //! Lines of the nest: 5, 6, 7, 8, 10.

    use super::*;

    in_single! {
        id: "s1", change: "v15 in single precision",
        is_exact: false, has_heavy: false, total: Complex64,
        real: gpp_s1_real, any: gpp_s1
    }
}

pub mod s2 {
    //! s2: w and ω̃ as two floats each, sums in FP64 every 64 bands.
    //!
    //! An energy and a pole are a float and what it lacks, another float: `w − ω̃ = (w₁ − ω̃₁) + (w₂ − ω̃₂)`. Near a pole the
    //! first difference is exact, and the second one has what rounding took from both: three additions instead of
    //! one, in the few bands that a pole may be near.
    //!
    //! A sum of `n` terms in FP32 may lose `n` roundings. Every 64 bands it is added to one of FP64. The loop over the stages
    //! of so many bands ends for that, while the copies of the next ones go on: a branch within it would take 9 % more time.
    //!
    //! Lines of the nest: 6, 10.

    use super::*;

    in_single! {
        id: "s2", change: "w and ω̃ as two floats each, sums in FP64 every 64 bands",
        is_exact: true, has_heavy: false, total: Complex64,
        real: gpp_s2_real, any: gpp_s2
    }
}

pub mod s3 {
    //! s3: the heaviest pairs in FP64.
    //!
    //! One pair, that of G = G′ = 0, may hold nine tenths of Σ|terms|, and one pair in a hundred more than half. Their
    //! roundings are what is left of the error. So they join the fallback pairs, which blocks of their own sum in FP64.
    //! The loops are s2's.
    //!
    //! Lines of the nest: 2, 3.

    use super::*;

    in_single! {
        id: "s3", change: "the heaviest pairs in FP64",
        is_exact: true, has_heavy: true, total: Complex64,
        real: gpp_s3_real, any: gpp_s3
    }
}

pub mod s4 {
    //! s4: sums as two floats: no FP64 in the loops but for heavy pairs.
    //!
    //! Most graphics cards have 64 times as many lanes for FP32 as for FP64, and one addition of FP64 takes as long as 64 of
    //! FP32. So the sums of 64 bands are added up in FP32 too, each with the part that the sum before it lost (Kahan's sum):
    //! four additions for each, and the result is as good as that in FP64. What is left in FP64 is a pair's last product, after the
    //! loops, and the fallback pairs.
    //!
    //! Lines of the nest: 10.

    use super::*;

    in_single! {
        id: "s4", change: "sums as two floats: no FP64 in the loops but for heavy pairs",
        is_exact: true, has_heavy: true, total: Compensated,
        real: gpp_s4_real, any: gpp_s4
    }
}
