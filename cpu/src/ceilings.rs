//! What a processor can do, measured on all threads of a pool: fused operations in the vectors of each
//! level, and the bandwidth of memory, L2 and L1. They are the ceilings of its roofline.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use fearless_simd::{Level as Detected, Simd};

use crate::lanes::{Lanes, Single, Vector, WIDTH};
use crate::level::Level;
use crate::pool::Pool;

/// Independent chains of fused operations: enough to hide four cycles of latency in two pipes.
pub const CHAINS: usize = 8;

/// Sums that reads go to in turn.
const SUMS: usize = 8;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Timed runs, of which the fastest counts: a ceiling is the best there is.
    pub runs: usize,
    /// Fused operations of each chain.
    pub steps: usize,
    /// Numbers that all threads together read from memory.
    pub memory: usize,
    /// Numbers that each thread reads from a cache, in all passes together.
    pub cached: usize,
}

impl Effort {
    /// A second or two; memory of 1 GiB, beyond any cache that shares it out to one machine.
    pub const FULL: Effort =
        Effort { runs: 5, steps: 20_000_000, memory: 1 << 27, cached: 1 << 28 };
}

/// Numbers of a cache line, and of the widest vector.
const LINE: usize = 8;

/// Numbers that any L1 holds: 16 KiB.
const L1: usize = 1 << 11;

/// Numbers that no L1 holds, and any L2 of a core: 192 KiB.
const L2: usize = 3 << 13;

/// What was measured on all threads together.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceilings {
    /// FP64 operations a second, all of them fused where the level fuses, of each level there is.
    pub fp64: Vec<(Level, f64)>,
    /// Bytes a second that are read from memory.
    pub memory: f64,
    /// Bytes a second that are read from L2.
    pub l2: f64,
    /// Bytes a second that are read from L1.
    pub l1: f64,
}

impl Ceilings {
    /// Of a level's vectors.
    ///
    /// # Panics
    /// Where it was not measured.
    pub fn fp64_at(&self, level: Level) -> f64 {
        let of = self.fp64.iter().find(|(measured, _)| *measured == level);
        of.expect("this processor has the level").1
    }
}

/// Measures the ceilings; reads are by the vectors of `level`.
///
/// # Panics
/// Where this processor has not the level.
pub fn measure(pool: &Pool, level: Level, effort: &Effort) -> Ceilings {
    let Effort { runs, steps, memory, cached } = *effort;
    let fp64 = |level: Level| {
        let seconds = fastest(pool, runs, || (), |()| fused(level, steps));
        (level, operations(level, steps) * pool.threads() as f64 / seconds)
    };
    let bandwidth = |count: usize, passes: usize| {
        let buffer = || vec![1.0; count + LINE];
        let read = |buffer: &Vec<f64>| read(level, &from_line(buffer)[..count], passes);
        let seconds = fastest(pool, runs, buffer, read);
        bytes(count, passes) * pool.threads() as f64 / seconds
    };
    Ceilings {
        fp64: Level::available().into_iter().map(fp64).collect(),
        memory: bandwidth(memory / pool.threads(), 1),
        l2: bandwidth(L2, cached.div_ceil(L2)),
        l1: bandwidth(L1, cached.div_ceil(L1)),
    }
}

/// Operations of a thread that runs `steps` steps, a fused one counting two.
fn operations(level: Level, steps: usize) -> f64 {
    2.0 * (level.lanes() * CHAINS) as f64 * steps as f64
}

/// Bytes of numbers that are read so many times.
fn bytes(count: usize, passes: usize) -> f64 {
    size_of::<f64>() as f64 * count as f64 * passes as f64
}

/// Numbers from the first on that begins a cache line, so that no vector lies in two.
fn from_line(numbers: &[f64]) -> &[f64] {
    &numbers[numbers.as_ptr().align_offset(LINE * size_of::<f64>())..]
}

/// Seconds of the fastest of some runs, after one that is not timed. All threads of the pool run at once,
/// each on data of its own.
fn fastest<T>(
    pool: &Pool,
    runs: usize,
    make: impl Fn() -> T + Sync,
    work: impl Fn(&T) -> f64 + Sync,
) -> f64 {
    let barrier = Barrier::new(pool.threads());
    let timed = |_: rayon::BroadcastContext<'_>| {
        let own = make();
        let run = |_| {
            barrier.wait();
            let begin = Instant::now();
            black_box(work(black_box(&own)));
            begin.elapsed().as_secs_f64()
        };
        (0..=runs).map(run).collect::<Vec<f64>>()
    };
    let threads: Vec<Vec<f64>> = pool.install(|| rayon::broadcast(timed));
    let slowest = |run: usize| threads.iter().map(|times| times[run]).fold(0.0, f64::max);
    (1..=runs).map(slowest).fold(f64::INFINITY, f64::min)
}

