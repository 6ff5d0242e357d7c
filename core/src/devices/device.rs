//! What all devices do, and their workers.

use std::sync::Arc;

use gpp_cpu::pool::Team;
use gpp_cpu::simd::Level;
use gpp_cpu::work::{NEVER, Stop};
use gpp_kernels::kernel::{BELOW, Dimensions, Entry, Exceeded, GpuVersion, Kernel};
use gpp_kernels::tiling::Grid;
use serde::{Deserialize, Serialize};

use crate::catalogue;
use crate::catalogue::BackEnd;
use crate::devices::gauge::Gauge;
use crate::error::{Error, Result};
use crate::problem::arrays::AQSM_LOCAL;
use crate::problem::layout::{Pairs, preparation};
use crate::problem::{Batch, Extents, Outline, Problem, SlabView};

pub trait Device: Sync {
    fn info(&self) -> &DeviceInfo;

    fn back_end(&self) -> BackEnd {
        self.info().back_end()
    }

    /// Properties of one of a kernel's entries on this device.
    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo>;

    /// Bytes that are free for arrays, on a device with separate memory.
    fn free_memory(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Host memory in bytes besides a problem's arrays, for runs of these versions on slabs of these dimensions.
    fn workspace(&self, _: Outline, _versions: &[catalogue::Kernel], _slab: Extents) -> u64 {
        0
    }

    /// The source of its clock, power and temperature readings, if it has one.
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        None
    }

    /// The SIMD level and the threads of a CPU.
    fn cpu(&self) -> Option<(Level, &Team)> {
        None
    }

    /// A worker for slabs of a problem. Workers of one device may work at the same time.
    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>>;
}

/// Sums slabs of one problem on one device. Slabs are finished in the order in which they were begun.
pub trait Worker: Send {
    /// Makes room for about `slabs` slabs of at most `igp` columns, as many as fit; otherwise there is room for one.
    fn expect(&mut self, _igp: usize, _slabs: usize) -> Result<()> {
        Ok(())
    }

    /// The device, for errors of one of several workers.
    fn device(&self) -> &str {
        HOST
    }

    /// How many slabs may be in flight.
    fn depth(&self) -> usize {
        1
    }

    /// Whether slabs displace each other, so that every calculation uploads them again.
    fn streams(&self) -> bool {
        false
    }

    /// Begins to sum a slab at a batch of energies by a version, and uploads what is not in place; the arguments are
    /// not read afterwards. After a failure the slab is not in flight, those begun before still are.
    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<()>;

    /// Places all that [`Worker::begin`] would place, kernels included, so that it only launches.
    fn ready(&mut self, _: SlabView<'_>, _: &Batch, _: catalogue::Kernel) -> Result<()> {
        Ok(())
    }

    /// Allows so many bytes of host memory for what is made of slabs and needed again, such as sorted pairs.
    fn keep(&mut self, _bytes: u64) {}

    /// The sums of the slab that was begun first, which is then no longer in flight, even after a failure.
    fn finish(&mut self) -> Result<SlabSums>;
}

/// The result of one calculation on a slab.
#[derive(Clone, Debug, PartialEq)]
pub struct SlabSums {
    /// `(groups, values)`: the values are the parts of `asx`, then of `ach`, energy by energy.
    pub values: Vec<f64>,
    /// Groups of `igp`: one if the kernel has one sum of the slab, each `igp` in kernels for CPUs.
    pub groups: usize,
    /// Time of the calculation, data already in place.
    pub seconds: f64,
    /// Blocks of a launch, of kernels for GPUs.
    pub blocks: Option<u32>,
    pub upload: Upload,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Upload {
    pub bytes: u64,
    /// From begin to end.
    pub seconds: f64,
}

impl SlabSums {
    /// The sums at all energies, from those of its batches in their order; none without any.
    pub fn joined(batches: impl IntoIterator<Item = SlabSums>) -> Option<SlabSums> {
        batches.into_iter().reduce(|mut all, next| {
            assert_eq!(all.groups, next.groups, "groups of a slab");
            all.values.extend(next.values);
            all.seconds += next.seconds;
            all.upload.bytes += next.upload.bytes;
            all.upload.seconds += next.upload.seconds;
            all
        })
    }
}

/// The name of the CPU.
pub const HOST: &str = "cpu";

/// Properties of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// `cpu`, `gpu:0`, `gpu:1`, …
    pub id: String,
    /// Model.
    pub name: String,
    /// Driver version of a GPU.
    pub driver: Option<String>,
    /// Compute capability of a GPU.
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors, or threads of the CPU.
    pub multiprocessors: u32,
    /// `GPU-…` of a GPU.
    pub uuid: Option<String>,
    /// Highest clock in MHz, if known.
    pub clock_mhz: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

impl DeviceInfo {
    /// Whether it has the instructions of a version.
    pub fn runs(&self, gpu: &GpuVersion) -> bool {
        let capability = self.compute_capability.as_ref().and_then(|text| text.parse().ok());
        capability.is_none_or(|capability: f64| capability >= gpu.capability)
    }

