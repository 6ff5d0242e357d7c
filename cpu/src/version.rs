//! How a version is done on a processor.

use std::marker::PhantomData;

use gpp_kernels::formula::VALUES;
use gpp_kernels::kernel::Version;
use gpp_kernels::plan::Poles;

use crate::cells;
use crate::lanes::Lanes;
use crate::level::{Level, Levelled, at_level};
use crate::pool::{Pool, Threads};
use crate::problem::Task;
use crate::work::{Compensated, Piece, Pieces, share};

/// What a version reads beside the bands and the slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// [`Slab::aqsm`](crate::problem::Slab::aqsm).
    pub aqsm: bool,
    /// [`Task::relaid`], in the plan's order of bands where it follows one.
    pub relaid: bool,
    /// [`Task::plan`].
    pub plan: bool,
    /// [`Task::sorted`].
    pub sorted: bool,
}

impl Needs {
    /// The slab as it is.
    pub const SLAB: Needs = Needs { aqsm: true, relaid: false, plan: false, sorted: false };
}

/// A body: what one piece of work is done by.
pub trait Body {
    /// What it takes regular poles to be.
    const POLES: Poles = Poles::Any;
    /// Whether it computes in vectors; otherwise one number at a time at every level.
    const IN_VECTORS: bool = true;

    /// Adds the sums of a piece to `sums`, `(nw · VALUES, igp)`.
    ///
    /// Implementations are `#[inline(always)]`, and so is all that they call for each term.
    fn sum<L: Lanes>(token: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]);
}

/// Sums a slab at a level in a pool, shared out in such pieces.
type Sum = fn(&Task, Level, &Pool, Pieces, &(dyn Fn(f64) + Sync)) -> Vec<f64>;

/// What sums a slab in the vectors of each level.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// What it takes regular poles to be.
    pub poles: Poles,
    pub in_vectors: bool,
    /// Whether the sums of each `igp` stay apart, or are one sum of the slab.
    pub by_igp: bool,
    sum: Sum,
}

impl Kernel {
    /// Of a body: each piece by it.
    pub const fn of<B: Body>() -> Kernel {
        Kernel { poles: B::POLES, in_vectors: B::IN_VECTORS, by_igp: true, sum: summing::<B> }
    }

    /// One that shares out a slab in its own way, and sums all of it.
    pub const fn of_slab(sum: Sum) -> Kernel {
        Kernel { poles: Poles::Any, in_vectors: true, by_igp: false, sum }
    }

    /// Where its code stands: kernels at the same address are the same.
    pub fn address(&self) -> usize {
        self.sum as usize
    }
}

/// A body as what each level has.
struct Summed<B>(PhantomData<B>);

impl<B: Body> Levelled<(&Task<'_>, &Piece, &mut [f64])> for Summed<B> {
    const IN_VECTORS: bool = B::IN_VECTORS;

    #[inline(always)]
    fn run<L: Lanes>(token: L::Token, (task, piece, sums): (&Task<'_>, &Piece, &mut [f64])) {
        B::sum::<L>(token, task, piece, sums);
    }
}

fn summing<B: Body>(
    task: &Task,
    level: Level,
    pool: &Pool,
    pieces: Pieces,
    done: &(dyn Fn(f64) + Sync),
) -> Vec<f64> {
    pool.install(|| {
        share(task, pieces, done, |piece, sums| {
            at_level::<Summed<B>, _>(level, (task, piece, sums));
        })
    })
}

/// How a version is done.
pub struct Cpu {
    pub version: &'static Version,
    pub threads: Threads,
    pub needs: Needs,
    /// Energies that a calculation by its kernels sums at most.
    pub holds: usize,
    /// How its work is shared out.
    pub pieces: Pieces,
    /// Its kernels, those for special poles before those for any.
    pub kernels: &'static [Kernel],
}

/// Energies that a calculation of sorted pairs sums at most.
pub const MANY: usize = 512;

/// Energies of the versions that have as many sums at hand as the paper's problems.
pub const FEW: usize = 3;

impl Cpu {
    pub const fn id(&self) -> &'static str {
        self.version.id
    }

    /// The kernel for problems of these poles, the most special of those that sum them.
    fn kernel(&self, poles: Poles) -> &Kernel {
        let admits = |kernel: &&Kernel| kernel.poles.admits(poles);
        self.kernels.iter().find(admits).expect("every version has a kernel for any poles")
    }

    /// What the kernel for problems of these poles takes regular ones to be: which odd poles it has to be
    /// given.
    pub fn poles(&self, poles: Poles) -> Poles {
        self.kernel(poles).poles
    }

    /// `igp` of each group that sums are kept for, or none where there is one sum, of the slab.
    pub fn igp_of_group(&self) -> Option<usize> {
        self.kernels.iter().all(|kernel| kernel.by_igp).then_some(1)
    }

    /// Bytes of what the pieces of a slab of such dimensions sum at so many energies, before it is added up.
    pub fn bytes_of_sums(&self, [nbands, ngpown, ncouls]: [usize; 3], nw: usize) -> u64 {
        if self.needs.sorted {
            return cells::bytes_of_sums(nbands, nw);
        }
        let pieces = ncouls.div_ceil(self.pieces.ig) as u64;
        let of_igp = pieces * size_of::<f64>() as u64 + size_of::<Compensated>() as u64;
        ngpown as u64 * (nw * VALUES) as u64 * of_igp
    }

    /// The vectors that it computes with where a processor is used at this level.
    pub fn level(&self, level: Level) -> Level {
        let in_vectors = self.kernels.iter().any(|kernel| kernel.in_vectors);
        if in_vectors { level } else { Level::Scalar }
    }

    /// The sums of a slab for each `igp` apart, or of all: `(igp, values)`, the values of each energy as in
    /// [`gpp_kernels::formula::VALUES`]. `done` is told the part that is summed, now and then.
    ///
    /// # Panics
    /// Where the arrays of the task do not go with each other, something that the version
    /// [needs](Needs) is missing, or the processor has not this level.
    pub fn sum(
        &self,
        task: &Task,
        level: Level,
        pool: &Pool,
        done: &(dyn Fn(f64) + Sync),
    ) -> Vec<f64> {
        assert!(level.is_available(), "this processor has no {level}");
        (self.checked(task).sum)(task, level, pool, self.pieces, done)
    }

    fn checked(&self, task: &Task) -> &Kernel {
        task.check();
        let nw = task.bands.nw;
        assert!((1..=self.holds).contains(&nw), "{nw} of 1 to {} energies", self.holds);
        let Needs { aqsm, relaid, plan, sorted } = self.needs;
        assert!(!aqsm || !task.slab.aqsm.is_empty(), "{} needs aqsm", self.id());
        assert!(!relaid || task.relaid.is_some(), "{} needs aqsn laid out anew", self.id());
        assert!(!plan || task.plan.is_some(), "{} needs a plan", self.id());
        assert!(!sorted || task.sorted.is_some(), "{} needs sorted pairs", self.id());
        self.kernel(task.plan.map_or(Poles::Any, |(plan, _)| plan.poles))
    }
}
