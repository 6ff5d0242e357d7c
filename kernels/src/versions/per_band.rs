//! CH of each band at one energy, and the static CH of each band: of no series, since they are other sums.
//!
//! ```text
//! CH(n) = ½ Σ vcoul(igp) · conj(aqsm(igp,n)) · Σ sch(ig,igp,n) · aqsn(ig,n)
//! ```
//!
//! with `sch = −eps` for the static CH. The threads of a warp have different bands and the same pairs, so that all of them
//! take the same branch. A block brings eight `ig` of 32 `igp` and of 64 bands to shared memory, and prepares the factors of
//! each pair there. With `c = ω̃·eps` and a real pole, `sch·aqsn` is `(1 + i·t)·aqsn / d` for `t = Im c / Re c` and
//! `d = (w − ω̃) / Re c`: eight fused operations. Pairs with a pole near the energy of a block's band are summed by the
//! definition.

use core::array::from_fn;

use num_complex::Complex64;

use crate::arrays::{Arrays, Layout, Planned};
use crate::formula::{Pair, branches, plus_product, reciprocal_unless};
use crate::intrinsics::{WARP, load, sqrt, uniform};
use crate::kernel::{Entry, GpuVersion, Kernel, Label, Loops};
use crate::plan::{EnergiesFrom, Poles};
use crate::threads::{each, split};
use crate::tiling::per_band::{
    BANDS, BANDS_OF_THREAD, CHUNK, IGP, STAGE, THREADS, TILE, WARPS, grid,
};

pub static CH_VERSION: Label = Label {
    id: "ch_of_bands",
    change: "CH of each band at one energy, in addition to the sums of a version",
    source: "docs/library.md",
};

pub static STATIC_CH_VERSION: Label = Label {
    id: "static_ch",
    change: "the static CH of each band, in addition to the sums of a version",
    source: "docs/library.md",
};

pub static CH: GpuVersion = GpuVersion::new(&CH_VERSION, &[CH_KERNEL]);

pub static STATIC_CH: GpuVersion = GpuVersion::new(&STATIC_CH_VERSION, &[STATIC_CH_KERNEL]);

const CH_KERNEL: Kernel = Kernel {
    poles: Poles::Unread,
    max_registers: Some(128),
    entries: &[entry!(gpp_ch_of_bands, false)],
    ..Kernel::new(Loops::PerBand, Layout::Planned, THREADS)
};

const STATIC_CH_KERNEL: Kernel = Kernel {
    energies_from: EnergiesFrom::Nowhere,
    entries: &[entry!(gpp_static_ch, true)],
    ..CH_KERNEL
};

/// An entry, for the static CH or not.
macro_rules! entry {
    ($symbol:ident, $is_static:literal) => {{
        $crate::arrays::list! { planned: entry [
            $symbol $crate::arrays::PlannedArguments, |arguments| {
                gpu::block::<$is_static>(&arguments.arrays(core::ptr::null()), arguments.partials)
            }
        ] }

        Entry {
            energies: 1,
            symbol: stringify!($symbol),
            max_registers: None,
            #[cfg(not(target_arch = "nvptx64"))]
            body: |arguments, constant, block, _| {
                // SAFETY: the launch contract.
                unsafe {
                    let arguments = &*arguments.cast::<$crate::arrays::PlannedArguments>();
                    let (a, partials) = (arguments.arrays(constant), arguments.partials);
                    cpu::block::<$is_static>(&a, partials, block);
                }
            },
        }
    }};
}
use entry;

const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// What a block sums, and between which energies its bands are.
#[derive(Clone, Copy)]
struct Block {
    /// The first band.
    n: u32,
    group: u32,
    chunk: u32,
    least: f64,
    largest: f64,
    /// A pole of size `s` is near an energy less than `max(nearest, scale · s)` away.
    nearest: f64,
    scale: f64,
}

/// How a pair is summed: as a real pole, as any pole, or by the definition; not at all if it is none of these.
const REAL: u32 = 1;
const ANY: u32 = 2;
const NEAR: u32 = 4;