    /// The back end that the device runs.
    pub fn back_end(&self) -> BackEnd {
        if self.id == HOST { BackEnd::Cpu } else { BackEnd::Gpu }
    }
}

/// Properties of a kernel on a device; `None` if one does not apply.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct KernelInfo {
    pub symbol: String,
    pub registers: Option<u32>,
    /// Local memory of a thread in bytes: the stack frame and spills.
    pub local_bytes: Option<u32>,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: Option<u32>,
    /// Warps that fit on an SM.
    pub warps_per_sm: Option<u32>,
}

/// The grid of a launch, in the emulator and on a GPU: `gpu`'s kernels at a batch of energies on a slab and its pairs.
pub fn grid(
    gpu: &GpuVersion,
    problem: &Problem,
    batch: &Batch,
    slab: SlabView,
    pairs: &Pairs,
) -> Result<Grid> {
    let kernel = batch.plan.kernel(gpu);
    let header = problem.header();
    // Neither kernel nor driver would notice.
    assert!(
        slab.igp().end <= header.ngpown
            && slab.ncouls() == header.ncouls
            && slab.nbands() == header.nbands,
        "the slab is part of the problem"
    );
    assert_eq!(batch.id().0, problem.bands().id(), "the batch is of the problem");
    let extents = pairs.counted(Dimensions {
        nbands: header.nbands as u32,
        ngpown: slab.len() as u32,
        ncouls: slab.ncouls() as u32,
        nw: batch.nw() as u32,
        fallback_begins: &[],
        clusters: 0,
    });
    if let Some(Exceeded { what, count }) = kernel.exceeded(&extents) {
        let origin = format!("{} on {}", gpu.id(), problem.name());
        let what = format!("the kernel takes fewer than {BELOW} {what}, found {count}");
        return Err(Error::Input { origin, what });
    }
    Ok(kernel.grid(&extents))
}

/// The entry of `kernel` for `nw` energies.
pub fn entry(kernel: &Kernel, nw: usize) -> &'static Entry {
    kernel.entry(nw).expect("every kernel has an entry for every number of energies")
}

/// Bytes of the arrays that these versions' kernels read, in one layout at a time, for slabs of these dimensions.
pub fn bytes_laid_out(problem: Outline, versions: &[catalogue::Kernel], slab: Extents) -> u64 {
    let of_kernel = |(kernel, nw): (&Kernel, usize)| {
        let (layout, slab) = (kernel.layout, Extents { nw, ..slab });
        // The rows of a part of a slab are not contiguous, so that the original layout too is a copy.
        let aqsm_local = AQSM_LOCAL.bytes(slab, layout);
        let pairs = preparation(layout).bytes_while_made(slab, problem.poles);
        let own = preparation(layout).own_of_bands(problem.keeps_order);
        let bands = own.iter().map(|array| array.bytes(slab, layout));
        bands.fold(aqsm_local.saturating_add(pairs), u64::saturating_add)
    };
    versions.iter().filter_map(|version| version.first(problem)).map(of_kernel).max().unwrap_or(0)
}

/// Called with the fraction of a calculation that is done, from any thread and in any order.
pub type Done<'a> = &'a (dyn Fn(f64) + Sync);

/// Progress and stop of a calculation.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub done: Done<'a>,
    /// Ends the calculation, within a slab too.
    pub stop: &'a Stop,
}

impl Watch<'_> {
    pub fn none() -> Watch<'static> {
        Watch { done: &|_| (), stop: &NEVER }
    }

    /// Fails once the stop is asked.
    pub fn check(&self) -> Result<()> {
        let stopped = |code| Error::Stopped { code, done: 0, all: 1, of: "parts" };
        self.stop.asked().map_or(Ok(()), |code| Err(stopped(code)))
    }
}
