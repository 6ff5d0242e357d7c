//! What stays on a GPU while bands change: ω̃ and eps, and the memory of all else.

use gpp_kernels::relaid;

use super::Gpu;
use super::bands::PlacedBands;
use super::driver::ForeignStream;
use super::lane::Lane;
use super::lent::{Lent, Relay};
use super::pairs::PairsCache;
use super::ring::Ring;
use super::worker::OnGpu;
use crate::catalogue::Kernel;
use crate::devices::{SlabSums, Watch, Worker};
use crate::error::Result;
use crate::problem::{Batches, Id, Problem};

/// A slab of all igp that stays, and memory for the rest.
#[derive(Default)]
pub struct Resident {
    /// `wtilde` and `eps`, where a caller has them there.
    lent: Option<[u64; 2]>,
    /// None before the first calculation, and after one that failed.
    held: Option<Held>,
}

struct Held {
    lane: Lane,
    bands: PlacedBands,
    pairs: PairsCache,
    ring: Ring,
    relay: Relay,
    /// The energies of the last calculation.
    at: Id,
}

impl Resident {
    /// Of `wtilde` and `eps`, `(ncouls, ngpown)` without gaps, that a caller has at these addresses of the
    /// device.
    ///
    /// # Safety
    /// They are there, as the problems have them that are summed, and nobody writes them, as long as this is
    /// used.
    pub unsafe fn lent(pairs: [u64; 2]) -> Resident {
        Resident { lent: Some(pairs), held: None }
    }

    /// Sums a problem's slab of all igp, which is the same in every call but for `aqsm_local`, at these batches of
    /// its energies. What a stream of the caller's has under way is done before.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver),
    /// [`Error::Data`](crate::Error::Data) for a version of other devices, [`Error::Stopped`](crate::Error::Stopped). What was in place is there no more,
    /// but for what is lent.
    ///
    /// # Panics
    /// Never: a worker has a lane, a problem an energy.
    ///
    /// # Safety
    /// Matrix elements that are `lent` are there, with as many rows and bands as the problem says, until this
    /// returns, and nobody writes them meanwhile but what the stream has under way.
    pub unsafe fn sums(
        &mut self,
        gpu: &Gpu,
        (problem, batches): (&Problem, &Batches),
        version: Kernel,
        lent: Option<&Lent>,
        after: ForeignStream,
        watch: Watch,
    ) -> Result<SlabSums> {
        let kernels = version.require_gpu()?;
        let mut held = match self.held.take() {
            Some(held) => held,
            None => self.first(gpu, problem)?,
        };
        // Those of other energies are not wanted again.
        if held.at != problem.bands().id() {
            held.pairs = PairsCache::default();
            held.at = problem.bands().id();
        }
        if lent.is_some() && held.relay.kernel.is_none() {
            held.relay.kernel = Some(gpu.module(relaid::SYMBOL)?);
        }
        held.lane.stream.wait_for_foreign(after)?;
        let Held { lane, bands, pairs, ring, relay, at } = held;
        let worker = OnGpu::new(gpu, problem.frame(), lane);
        let mut worker = OnGpu { bands, pairs, ring, relay, lent, ..worker };
        let mut of_batches = Vec::new();
        let mut sum = || -> Result<()> {
            for at in 0..batches.count() {
                watch.check()?;
                (watch.done)(at as f64 / batches.count() as f64);
                worker.begin_by_own(problem.slab(), &batches.get(at), kernels)?;
                if at + 1 < batches.count() {
                    worker.look_ahead(problem.slab(), &batches.get(at + 1), version);
                }
                of_batches.push(worker.finish()?);
            }
            Ok(())
        };
        let summed = sum();
        // Whatever failed, nothing reads on what is lent.
        summed
            .inspect_err(|_| worker.lanes.iter().for_each(|lane| _ = lane.stream.synchronize()))?;
        let OnGpu { bands, pairs, ring, relay, mut lanes, .. } = worker;
        let lane = lanes.pop().expect("the worker has one lane");
        self.held = Some(Held { lane, bands, pairs, ring, relay, at });
        Ok(SlabSums::joined(of_batches).expect("a problem has an energy"))
    }

    fn first(&self, gpu: &Gpu, problem: &Problem) -> Result<Held> {
        let mut lane = Lane::new(&gpu.context)?;
        if let Some(pairs) = self.lent {
            lane.slab.lend(pairs);
        }
        let (bands, pairs, ring, relay) = Default::default();
        Ok(Held { lane, bands, pairs, ring, relay, at: problem.bands().id() })
    }
}
