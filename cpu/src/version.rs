//! How a version is done on a processor.

use std::marker::PhantomData;

use gpp_kernels::counted::{self, Counted, Counts};
use gpp_kernels::kernel::Version;
use gpp_kernels::plan::Poles;
use rayon::prelude::*;

use crate::dispatch::{Levelled, at_level};
use crate::lanes::{Lanes, Single};
use crate::level::Level;
use crate::pool::{Pool, Threads};
use crate::problem::Task;
use crate::work::{Piece, Pieces, share};

/// What a version reads beside the bands and the slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// [`Task::relaid`], in the plan's order of bands where it follows one.
    pub relaid: bool,
    /// [`Task::plan`].
    pub plan: bool,
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

/// A body in the vectors of each level.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// What it takes regular poles to be.
    pub poles: Poles,
    /// Whether it computes in vectors.
    pub in_vectors: bool,
    sum: fn(Level, &Task, &Piece, &mut [f64]),
    counted: fn(&Task, &Piece, &mut [f64]),
}

impl Kernel {
    /// Of a body.
    pub const fn of<B: Body>() -> Kernel {
        Kernel {
            poles: B::POLES,
            in_vectors: B::IN_VECTORS,
            sum: summing::<B>,
            counted: counting::<B>,
        }
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

fn summing<B: Body>(level: Level, task: &Task, piece: &Piece, sums: &mut [f64]) {
    at_level::<Summed<B>, _>(level, (task, piece, sums));
}

fn counting<B: Body>(task: &Task, piece: &Piece, sums: &mut [f64]) {
    B::sum::<Single<Counted>>((), task, piece, sums);
}

/// How a version is done.
pub struct Cpu {
    /// What is done.
    pub version: &'static Version,
    /// Threads that it runs.
    pub threads: Threads,
    /// What it reads.
    pub needs: Needs,
    /// Whether it sums by [`cells`](crate::cells), whatever the poles are.
    pub sorts: bool,
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
    /// The version's name.
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

    /// Energies that a calculation sums at most.
    pub fn holds(&self) -> usize {
        if self.sorts { MANY } else { self.holds }
    }

    /// The vectors that it computes with where a processor is used at this level.
    pub fn level(&self, level: Level) -> Level {
        let in_vectors = self.kernels.iter().any(|kernel| kernel.in_vectors);
        if in_vectors { level } else { Level::Scalar }
    }

    /// The sums of a slab for each `igp` apart: `(igp, values)`, the values of each energy as in
    /// [`gpp_kernels::sums::VALUES`]. `done` is told the part that is summed, now and then.
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
        let kernel = self.checked(task);
        pool.install(|| {
            share(task, self.pieces, done, |piece, sums| (kernel.sum)(level, task, piece, sums))
        })
    }

    /// Operations of a slab's terms, by running the same source with a counting number: a reciprocal is
    /// one, however an instruction set makes it.
    ///
    /// # Panics
    /// As [`Cpu::sum`].
    pub fn count(&self, task: &Task) -> Counts {
        let kernel = self.checked(task);
        let all = self.pieces.of(task.ngpown(), task.bands.ncouls);
        let values = task.bands.nw * gpp_kernels::sums::VALUES;
        let of_piece = |piece: &Piece| {
            counted::take();
            (kernel.counted)(task, piece, &mut vec![0.0; piece.igp.len() * values]);
            counted::take()
        };
        all.par_iter().map(of_piece).reduce(Counts::default, Counts::plus)
    }

    fn checked(&self, task: &Task) -> &Kernel {
        task.check();
        let nw = task.bands.nw;
        assert!((1..=self.holds).contains(&nw), "{nw} of 1 to {} energies", self.holds);
        let Needs { relaid, plan } = self.needs;
        assert!(!relaid || task.relaid.is_some(), "{} needs aqsn laid out anew", self.id());
        assert!(!plan || task.plan.is_some(), "{} needs a plan", self.id());
        self.kernel(task.plan.map_or(Poles::Any, |(plan, _)| plan.poles))
    }
}
