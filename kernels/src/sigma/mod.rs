//! Any number of energies: pairs sorted by their poles into clusters, whose moments give the sums at every energy far
//! from them, as in a fast multipole method.
//!
//! With `c = vcoul·½·ω̃·eps`, `q = 1/(w − ω̃)` if the first branch holds and zero if not, and `p = 1/(w + ω̃)`, both
//! branches are
//!
//! ```text
//! ach(iw) += c·M·q            asx(iw) −= occ·c·M·(q − p)   unless it is cut off
//! ```
//!
//! so `c·M` of a band is summed with weights that are functions of `w` and `ω̃` alone. A *cluster* is a few thousand pairs
//! whose poles lie close together: in an interval of the real axis ([`real`]) or in a disc of the complex plane
//! ([`complex`]). Far from it these functions are an *expansion* in a few polynomials of the pole, and the *moments* of
//! the cluster, `Σ c·M` times each polynomial over its pairs, give its sums at every energy of the band: the *far field*.
//! If the pole itself or a bound between the branches is in the cluster, or too near to it, its pairs are summed one by
//! one by the definition: the *near field*.
//!
//! A block has 64 bands, one a thread, and goes through clusters. It sums their moments; then its threads share out the
//! energies and bands as *targets* and add the far field there, and its warps add the near field. The sums of the targets
//! stay in shared memory to the end of the block.

use core::ops::Range;

use num_complex::Complex64;

use crate::arrays::Limits;
use crate::formula::{Pair, Term, VALUES, term};
use crate::intrinsics::{WARP, load};
use crate::threads::split;

pub mod complex;
pub mod real;

#[cfg(not(target_arch = "nvptx64"))]
pub use cpu::Emulated;
#[cfg(target_arch = "nvptx64")]
pub use gpu::BlockOnGpu;

/// Bands of a block, one for each of its threads.
pub const BANDS: u32 = 64;

/// Values of a target of Σ alone, in place of [`VALUES`].
pub const ALONE: usize = 2;

/// Energies of a launch at most, and targets of a block, with so many values of each.
pub const fn max_energies(values: usize) -> u32 {
    if values == ALONE { 512 } else { 128 }
}

/// Numbers of shared memory for the sums of all targets, with so many values of each.
pub const fn numbers_of_sums(values: usize) -> u32 {
    values as u32 * max_energies(values)
}

/// Pairs of a cluster at most.
pub const PAIRS: u32 = 4096;

/// Pairs whose polynomials are in shared memory at a time, computed one a thread; in two buffers.
pub const STAGE: u32 = BANDS;

/// Pairs whose matrix elements are loaded while those before them are summed.
const PREFETCH: u32 = 4;
const _: () = assert!(STAGE.is_multiple_of(PREFETCH), "a stage is whole prefetches");

/// A pair with its pole: a real one, or any if `W` is complex.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Pole<W = f64> {
    /// ω̃ in eV.
    pub wtilde: W,
    pub ig: u32,
    pub igp: u32,
    /// `δ − ε⁻¹`.
    pub eps: Complex64,
}

/// Neighbouring pairs whose poles lie between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Interval {
    /// Lower bound of the poles in eV; NaN if all energies are in the near field.
    pub low: f64,
    pub high: f64,
    pub begin: u32,
    pub end: u32,
}

impl Interval {
    /// Its middle and half its width.
    #[inline(always)]
    pub fn middle(&self) -> (f64, f64) {
        (0.5 * (self.low + self.high), 0.5 * (self.high - self.low))
    }
}

/// Neighbouring pairs whose poles lie in a disc of the complex plane.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Disc {
    /// z₀ in eV.
    pub middle: Complex64,
    /// r, above zero; NaN if all energies are in the near field.
    pub radius: f64,
    pub begin: u32,
    pub end: u32,
}