/// What is done in the vectors of a level.
trait Work {
    fn run<L: Lanes>(&self, token: L::Token) -> f64;
}

/// Enters the code for a level, with its instructions switched on.
fn at_level(level: Level, work: &impl Work) -> f64 {
    let detected = Detected::new();
    match level {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx512 if let Some(token) = detected.as_avx512() => enter(token, work),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Level::Avx2 if let Some(token) = detected.as_avx2() => enter(token, work),
        #[cfg(target_arch = "aarch64")]
        Level::Neon if let Some(token) = detected.as_neon() => enter(token, work),
        Level::Scalar => work.run::<Single<f64>>(()),
        _ => unreachable!("{detected:?} has no {level}"),
    }
}

#[inline(always)]
fn enter<S: Simd>(token: S, work: &impl Work) -> f64 {
    token.vectorize(
        #[inline(always)]
        || work.run::<Vector<S>>(token),
    )
}

/// Chains of fused operations: each number becomes itself · ½ + 1, over and over.
struct Fused {
    steps: usize,
}

impl Work for Fused {
    #[inline(always)]
    fn run<L: Lanes>(&self, token: L::Token) -> f64 {
        let (factor, term) = (L::splat(token, black_box(0.5)), L::splat(token, black_box(1.0)));
        let mut chains: [L; CHAINS] = std::array::from_fn(|at| L::splat(token, at as f64));
        for _ in 0..self.steps {
            for chain in &mut chains {
                *chain = chain.mul_add(factor, term);
            }
        }
        sum(&chains)
    }
}

/// The sum of what [`CHAINS`] chains of a level end with.
fn fused(level: Level, steps: usize) -> f64 {
    at_level(level, &Fused { steps })
}

/// Reads of the same numbers.
struct Read<'a> {
    numbers: &'a [f64],
    passes: usize,
}

impl Work for Read<'_> {
    #[inline(always)]
    fn run<L: Lanes>(&self, token: L::Token) -> f64 {
        let mut sums = [L::splat(token, 0.0); SUMS];
        for _ in 0..self.passes {
            // Each pass reads anew.
            for block in black_box(self.numbers).chunks_exact(SUMS * L::COUNT) {
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add(L::load(token, &block[at * L::COUNT..]));
                }
            }
        }
        sum(&sums)
    }
}

/// The sum of some numbers, read `passes` times in the vectors of a level; those past the last block of
/// [`SUMS`] vectors are left out.
fn read(level: Level, numbers: &[f64], passes: usize) -> f64 {
    at_level(level, &Read { numbers, passes })
}

/// The sum of all numbers of some vectors.
#[inline(always)]
fn sum<L: Lanes>(vectors: &[L]) -> f64 {
    let mut lanes = [0.0; WIDTH];
    for vector in vectors {
        vector.add_to(&mut lanes);
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_do_their_steps_at_every_level() {
        for level in Level::available() {
            // x → x/2 + 1 three times is x/8 + 7/4, for the chains 0 to 7 of each lane.
            let expected = level.lanes() as f64 * (28.0 / 8.0 + 8.0 * 1.75);
            assert_eq!(fused(level, 3), expected, "{level}");
            assert_eq!(operations(level, 3), (level.lanes() * 8 * 3 * 2) as f64);
        }
    }

    #[test]
    fn every_number_is_read_in_every_pass() {
        let numbers: Vec<f64> = (0..192).map(f64::from).collect();
        for level in Level::available() {
            assert_eq!(read(level, &numbers, 3), 3.0 * f64::from(191 * 192 / 2), "{level}");
        }
        assert_eq!(bytes(192, 3), 4608.0);
        for count in [L1, L2] {
            assert_eq!(count % (SUMS * WIDTH), 0);
        }
    }

    #[test]
    fn ceilings_are_numbers() {
        let effort = Effort { runs: 2, steps: 1000, memory: 1 << 14, cached: 1 << 14 };
        for threads in [1, 2] {
            let found = measure(&Pool::new(threads).unwrap(), Level::best(), &effort);
            let fp64: Vec<Level> = found.fp64.iter().map(|(level, _)| *level).collect();
            assert_eq!(fp64, Level::available());
            assert_eq!(found.fp64_at(fp64[0]), found.fp64[0].1);
            let rates = found.fp64.iter().map(|(_, rate)| *rate);
            for rate in rates.chain([found.memory, found.l2, found.l1]) {
                assert!(rate > 0.0 && rate.is_finite(), "{found:?}");
            }
        }
    }
}