/// Of a pair that is not summed, in the place of a pole: what it adds is below [`TINY`].
const NOWHERE: f64 = 1e150;
const TINY: f64 = 1e-140;

/// Factors of a pair, and how it is summed, the last number of the second. Of a real pole `1 / Re c`, `ω̃ / Re c` and `t`; of
/// any pole `ω̃`, then `c` and `c·i·Im ω̃`. For the static CH `−eps`.
type Factors = [Complex64; 4];

impl Block {
    #[inline(always)]
    unsafe fn of<const IS_STATIC: bool>(a: &Arrays, block: u32) -> Block {
        let grid = grid(a.nbands, a.ngpown, a.ncouls);
        let (block, band_block) = split(block, grid.band_blocks);
        let (chunk, group) = split(block, grid.groups);
        let n = band_block * BANDS;
        let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut band = n;
        while !IS_STATIC && band < (n + BANDS).min(a.nbands) {
            let w = a.wx::<Planned>(0, band);
            (least, largest) =
                (if w < least { w } else { least }, if w > largest { w } else { largest });
            band += 1;
        }
        let margin = 1.0 + 1e-12;
        let nearest = sqrt(a.limits.limittwo) * margin;
        let scale = margin / sqrt(a.limits.limitone);
        // `d` loses up to six bits.
        let scale = if scale > 1.0 / 64.0 { scale } else { 1.0 / 64.0 };
        Block { n, group, chunk, least, largest, nearest, scale }
    }

    #[inline(always)]
    fn ig(self, a: &Arrays) -> [u32; 2] {
        [self.chunk * CHUNK, ((self.chunk + 1) * CHUNK).min(a.ncouls)]
    }

    #[inline(always)]
    fn factors<const IS_STATIC: bool>(self, wtilde: Complex64, eps: Complex64) -> Factors {
        if IS_STATIC {
            return [-eps, ZERO, ZERO, ZERO];
        }
        let factors = |kind: u32, first, ratio: f64, last: [Complex64; 2]| {
            [first, Complex64::new(ratio, f64::from_bits(kind.into())), last[0], last[1]]
        };
        let left_out = |kind| factors(kind, Complex64::new(0.0, NOWHERE), 0.0, [ZERO; 2]);
        let c = wtilde * eps;
        if c == ZERO {
            return left_out(0);
        }
        let size = wtilde.re.abs() + wtilde.im.abs();
        let near = if self.scale * size > self.nearest { self.scale * size } else { self.nearest };
        let is_clear = self.largest < wtilde.re - near || wtilde.re + near < self.least;
        let within = |bound: f64| -bound <= self.least && self.largest <= bound;
        let is_moderate = |x: f64| (1e-50..1e50).contains(&x);
        let moderate = is_moderate(size) && is_moderate(c.re.abs() + c.im.abs()) && within(1e75);
        if !is_clear || !moderate {
            return left_out(NEAR);
        }
        if wtilde.im != 0.0 {
            let k = Complex64::new(-wtilde.im * c.im, wtilde.im * c.re);
            return factors(ANY, wtilde, 0.0, [c, k]);
        }
        let least = c.im.abs() * 1e-18;
        let one = reciprocal_unless(false, if c.re.abs() > least { c.re } else { least });
        factors(REAL, Complex64::new(one, wtilde.re * one), c.im * one, [ZERO; 2])
    }
}

#[inline(always)]
fn is_near(factors: &Factors) -> bool {
    factors[1].im.to_bits() as u32 == NEAR
}

/// Where a thread finds what its block has staged.
trait Stage {
    /// Stages the `ig` from this one on. Returns a bit for each pair of the thread that is summed by the definition, `ig`
    /// fastest.
    unsafe fn fill(&mut self, ig: u32) -> u32;

    /// `aqsn` of a staged `ig` and a band of the thread.
    unsafe fn aqsn(&self, ig: u32, which: usize) -> Complex64;

