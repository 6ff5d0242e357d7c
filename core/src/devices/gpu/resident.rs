//! What stays on a GPU while bands change: ω̃ and eps, and the memory of everything else.

use gpp_kernels::arrays::REPACK_SYMBOL;

use crate::catalogue::Kernel;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::ForeignStream;
use crate::devices::gpu::uploads::{GpuElements, PairsCache};
use crate::devices::gpu::worker::{Arrays, OnGpu};
use crate::devices::{SlabSums, Watch, Worker};
use crate::error::Result;
use crate::problem::{Batches, Id, Problem};

/// A slab of all igp that stays, and memory for the rest.
#[derive(Default)]
pub struct Resident {
    /// Addresses of `wtilde` and `eps`, if a caller has them there.
    on_gpu: Option<[u64; 2]>,
    /// None before the first calculation, and after one that failed.
    arrays: Option<Arrays>,
    /// Identity of the energies of the last calculation.
    energies: Option<Id>,
}

impl Resident {
    /// For a caller's `wtilde` and `eps` at these addresses, `(ncouls, ngpown)` without gaps.
    ///
    /// # Safety
    /// They are on the device with the values of the problems that are summed, and nobody writes them while this is used.
    pub unsafe fn on_gpu(pairs: [u64; 2]) -> Resident {
        Resident { on_gpu: Some(pairs), ..Resident::default() }
    }

    /// Sums a problem's slab of all igp at these batches of its energies, after the pending work of the caller's stream
    /// `after`. Only `aqsm_local` of the slab may differ between calls.
    ///
    /// # Safety
    /// Matrix elements that are `on_gpu` are there, with as many rows and bands as the problem has, until this returns,
    /// and only pending work of the stream writes them.
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
        let mut arrays = match self.arrays.take() {
            Some(arrays) => arrays,
            None => Arrays::new(&gpu.context, self.on_gpu)?,
        };
        if self.energies.replace(problem.bands().id()) != Some(problem.bands().id()) {
            // Those of other energies are not needed again.
            arrays.pairs = PairsCache::default();
        }
        if on_gpu.is_some() && arrays.repack.kernel.is_none() {
            arrays.repack.kernel = Some(gpu.load(REPACK_SYMBOL)?);
        }
        arrays.slots[0].stream.wait_for_foreign(after)?;
        let mut worker = OnGpu::new(gpu, problem, arrays);
        worker.on_gpu = on_gpu;
        let mut of_batches = Vec::new();
        let mut sum = || -> Result<()> {
            for at in 0..batches.count() {
                watch.check()?;
                (watch.done)(at as f64 / batches.count() as f64);
                worker.launch(problem.slab(), &batches.get(at), kernels)?;
                of_batches.push(worker.finish()?);
            }
            Ok(())
        };
        let summed = sum();
        // After a failure too, nothing may still read the caller's arrays.
        summed.inspect_err(|_| _ = worker.arrays.slots[0].stream.synchronize())?;
        self.arrays = Some(worker.arrays);
        Ok(SlabSums::joined(of_batches).expect("a problem has an energy"))
    }
}