/// Passes what is in brackets to a macro, then the arguments of the kernels of clusters.
macro_rules! cluster_arguments {
    ($then:ident $with:tt) => {
        $crate::arrays::$then! { $with {
            /// The pairs, those of a cluster next to each other: with complex poles in the kernel for discs.
            poles: *const $crate::sigma::Pole,
            /// The clusters, discs in the kernel for these.
            clusters: *const $crate::sigma::Interval,
            /// Matrix elements of G, `(rows, ncouls)`, zeros after the last band.
            aqsn: *const num_complex::Complex64,
            /// Matrix elements of G′, `(rows, ngpown)`, as those of G.
            aqsm_local: *const num_complex::Complex64,
            /// Energies `ω(iw) − e(n)` in eV, `(nw, nbands)`.
            wx: *const f64,
            /// Coulomb interaction of each `igp`, `(ngpown)`.
            vcoul_loc: *const f64,
            /// Occupation of each band: 0 to 1, `(nbands)`.
            occ: *const f64,
            /// The blocks' sums, `(blocks, values)`, the values of energy `iw` from `iw · VALUES` on.
            partials: *mut f64,
            /// Clusters.
            count: u32,
            nbands: u32,
            /// Bands with padding, a multiple of [`BANDS`](crate::sigma::BANDS).
            rows: u32,
            nw: u32,
            limittwo: f64,
            limitone: f64,
            sexcut: f64,
        } }
    };
}
pub(crate) use cluster_arguments;

cluster_arguments! { structure [
    /// What kernels of pairs sorted by their poles take.
    ClusterArguments
] }

/// What a cluster adds at an energy far from it, all of its pairs alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarField {
    /// Whether the first branch holds; else `q` is zero.
    pub q: bool,
    /// Whether there is an `ssx`: the band is occupied and nothing is cut off.
    pub ssx: bool,
}

impl FarField {
    /// Of Σ alone, at an energy and for a band of this occupation, from [`Cluster::far_fields`]: above zero a full band has
    /// no `q`.
    #[inline(always)]
    pub fn alone(
        cluster: &impl Cluster,
        far_field: impl Fn(f64, bool) -> Option<FarField>,
        [w, occ]: [f64; 2],
    ) -> Option<FarField> {
        if occ == 1.0 && w >= 0.0 {
            return cluster.is_far(-w).then_some(FarField { q: false, ssx: true });
        }
        far_field(w, occ != 0.0)
    }

    /// The factors of `q` and `p` in Σ, for a band of this occupation.
    #[inline(always)]
    pub fn factors(self, occ: f64) -> [f64; 2] {
        let p = if self.ssx { occ } else { 0.0 };
        [if self.q { 1.0 - p } else { 0.0 }, p]
    }
}

/// Largest distance, in half widths or eV, whose third power is finite.
pub const MAX_DISTANCE: f64 = 1e100;

/// Relative margin for the rounding of what is compared with a bound.
pub const MARGIN: f64 = 1e-12;

/// What a block sums: the arguments, its threads, and the first band of its chunk.
type Chunk<'a, T> = (&'a ClusterArguments, &'a T, u32);

pub trait Cluster: Copy {
    /// Offset of the targets' sums in shared memory, in numbers.
    const SUMS: u32;

    /// Numbers of shared memory of a block, in addition to these sums.
    const OTHERS: u32;

    #[cfg(target_arch = "nvptx64")]
    fn shared_memory<const N: usize>() -> u32;

    unsafe fn pole(a: &ClusterArguments, index: u32) -> Pole<Complex64>;

    fn pairs(&self) -> Range<u32>;