    /// Part `part` of the factors of a staged `ig` and an `igp` of the thread.
    unsafe fn factors(&self, ig: u32, tile: usize, part: usize) -> Complex64;
}

/// What a thread adds to its bands.
#[inline(always)]
unsafe fn sums<const IS_STATIC: bool>(
    a: &Arrays,
    block: Block,
    [warp, lane]: [u32; 2],
    stage: &mut impl Stage,
) -> [Complex64; BANDS_OF_THREAD] {
    let n = |which: usize| (block.n + lane + which as u32 * WARP).min(a.nbands - 1);
    let igp = |t: usize| (block.group * IGP + warp * TILE as u32 + t as u32).min(a.ngpown - 1);
    let w: [f64; BANDS_OF_THREAD] =
        from_fn(|own| if IS_STATIC { 0.0 } else { a.wx::<Planned>(0, n(own)) });
    let half_aqsm = |t: usize, which: usize| {
        let aqsm = load(a.aqsm_local, n(which) * Planned::rows(a.ngpown) + igp(t));
        aqsm.conj() * (0.5 * a.vcoul_loc(igp(t)))
    };
    let (mut sum, mut total) = ([[ZERO; BANDS_OF_THREAD]; TILE], [ZERO; BANDS_OF_THREAD]);
    let [mut ig, end] = block.ig(a);
    while ig < end {
        let mut near = stage.fill(ig);
        for i in 0..STAGE {
            let aqsn: [Complex64; BANDS_OF_THREAD] = from_fn(|own| stage.aqsn(i, own));
            let factors: [[Complex64; 2]; TILE] =
                from_fn(|t| from_fn(|part| stage.factors(i, t, part)));
            if IS_STATIC {
                each::<TILE>(|t| {
                    each::<BANDS_OF_THREAD>(|own| {
                        sum[t][own] = plus_product(sum[t][own], factors[t][0], aqsn[own]);
                    });
                });
                continue;
            }
            let kind = factors.map(|[_, second]| second.im.to_bits() as u32);
            let of_tile = kind[0] | kind[1] | kind[2] | kind[3];
            let real = |sum: &mut [Complex64; BANDS_OF_THREAD], [first, second]: [Complex64; 2]| {
                each::<BANDS_OF_THREAD>(|own| {
                    let (sum, aqsn) = (&mut sum[own], aqsn[own]);
                    let one = reciprocal_unless(false, w[own] * first.re - first.im);
                    sum.re = sum.re + (aqsn.re - second.re * aqsn.im) * one;
                    sum.im = sum.im + (aqsn.im + second.re * aqsn.re) * one;
                });
            };
            let any = |sum: &mut [Complex64; BANDS_OF_THREAD], wtilde: Complex64, t: usize| {
                let [c, k] = from_fn(|part| stage.factors(i, t, 2 + part));
                each::<BANDS_OF_THREAD>(|own| {
                    let d = w[own] - wtilde.re;
                    let one = reciprocal_unless(false, d * d + wtilde.im * wtilde.im);
                    let (re, im) = (c.re * d + k.re, c.im * d + k.im);
                    sum[own] =
                        plus_product(sum[own], Complex64::new(re * one, im * one), aqsn[own]);
                });
            };
            // Without a branch between them the pairs of a thread do not wait for each other.
            if uniform(of_tile & ANY == 0) {
                each::<TILE>(|t| real(&mut sum[t], factors[t]));
            } else if uniform(of_tile & REAL == 0) {
                each::<TILE>(|t| any(&mut sum[t], factors[t][0], t));
            } else {
                each::<TILE>(|t| match uniform(kind[t] == REAL) {
                    true => real(&mut sum[t], factors[t]),
                    false => any(&mut sum[t], factors[t][0], t),
                });
            }
        }
        while near != 0 {
            let bit = near.trailing_zeros();
            let (t, i) = ((bit / STAGE) as usize, bit % STAGE);
            let pair = Pair::load(a, ig + i, igp(t));
            each::<BANDS_OF_THREAD>(|own| {
                let sch = branches(&pair, w[own], &a.limits).sch;
                let term = sch * stage.aqsn(i, own);
                total[own] = plus_product(total[own], half_aqsm(t, own), term);
            });
            near &= near - 1;
        }
        ig += STAGE;
    }
    each::<BANDS_OF_THREAD>(|own| {
        each::<TILE>(|t| {
            let flushed = |x: f64| if x.abs() < TINY { 0.0 } else { x };
            let sum = Complex64::new(flushed(sum[t][own].re), flushed(sum[t][own].im));
            total[own] = plus_product(total[own], half_aqsm(t, own), sum);
        });
    });
    total
}

