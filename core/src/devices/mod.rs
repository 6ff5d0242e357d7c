//! Where kernels run: devices, their workers, and what all of them do.

pub mod cpu;
pub mod gauge;
pub mod gpu;

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use gpp_cpu::pool::{CpuTeam, STACK, starting};
use gpp_cpu::simd::Level;
use gpp_cpu::work::{NEVER, Stop};
use gpp_kernels::kernel::{BELOW, Dimensions, Entry, Exceeded, GpuVersion, Kernel};
use gpp_kernels::tiling::Grid;
use serde::{Deserialize, Serialize};

use crate::catalogue;
use crate::catalogue::BackEnd;
use crate::devices::gauge::Gauge;
use crate::error::{Error, Result, invalid};
use crate::problem::layout::PreparedPairs;
use crate::problem::{Batch, Problem, SlabView};

pub trait Device: Sync {
    fn info(&self) -> &DeviceInfo;

    fn back_end(&self) -> BackEnd {
        self.info().back_end()
    }

    fn kernel(&self, _kernel: &Kernel, _entry: &Entry) -> Result<KernelInfo> {
        Ok(KernelInfo::default())
    }

    /// The source of its clock, power and temperature readings, if it has one.
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        None
    }

    fn cpu(&self) -> Option<(Level, &CpuTeam)> {
        None
    }

    /// A worker for slabs of a problem. Workers of one device may work at the same time.
    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>>;
}

/// Sums slabs of one problem on one device. Slabs are finished in the order in which they were begun.
pub trait Worker: Send {
    /// Drops the slabs in place, and keeps up to `slabs` from now on, as many as find room; otherwise one.
    fn expect(&mut self, _slabs: usize) -> Result<()> {
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

    /// Begins to sum a slab at a batch of energies by a version, and uploads what is not in place; the arguments are
    /// not read afterwards. After a failure the slab is not in flight, those begun before still are.
    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Version,
        control: Control,
    ) -> Result<()>;

    /// Places all that [`Worker::begin`] would place, kernels included, so that it only launches.
    fn ready(&mut self, _: SlabView<'_>, _: &Batch, _: catalogue::Version) -> Result<()> {
        Ok(())
    }

    /// The sums of the slab that was begun first, which is then no longer in flight, even after a failure.
    fn finish(&mut self) -> Result<SlabSums>;
}

#[derive(Clone, Debug, Default, PartialEq)]
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
    /// What single precision may lose of the sums at any energy: see [`crate::problem::heavy`].
    pub bound: f64,
    /// Of groups that were summed in FP64 too.
    pub sample: GroupSample,
}

/// What single precision has lost of the sums of some groups of `igp`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSample {
    /// How many igp they have.
    pub igp: usize,
    /// For each value the sums in single precision less those in FP64, then the sizes of these.
    pub lost: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Upload {
    pub bytes: u64,
    /// From begin to end.
    pub seconds: f64,
}

impl SlabSums {
    /// Adds to the sample a group of this number and so many igp, of which these are the sums in FP64.
    pub fn compare(&mut self, group: usize, igp: usize, double: &SlabSums) {
        let GroupSample { igp: all, lost } = &mut self.sample;
        *all += igp;
        lost.resize(self.values.len() / self.groups, [0.0; 2]);
        let single = self.values[group..].iter().step_by(self.groups);
        for ((lost, single), double) in
            lost.iter_mut().zip(single).zip(double.values.chunks(double.groups))
        {
            let double: f64 = double.iter().sum();
            *lost = [lost[0] + (single - double), lost[1] + double.abs()];
        }
    }

    /// The sums at all energies, from those of its batches in their order; none without any.
    pub fn joined(batches: impl IntoIterator<Item = SlabSums>) -> Option<SlabSums> {
        batches.into_iter().reduce(|mut all, next| {
            assert_eq!(all.groups, next.groups, "groups of a slab");
            all.values.extend(next.values);
            all.seconds += next.seconds;
            all.bound = all.bound.max(next.bound);
            all.sample.lost.extend(next.sample.lost);
            all.upload.bytes += next.upload.bytes;
            all.upload.seconds += next.upload.seconds;
            all
        })
    }
}

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
    pub compute_capability: Option<ComputeCapability>,
    /// Streaming multiprocessors, or threads of the CPU.
    pub multiprocessors: u32,
    /// `GPU-…` of a GPU.
    pub uuid: Option<String>,
    /// Highest clock in MHz, if known.
    pub clock_mhz: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// How many times as many operations of FP32 a GPU does as of FP64, by its driver; not in records before that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_over_double: Option<u32>,
}