    /// The far field at an energy, of an occupied or an empty band; `None` where the near field is needed.
    fn far_fields(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<FarField>;

    /// Whether the expansion of `1/(w − ω̃)` holds; never without bounds or a radius.
    fn is_far(&self, w: f64) -> bool;

    /// Sums its moments for each band of a chunk, in shared memory.
    unsafe fn sum_moments<T: Team, const N: usize>(&self, chunk: Chunk<T>);

    unsafe fn add_far_field<T: Team>(&self, chunk: Chunk<T>, target: u32);

    /// The sum of `c·M/(w − ω̃)` of the block's band `b`, from its moments.
    unsafe fn quotients<T: Team>(&self, team: &T, b: u32, w: f64) -> Complex64;
}

/// What all threads of a block do together: their share of the clusters, whose sums they store. `team` has [`BANDS`]
/// threads; `N` is [`VALUES`] or [`ALONE`].
#[inline(always)]
pub unsafe fn block<C: Cluster, T: Team, const N: usize>(
    a: &ClusterArguments,
    team: &T,
    block: u32,
    blocks: u32,
) {
    team.all(|thread| {
        each_of(thread, numbers_of_sums(N), |at| team.set(C::SUMS + at, 0.0));
    });
    // Clusters of all chunks of bands, which blocks share out.
    let units = a.rows / BANDS * a.count;
    let mut round = 0;
    loop {
        // For each chunk of bands clusters get ever smaller: who has the largest of a round has the smallest of the next.
        let forwards = round % 2 == 0;
        let unit = round * blocks + if forwards { block } else { blocks - 1 - block };
        if unit >= units {
            break;
        }
        let (chunk, at) = split(unit, a.count);
        let (cluster, first) = (*a.clusters.cast::<C>().add(at as usize), chunk * BANDS);
        cluster.sum_moments::<T, N>((a, team, first));
        team.warps(|warp| {
            let mut targets = warp * WARP;
            while targets < max_energies(N) {
                let mut near = u32::MAX;
                if N == ALONE {
                    near =
                        team.ballot(|lane| add_alone((a, team, first), &cluster, targets + lane));
                }
                team.lanes(|lane| match N {
                    ALONE => (),
                    _ => cluster.add_far_field((a, team, first), targets + lane),
                });
                if near != 0 {
                    add_near_field::<C, T, N>((a, team, first), &cluster, targets);
                }
                targets += BANDS;
            }
        });
        round += 1;
    }
    team.all(|thread| {
        each_of(thread, VALUES as u32 * a.nw, |at| {
            let (iw, value) = (at / VALUES as u32, at % VALUES as u32);
            let (mut sum, mut target) = (0.0, iw);
            // Of Σ alone the first ones, those of `asx`, are zero.
            let missing = (VALUES - N) as u32;
            while value >= missing && target < max_energies(N) {
                sum = sum + team.get(sums_of::<C, N>(target) + value - missing);
                target += a.targets();
            }
            *a.partials.add((at * blocks + block) as usize) = sum
        });
    });
}

#[inline(always)]
fn each_of(first: u32, count: u32, mut each: impl FnMut(u32)) {
    let mut index = first;
    while index < count {
        each(index);
        index += BANDS;
    }
}

/// Where a thread evaluates moments: an energy, and every `step`-th band of the block from `begin` on. There are always
/// [`max_energies`] targets, several for each energy if the energies are fewer.
#[derive(Clone, Copy)]
struct Target {
    /// May lie past the last energy.
    iw: u32,
    begin: u32,
    step: u32,
}

impl Target {
    #[inline(always)]
    fn from_index<const N: usize>(index: u32, a: &ClusterArguments) -> Target {
        let bits = a.targets().trailing_zeros();
        let iw = index & (a.targets() - 1);
        Target { iw, begin: index >> bits, step: max_energies(N) >> bits }
    }
}

/// Offset of moment `k` of a block's band `b` in shared memory, which begins with the moments, `(2, BANDS, moments)`.
#[inline(always)]
const fn moment_at(b: u32, k: usize) -> u32 {
    2 * (k as u32 * BANDS + b)
}

#[inline(always)]
const fn sums_of<C: Cluster, const N: usize>(target: u32) -> u32 {
    C::SUMS + N as u32 * target
}

#[inline(always)]
unsafe fn add<C: Cluster, T: Team, const N: usize>(team: &T, target: u32, values: [f64; N]) {
    let offset = sums_of::<C, N>(target);
    let [a, b] = team.pair(offset);
    let [c, d] = if N == ALONE { [0.0; 2] } else { team.pair(offset + 2) };
    team.set_pair(offset, [a + values[0], b + values[1]]);
    if N != ALONE {
        team.set_pair(offset + 2, [c + values[N - 2], d + values[N - 1]]);
    }
}

/// A complex number of the shared ones.
#[inline(always)]
unsafe fn complex_at(team: &impl Team, offset: u32) -> Complex64 {
    let [re, im] = team.pair(offset);
    Complex64::new(re, im)
}

/// Adds the far field of Σ alone to a target. Returns whether a band of it needs the near field.
#[inline(always)]
unsafe fn add_alone<C: Cluster, T: Team>(
    (a, team, first): Chunk<T>,
    cluster: &C,
    target: u32,
) -> bool {
    let Target { iw, begin, step } = Target::from_index::<ALONE>(target, a);
    let (far_field, bands) = (cluster.far_fields(a.limits()), a.bands(first));
    let (mut sum, mut near, mut b) = (Complex64::new(0.0, 0.0), false, begin);
    while iw < a.nw && b < bands {
        let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
        match FarField::alone(cluster, &far_field, [w, occ]) {
            Some(far) => {
                let [q, p] = far.factors(occ);
                let mut add = |w: f64, factor: f64| {
                    if factor != 0.0 {
                        sum = sum + cluster.quotients(team, b, w) * factor;
                    }
                };
                add(w, q);
                // 1/(w + ω̃) is −1/(−w − ω̃).
                add(-w, -p);
            }
            None => near = true,
        }
        b += step;
    }
    add::<C, T, ALONE>(team, target, [sum.re, sum.im]);
    near
}

/// Sums `K` moments of a cluster for each band of a chunk, in shared memory, by stages. `put` makes what `add` reads of a
/// pair, in a buffer at a thread's place, from its pole and half its `vcoul`, zero after the last pair; `add` adds the pair
/// with its `M` to the moments.
#[inline(always)]
unsafe fn sum_stages<C: Cluster, T: Team, const K: usize>(
    cluster: &C,
    (a, team, first): Chunk<T>,
    put: impl Fn(u32, u32, Pole<Complex64>, f64),
    add: impl Fn(u32, u32, Complex64, &mut [Complex64; K]),
) {
    let (Range { start, end }, zero) = (cluster.pairs(), Complex64::new(0.0, 0.0));
    let set = |offset: u32, value: Complex64| team.set_pair(offset, [value.re, value.im]);
    let pole = |index: u32| C::pole(a, index.min(end - 1));
    let fetch = |index: u32| {
        let pole = pole(index);
        let vcoul = *a.vcoul_loc.add(pole.igp as usize);
        (pole, if index < end { 0.5 * vcoul } else { 0.0 })
    };
    team.all(|thread| {
        for k in 0..K {
            set(moment_at(thread, k), zero);
        }
        let (pole, vcoul) = fetch(start + thread);
        put(0, thread, pole, vcoul);
    });
    let (mut begin, mut buffer) = (start, 0);
    while begin < end {
        let next = begin + STAGE;
        team.all(|thread| {
            let ahead = next < end;
            let (ahead_pole, vcoul) = fetch(if ahead { next + thread } else { begin });
            let elements = |index: u32| -> [[Complex64; 2]; PREFETCH as usize] {
                core::array::from_fn(|i| a.elements(&pole(index + i as u32), first + thread))
            };
            // Sums of a stage are added to the moments at its end: fewer additions in a row.
            let mut moments = [zero; K];
            let mut loaded = elements(begin);
            let (mut at, staged) = (0, STAGE.min(end - begin));
            while at < staged {
                let factors = loaded.map(|[aqsm, aqsn]| aqsm.conj() * aqsn);
                loaded = elements(begin + at + PREFETCH);
                // A loop over few moments is unrolled, after all products; one over many would be kept, with the
                // moments in local memory.
                if K < 8 {
                    for (i, m) in factors.into_iter().enumerate() {
                        add(buffer, at + i as u32, m, &mut moments);
                    }
                } else {
                    let [one, two, three, four] = factors;
                    add(buffer, at, one, &mut moments);
                    add(buffer, at + 1, two, &mut moments);
                    add(buffer, at + 2, three, &mut moments);
                    add(buffer, at + 3, four, &mut moments);
                }
                at += PREFETCH;
            }
            for (k, &moment) in moments.iter().enumerate() {
                let offset = moment_at(thread, k);
                set(offset, complex_at(team, offset) + moment);
            }
            if ahead {
                put(buffer ^ 1, thread, ahead_pole, vcoul);
            }
        });
        (begin, buffer) = (next, buffer ^ 1);
    }
}

impl ClusterArguments {
    fn limits(&self) -> Limits {
        let ClusterArguments { limittwo, limitone, sexcut, .. } = *self;
        Limits { limittwo, limitone, sexcut }
    }