/// The index of the sum of a band's real or imaginary part.
#[inline(always)]
fn slot(a: &Arrays, block: Block, [n, part]: [u32; 2]) -> usize {
    let grid = grid(a.nbands, a.ngpown, a.ncouls);
    (((2 * n + part) * grid.groups + block.group) * grid.ig_blocks + block.chunk) as usize
}

/// The block's pair of a stage: a thread stages one, and two elements of `aqsn`.
const _: () = assert!(STAGE * IGP == THREADS && STAGE * BANDS == 2 * THREADS);
const _: () = assert!(STAGE * TILE as u32 == WARP);

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::*;
    use crate::intrinsics::{
        barrier, block as block_number, load_shared_pair, store_shared_pair, thread_in_block, vote,
    };

    /// A padded row of `aqsn`, so that threads store without bank conflicts.
    const ROW: u32 = BANDS + 1;
    const AQSN: u32 = 4 * THREADS;
    const ELEMENT: u32 = 16;

    shared_memory! { align 16 gpp_bands: (AQSN + STAGE * ROW) * ELEMENT }

    /// Factors, part by part, and then `aqsn`, in shared memory.
    struct Shared<'a, const IS_STATIC: bool> {
        a: &'a Arrays,
        block: Block,
    }

    impl<const IS_STATIC: bool> Stage for Shared<'_, IS_STATIC> {
        #[inline(always)]
        unsafe fn fill(&mut self, ig: u32) -> u32 {
            let (a, thread) = (self.a, thread_in_block());
            let [ig, end] = [ig + thread % STAGE, self.block.ig(a)[1]];
            let igp = self.block.group * IGP + thread / STAGE;
            let in_range = ig < end && igp < a.ngpown;
            let (ig, igp) = (ig.min(end - 1), igp.min(a.ngpown - 1));
            let n = |more: u32| (self.block.n + thread / STAGE + more).min(a.nbands - 1);
            let [one, other] = [n(0), n(WARP)].map(|n| load(a.aqsn, n * a.ncouls + ig));
            let wtilde = if IS_STATIC { ZERO } else { a.wtilde(ig, igp) };
            let eps = if in_range { a.eps(ig, igp) } else { ZERO };
            let factors = self.block.factors::<IS_STATIC>(wtilde, eps);
            // All have read what was staged before.
            barrier();
            each::<4>(|part| {
                let index = part as u32 * THREADS + thread;
                store_shared_pair(gpp_bands() + index * ELEMENT, factors[part]);
            });
            let index = AQSN + thread % STAGE * ROW + thread / STAGE;
            store_shared_pair(gpp_bands() + index * ELEMENT, one);
            store_shared_pair(gpp_bands() + (index + WARP) * ELEMENT, other);
            barrier();
            // A warp stages its own pairs.
            vote(!IS_STATIC && is_near(&factors))
        }

        #[inline(always)]
        unsafe fn aqsn(&self, ig: u32, which: usize) -> Complex64 {
            let index = AQSN + ig * ROW + thread_in_block() % WARP + which as u32 * WARP;
            load_shared_pair(gpp_bands() + index * ELEMENT)
        }

        #[inline(always)]
        unsafe fn factors(&self, ig: u32, tile: usize, part: usize) -> Complex64 {
            let igp = thread_in_block() / WARP * TILE as u32 + tile as u32;
            let index = part as u32 * THREADS + igp * STAGE + ig;
            load_shared_pair(gpp_bands() + index * ELEMENT)
        }
    }

    #[inline(always)]
    pub unsafe fn block<const IS_STATIC: bool>(a: &Arrays, partials: *mut f64) {
        let block = Block::of::<IS_STATIC>(a, block_number());
        let mut stage = Shared::<IS_STATIC> { a, block };
        let (warp, lane) = (thread_in_block() / WARP, thread_in_block() % WARP);
        let sums = sums::<IS_STATIC>(a, block, [warp, lane], &mut stage);
        barrier();
        each::<BANDS_OF_THREAD>(|own| {
            let index = warp * BANDS + lane + own as u32 * WARP;
            store_shared_pair(gpp_bands() + index * ELEMENT, sums[own]);
        });
        barrier();
        let band = warp * WARP + lane;
        if band < BANDS && block.n + band < a.nbands {
            let mut sum = ZERO;
            for warp in 0..WARPS {
                sum = sum + load_shared_pair(gpp_bands() + (warp * BANDS + band) * ELEMENT);
            }
            *partials.add(slot(a, block, [block.n + band, 0])) = sum.re;
            *partials.add(slot(a, block, [block.n + band, 1])) = sum.im;
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod cpu {
    use super::*;

    /// As in shared memory, computed where it is read. The threads of a block run one after the other.
    struct Computed<'a, const IS_STATIC: bool> {
        a: &'a Arrays,
        block: Block,
        ig: u32,
        place: [u32; 2],
    }

    impl<const IS_STATIC: bool> Stage for Computed<'_, IS_STATIC> {
        unsafe fn fill(&mut self, ig: u32) -> u32 {
            self.ig = ig;
            let is_near = |bit: &u32| {
                let (t, i) = ((bit / STAGE) as usize, bit % STAGE);
                !IS_STATIC && is_near(&from_fn(|part| self.factors(i, t, part)))
            };
            (0..WARP).filter(is_near).fold(0, |near, at| near | 1 << at)
        }

        unsafe fn aqsn(&self, ig: u32, which: usize) -> Complex64 {
            let n = (self.block.n + self.place[1] + which as u32 * WARP).min(self.a.nbands - 1);
            load(self.a.aqsn, n * self.a.ncouls + (self.ig + ig).min(self.a.ncouls - 1))
        }

        unsafe fn factors(&self, ig: u32, tile: usize, part: usize) -> Complex64 {
            let (a, ig) = (self.a, self.ig + ig);
            let igp = self.block.group * IGP + self.place[0] * TILE as u32 + tile as u32;
            if ig >= self.block.ig(a)[1] || igp >= a.ngpown {
                return self.block.factors::<IS_STATIC>(ZERO, ZERO)[part];
            }
            let wtilde = if IS_STATIC { ZERO } else { a.wtilde(ig, igp) };
            self.block.factors::<IS_STATIC>(wtilde, a.eps(ig, igp))[part]
        }
    }

    pub unsafe fn block<const IS_STATIC: bool>(a: &Arrays, partials: *mut f64, block: u32) {
        let block = Block::of::<IS_STATIC>(a, block);
        for lane in 0..WARP {
            let mut total = [ZERO; BANDS_OF_THREAD];
            for warp in 0..WARPS {
                let place = [warp, lane];
                let mut stage = Computed::<IS_STATIC> { a, block, ig: 0, place };
                let sums = sums::<IS_STATIC>(a, block, place, &mut stage);
                total = from_fn(|own| total[own] + sums[own]);
            }
            for (own, total) in total.into_iter().enumerate() {
                let n = block.n + lane + own as u32 * WARP;
                if n < a.nbands {
                    *partials.add(slot(a, block, [n, 0])) = total.re;
                    *partials.add(slot(a, block, [n, 1])) = total.im;
                }
            }
        }
    }
}
