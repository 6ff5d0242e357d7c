//! What stays on a GPU while bands change: ω̃ and eps, and the memory of all else.

use gpp_kernels::repack;

use crate::catalogue::Kernel;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::ForeignStream;
use crate::devices::gpu::uploads::{BandBuffers, GpuElements, PairsCache, Repack, Ring};
use crate::devices::gpu::worker::{OnGpu, StreamSlot};
use crate::devices::{SlabSums, Watch, Worker};
use crate::error::Result;
use crate::problem::{Batches, Id, Problem};

/// A slab of all igp that stays, and memory for the rest.
#[derive(Default)]
pub struct Resident {
    /// `wtilde` and `eps`, if a caller has them there.
    on_gpu: Option<[u64; 2]>,
    /// None before the first calculation, and after one that failed.
    held: Option<Buffers>,
}

struct Buffers {
    slot: StreamSlot,
    bands: BandBuffers,
    pairs: PairsCache,
    ring: Ring,
    repack: Repack,
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
    pub unsafe fn on_gpu(pairs: [u64; 2]) -> Resident {
        Resident { on_gpu: Some(pairs), held: None }
    }

    /// Sums a problem's slab of all igp, which is the same in every call but for `aqsm_local`, at these batches of
    /// its energies. What a stream of the caller's has under way is done before.
    ///
    /// # Safety
    /// Matrix elements that are `on_gpu` are there, with as many rows and bands as the problem says, until this
    /// returns, and nobody writes them meanwhile but what the stream has under way.
    pub unsafe fn sums(
        &mut self,
        gpu: &Gpu,
        (problem, batches): (&Problem, &Batches),
        version: Kernel,
        on_gpu: Option<&GpuElements>,
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
        if on_gpu.is_some() && held.repack.kernel.is_none() {
            held.repack.kernel = Some(gpu.module(repack::SYMBOL)?);
        }
        held.slot.stream.wait_for_foreign(after)?;
        let Buffers { slot, bands, pairs, ring, repack, at } = held;
        let worker = OnGpu::new(gpu, problem, slot);
        let mut worker = OnGpu { bands, pairs, ring, repack, on_gpu, ..worker };
        let mut of_batches = Vec::new();
        let mut sum = || -> Result<()> {
            for at in 0..batches.count() {
                watch.check()?;
                (watch.done)(at as f64 / batches.count() as f64);
                worker.launch(problem.slab(), &batches.get(at), kernels)?;
                if at + 1 < batches.count() {
                    worker.look_ahead(problem.slab(), &batches.get(at + 1), version);
                }
                of_batches.push(worker.finish()?);
            }
            Ok(())
        };
        let summed = sum();
        // Whatever failed, nothing reads on from the caller's arrays.
        summed
            .inspect_err(|_| worker.slots.iter().for_each(|slot| _ = slot.stream.synchronize()))?;
        let OnGpu { bands, pairs, ring, repack, mut slots, .. } = worker;
        let slot = slots.pop().expect("the worker has one slot");
        self.held = Some(Buffers { slot, bands, pairs, ring, repack, at });
        Ok(SlabSums::joined(of_batches).expect("a problem has an energy"))
    }

    fn first(&self, gpu: &Gpu, problem: &Problem) -> Result<Buffers> {
        let mut slot = StreamSlot::new(&gpu.context)?;
        if let Some(pairs) = self.on_gpu {
            slot.slab.read_at(pairs);
        }
        let (bands, pairs, ring, repack) = Default::default();
        Ok(Buffers { slot, bands, pairs, ring, repack, at: problem.bands().id() })
    }
}