    /// Energies rounded up to a power of two: the stride between the targets of one energy.
    #[inline(always)]
    fn targets(&self) -> u32 {
        self.nw.next_power_of_two()
    }

    #[inline(always)]
    unsafe fn wx(&self, iw: u32, n: u32) -> f64 {
        *self.wx.add((n * self.nw + iw) as usize)
    }

    #[inline(always)]
    unsafe fn occ(&self, n: u32) -> f64 {
        *self.occ.add(n as usize)
    }

    #[inline(always)]
    fn bands(&self, first: u32) -> u32 {
        BANDS.min(self.nbands - first.min(self.nbands))
    }

    /// `aqsm_local` and `aqsn` of a pair and a band.
    #[inline(always)]
    unsafe fn elements<W>(&self, pole: &Pole<W>, n: u32) -> [Complex64; 2] {
        let aqsm = load(self.aqsm_local, pole.igp * self.rows + n);
        [aqsm, load(self.aqsn, pole.ig * self.rows + n)]
    }
}

/// Adds the near field of a cluster, pair by pair by the definition, to the targets of a warp, those from `targets` on.
#[inline(always)]
pub unsafe fn add_near_field<C: Cluster, T: Team, const N: usize>(
    (a, team, first): Chunk<T>,
    cluster: &C,
    targets: u32,
) {
    let (limits, bands) = (a.limits(), a.bands(first));
    let far_field = cluster.far_fields(limits);
    // A target has as many bands as any other, or one fewer.
    let mut from = 0;
    while from < bands {
        let band = |lane: u32| {
            let Target { iw, begin, .. } = Target::from_index::<N>(targets + lane, a);
            (iw, from + begin)
        };
        let mut near = team.ballot(|lane| {
            let (iw, b) = band(lane);
            iw < a.nw && b < bands && {
                let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
                match N {
                    ALONE => FarField::alone(cluster, &far_field, [w, occ]).is_none(),
                    _ => far_field(w, occ != 0.0).is_none(),
                }
            }
        });
        while near != 0 {
            let target = near.trailing_zeros();
            near &= near - 1;
            let (iw, b) = band(target);
            let n = first + b;
            let sums = team.sum(|lane| {
                let (w, occ) = (a.wx(iw, n), a.occ(n));
                let mut sums = [0.0; N];
                let pairs = cluster.pairs();
                let mut index = pairs.start + lane;
                while index < pairs.end {
                    let pole = C::pole(a, index);
                    let term = term(&Pair::new(pole.wtilde, pole.eps), w, &limits);
                    add_term(a, &pole, n, occ, term, &mut sums);
                    index += WARP;
                }
                sums
            });
            team.first(|| add::<C, T, N>(team, targets + target, sums));
        }
        from += Target::from_index::<N>(targets, a).step;
    }
}

#[inline(always)]
unsafe fn add_term<W, const N: usize>(
    a: &ClusterArguments,
    pole: &Pole<W>,
    n: u32,
    occ: f64,
    Term { ssx, sch }: Term,
    sums: &mut [f64; N],
) {
    let ([aqsm, aqsn], vcoul) = (a.elements(pole, n), *a.vcoul_loc.add(pole.igp as usize));
    let m = aqsm.conj() * aqsn;
    let asx = ssx * (vcoul * occ) * m;
    let ach = sch * (vcoul * 0.5) * m;
    (sums[0], sums[1]) = (sums[0] - asx.re, sums[1] - asx.im);
    (sums[N - 2], sums[N - 1]) = (sums[N - 2] + ach.re, sums[N - 1] + ach.im);
}

/// The threads of a block and the numbers that they share: at once on the GPU, one after the other on the CPU. All threads of
/// a block, or within [`Team::warps`] of a warp, call its functions; numbers are shared within the bounds of a cluster.
pub trait Team {
    /// Runs `each` for each thread, then a barrier.
    unsafe fn all(&self, each: impl FnMut(u32));