impl DeviceInfo {
    /// Whether it has the instructions of a version.
    pub fn runs(&self, gpu: &GpuVersion) -> bool {
        self.compute_capability.is_none_or(|capability| capability >= gpu.capability.into())
    }

    /// The back end that the device runs.
    pub fn back_end(&self) -> BackEnd {
        if self.compute_capability.is_none() { BackEnd::Cpu } else { BackEnd::Gpu }
    }
}

/// Compute capability of a GPU; in JSON it is a text, as in `9.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[expect(missing_docs, reason = "their names say it")]
pub struct ComputeCapability {
    pub major: u32,
    pub minor: u32,
}

impl From<(u32, u32)> for ComputeCapability {
    fn from((major, minor): (u32, u32)) -> ComputeCapability {
        ComputeCapability { major, minor }
    }
}

impl Display for ComputeCapability {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl From<ComputeCapability> for String {
    fn from(capability: ComputeCapability) -> String {
        capability.to_string()
    }
}

impl TryFrom<String> for ComputeCapability {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<ComputeCapability, String> {
        let parts = text.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        match parts {
            Some((Ok(major), Ok(minor))) => Ok(ComputeCapability { major, minor }),
            _ => Err(format!("a compute capability is as 9.0, found {text}")),
        }
    }
}

/// Properties of a kernel on a device; `None` if one does not apply.
#[derive(Clone, Debug, Default)]
pub struct KernelInfo {
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
    pairs: &PreparedPairs,
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
    let (fallback_begins, clusters) = pairs.counts();
    let extents = Dimensions {
        nbands: header.nbands as u32,
        ngpown: slab.len() as u32,
        ncouls: slab.ncouls() as u32,
        nw: batch.nw() as u32,
        fallback_begins,
        clusters,
    };
    if let Some(Exceeded { what, count }) = kernel.exceeded(&extents) {
        let origin = format!("{} on {}", gpu.id(), problem.name());
        let what = format!("the kernel takes fewer than {BELOW} {what}, found {count}");
        return Err(invalid(origin, what));
    }
    Ok(kernel.grid(&extents))
}

pub fn entry(kernel: &Kernel, nw: usize) -> &'static Entry {
    kernel.entry(nw).expect("every kernel has an entry for every number of energies")
}

/// Called with the fraction of a calculation that is done, from any thread and in any order.
pub type Advance<'a> = &'a (dyn Fn(f64) + Sync);

/// Progress and stop of a calculation.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    pub advance: Advance<'a>,
    /// Ends the calculation, within a slab too.
    pub stop: &'a Stop,
}

impl Control<'_> {
    pub fn none() -> Control<'static> {
        Control { advance: &|_| (), stop: &NEVER }
    }

    /// Fails once the stop is asked.
    pub fn check(&self) -> Result<()> {
        let stopped = |code| Error::Stopped { code, done: 0, total: 1, unit: "parts" };
        self.stop.asked().map_or(Ok(()), |code| Err(stopped(code)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first GPU, or the CPU if there is none.
    Auto,
    /// The first GPU, or of several processes of a host the next one each.
    Gpu,
    /// These GPUs; one at least, each once.
    Gpus(Vec<usize>),
    /// All GPUs that this process sees.
    AllGpus,
    Cpu,
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Choice> {
        let unknown = || {
            let known = ["auto", "gpu", "gpu:N", "gpu:N,M", "gpu:all", HOST];
            let mut error = Error::unknown("device", text, known);
            if let Error::Unknown { nearest, .. } = &mut error
                && let Some(index) = text.to_lowercase().strip_prefix("cuda")
            {
                *nearest = Some(format!("gpu{index}"));
            }
            error
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Choice::Auto),
            None if text == "gpu" => Ok(Choice::Gpu),
            None if text == HOST => Ok(Choice::Cpu),
            Some(("gpu", "all")) => Ok(Choice::AllGpus),
            Some(("gpu", list)) => {
                let mut indices = Vec::new();
                for index in list.split(',') {
                    let index: usize = index.parse().map_err(|_| unknown())?;
                    if indices.contains(&index) {
                        let what = format!("names gpu:{index} twice");
                        return Err(invalid(format!("--device {text}"), what));
                    }
                    indices.push(index);
                }
                Ok(Choice::Gpus(indices))
            }
            _ => Err(unknown()),
        }
    }
}

/// Starts a thread for one of several workers.
pub fn spawned<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = starting(|| Builder::new().stack_size(STACK).spawn_scoped(scope, work));
    thread.map_err(Error::threads)
}