    /// Runs `each` for each warp, then a barrier.
    unsafe fn warps(&self, each: impl FnMut(u32));

    /// Runs `each` for each thread of a warp, then a barrier of the warp; within [`Team::warps`].
    unsafe fn lanes(&self, each: impl FnMut(u32));

    /// A bit of each thread of a warp; within [`Team::warps`].
    unsafe fn ballot(&self, each: impl FnMut(u32) -> bool) -> u32;

    /// Sums over the threads of a warp, as a tree, for [`Team::first`]; within [`Team::warps`].
    unsafe fn sum<const N: usize>(&self, each: impl FnMut(u32) -> [f64; N]) -> [f64; N];

    /// Runs `once` for the first thread of a warp, which alone reads what it stores; within [`Team::warps`].
    unsafe fn first(&self, once: impl FnMut());

    unsafe fn get(&self, offset: u32) -> f64;

    unsafe fn set(&self, offset: u32, value: f64);

    /// Two shared numbers, the first of them even.
    unsafe fn pair(&self, offset: u32) -> [f64; 2];

    unsafe fn set_pair(&self, offset: u32, values: [f64; 2]);
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use num_complex::Complex64;

    use super::Team;
    use crate::intrinsics::{
        WARP, barrier, load_shared, load_shared_pair, store_shared, store_shared_pair,
        thread_in_block, vote, warp_barrier, warp_sum,
    };

    /// The block of the calling thread, all of whose threads do the same with it, and its shared numbers.
    pub struct BlockOnGpu {
        base: u32,
    }

    impl BlockOnGpu {
        /// With shared numbers from this address on. All threads of a block of whole warps come here, once a launch.
        #[inline(always)]
        pub unsafe fn at(base: u32) -> Self {
            BlockOnGpu { base }
        }

        #[inline(always)]
        fn address(&self, offset: u32) -> u32 {
            self.base + offset * 8
        }
    }

    impl Team for BlockOnGpu {
        #[inline(always)]
        unsafe fn all(&self, mut each: impl FnMut(u32)) {
            each(thread_in_block());
            barrier()
        }

        #[inline(always)]
        unsafe fn warps(&self, mut each: impl FnMut(u32)) {
            each(thread_in_block() / WARP);
            barrier()
        }

        #[inline(always)]
        unsafe fn lanes(&self, mut each: impl FnMut(u32)) {
            each(thread_in_block() % WARP);
            warp_barrier()
        }

        #[inline(always)]
        unsafe fn ballot(&self, mut each: impl FnMut(u32) -> bool) -> u32 {
            vote(each(thread_in_block() % WARP))
        }

        #[inline(always)]
        unsafe fn sum<const N: usize>(&self, mut each: impl FnMut(u32) -> [f64; N]) -> [f64; N] {
            each(thread_in_block() % WARP).map(|x| warp_sum(x))
        }

        #[inline(always)]
        unsafe fn first(&self, mut once: impl FnMut()) {
            if thread_in_block() % WARP == 0 {
                once();
            }
        }

        #[inline(always)]
        unsafe fn get(&self, offset: u32) -> f64 {
            load_shared(self.address(offset))
        }

        #[inline(always)]
        unsafe fn set(&self, offset: u32, value: f64) {
            store_shared(self.address(offset), value)
        }

        #[inline(always)]
        unsafe fn pair(&self, offset: u32) -> [f64; 2] {
            let pair = load_shared_pair(self.address(offset));
            [pair.re, pair.im]
        }

        #[inline(always)]
        unsafe fn set_pair(&self, offset: u32, [re, im]: [f64; 2]) {
            store_shared_pair(self.address(offset), Complex64::new(re, im))
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod cpu {
    use core::cell::Cell;
    use std::vec;
    use std::vec::Vec;

    use super::{BANDS, Team};
    use crate::intrinsics::WARP;
    use crate::reduction::warp_sum;

    /// A block whose threads run in turn, forwards and backwards, so that a missing barrier shows.
    pub struct Emulated {
        shared: Vec<Cell<f64>>,
        backwards: Cell<bool>,
    }

    impl Emulated {
        pub fn new(numbers: u32) -> Emulated {
            let nothing = Cell::new(f64::NAN);
            Emulated { shared: vec![nothing; numbers as usize], backwards: Cell::new(false) }
        }

        fn in_turn(&self, count: u32, each: impl FnMut(u32)) {
            match self.backwards.replace(!self.backwards.get()) {
                false => (0..count).for_each(each),
                true => (0..count).rev().for_each(each),
            }
        }
    }

    impl Team for Emulated {
        unsafe fn all(&self, each: impl FnMut(u32)) {
            self.in_turn(BANDS, each);
        }

        unsafe fn warps(&self, each: impl FnMut(u32)) {
            self.in_turn(BANDS / WARP, each);
        }

        unsafe fn lanes(&self, each: impl FnMut(u32)) {
            self.in_turn(WARP, each);
        }

        unsafe fn ballot(&self, mut each: impl FnMut(u32) -> bool) -> u32 {
            (0..WARP).fold(0, |bits, lane| bits | u32::from(each(lane)) << lane)
        }

        unsafe fn sum<const N: usize>(&self, each: impl FnMut(u32) -> [f64; N]) -> [f64; N] {
            let lanes: Vec<[f64; N]> = (0..WARP).map(each).collect();
            core::array::from_fn(|value| {
                warp_sum(&mut lanes.iter().map(|values| values[value]).collect::<Vec<_>>())
            })
        }

        unsafe fn first(&self, mut once: impl FnMut()) {
            once();
        }

        unsafe fn get(&self, offset: u32) -> f64 {
            self.shared[offset as usize].get()
        }

        unsafe fn set(&self, offset: u32, value: f64) {
            self.shared[offset as usize].set(value);
        }

        unsafe fn pair(&self, offset: u32) -> [f64; 2] {
            assert!(offset.is_multiple_of(2), "pairs are aligned");
            [self.get(offset), self.get(offset + 1)]
        }

        unsafe fn set_pair(&self, offset: u32, [one, other]: [f64; 2]) {
            assert!(offset.is_multiple_of(2), "pairs are aligned");
            self.set(offset, one);
            self.set(offset + 1, other);
        }
    }
}

#[cfg(test)]
mod tests;
