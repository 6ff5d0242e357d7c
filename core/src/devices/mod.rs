//! Where the kernels run.

pub mod beside;
pub mod choice;
pub mod gauge;
pub mod gpu;
pub mod host;
pub mod launch;
mod watch;

use std::sync::Arc;

use gpp_kernels::kernel::{Entry, Kernel};
use serde::{Deserialize, Serialize};

use crate::catalogue::{self, BackEnd};
use crate::error::Result;
use crate::problem::{Batch, Extents, Frame, Matrix, Outline, SlabView};
use beside::Beside;
use gauge::Gauge;
use host::Host;
pub use watch::{Done, Watch, spawned};

/// A device that runs every version.
pub trait Device: Sync {
    /// What is known of it.
    fn info(&self) -> &DeviceInfo;

    /// What it runs kernels as.
    fn back_end(&self) -> BackEnd {
        self.info().back_end()
    }

    /// What is known of one of a kernel's entries here.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo>;

    /// Says which entry is needed next, so that the device can get it ready while the
    /// run after this call is under way.
    fn prepare(&self, _entry: &Entry) {}

    /// Bytes that are free for arrays on a device with a memory of its own.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    fn free_memory(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// What the host's memory has to hold beside a problem's arrays while these versions run here, one after the
    /// other, on slabs of these extents.
    fn beside(&self, _: Outline, _versions: &[catalogue::Kernel], _slab: Extents) -> Beside {
        Beside::default()
    }

    /// What shows its clocks, power and temperature, where anything does.
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        None
    }

    /// The processor, where it is that.
    fn host(&self) -> Option<&Host> {
        None
    }

    /// Someone to sum slabs of a problem here. Workers of one device may work at the same time.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    fn worker<'a>(&'a self, problem: &'a Frame) -> Result<Box<dyn Worker + 'a>>;
}

/// Sums slabs of one problem, one after the other.
pub trait Worker: Send {
    /// Makes ready for slabs of so many `igp` at most, about so many in all: as many as there is room for
    /// stay in place. Without it there is room for one.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is no room for the bands and [`Worker::depth`] slabs.
    fn expect(&mut self, _igp: usize, _slabs: usize) -> Result<()> {
        Ok(())
    }

    /// The device, where errors of several workers have to name one.
    fn device(&self) -> &str {
        HOST
    }

    /// How many slabs can be begun before the first of them is finished.
    fn depth(&self) -> usize {
        1
    }

    /// Whether slabs give way to others, so that every calculation uploads them again.
    fn streams(&self) -> bool {
        false
    }

    /// Page-locks memory for as long as the result lives, which owns it: slabs that lie there are uploaded
    /// without a copy. None where that is of no use, and where the system refuses it.
    fn lock(&self, _memory: Arc<Matrix>) -> Option<Locked> {
        None
    }

    /// Makes room for a slab and puts there what kernels of all layouts read; nothing where it is there
    /// already. The rest goes there when a kernel first wants it.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where they do not fit, checked before anything is allocated;
    /// [`Error::Driver`](crate::Error::Driver).
    fn place(&mut self, slab: SlabView<'_>) -> Result<()>;

    /// Begins to sum a slab at a batch of energies by a version's kernels, second stage included; it is placed
    /// first where it is not. After this returns, the device reads only what is [locked](Worker::lock): whoever
    /// drops the lock waits until that has ended. `watch` is told how far the sum is, where the device knows.
    /// Where this fails the slab is not under way, and those begun before still are.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped) if the watch has it stop. As [`Worker::place`]; [`Error::Problem`](crate::Error::Problem) where the slab is too large for the kernel;
    /// [`Error::Data`](crate::Error::Data) where the kernel is for other devices.
    ///
    /// # Panics
    /// Where [`Worker::depth`] slabs are under way, or one at another batch.
    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<()>;

    /// Has all in place that [`Worker::begin`] would put there, kernels included, so that it does nothing but
    /// launch.
    ///
    /// # Errors
    /// Those of [`Worker::begin`].
    fn ready(&mut self, _: SlabView<'_>, _: &Batch, _: catalogue::Kernel) -> Result<()> {
        Ok(())
    }

    /// Makes what the host makes of a slab for a batch that is to be begun next, while another is under way.
    fn look_ahead(&mut self, _: SlabView<'_>, _: &Batch, _: catalogue::Kernel) {}

    /// Allows so many bytes of the host's memory for what is made of slabs and needed in each calculation, such
    /// as sorted pairs; of what finds no room it is made each time. Without it there are few.
    fn keep(&mut self, _bytes: u64) {}

    /// The sums of the slab that was begun first, which is no longer under way, also where this fails.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where none was begun.
    fn finish(&mut self) -> Result<SlabSums>;

    /// Forgets what is in place of slabs, none of which is under way.
    fn forget(&mut self);

    /// Sums a slab at a batch of energies.
    ///
    /// # Errors
    /// Those of [`Worker::begin`] and [`Worker::finish`].
    fn sum(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<SlabSums> {
        self.begin(slab, batch, kernel, watch)?;
        self.finish()
    }
}

/// Holds memory page-locked, and owns it.
pub type Locked = Box<dyn Send>;

/// What one calculation on a slab gives.
#[derive(Clone, Debug, PartialEq)]
pub struct SlabSums {
    /// `(groups, values)`: the values are the parts of `asx`, then of `ach`, energy by energy.
    pub values: Vec<f64>,
    /// Groups of `igp`, in their order; one where the kernel keeps one sum of the slab, as many as there
    /// are `igp` where it is made for processors.
    pub groups: usize,
    /// Time of the calculation, data already in place.
    pub seconds: f64,
    /// Blocks of a launch, of kernels for GPUs.
    pub blocks: Option<u32>,
    /// What was uploaded for it.
    pub upload: Upload,
}

/// What was uploaded to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Upload {
    /// Bytes; none where all was in place.
    pub bytes: u64,
    /// From the first to the last of them.
    pub seconds: f64,
}

impl Upload {
    /// This and another one, one after the other.
    #[must_use]
    pub fn and(self, other: Upload) -> Upload {
        Upload { bytes: self.bytes + other.bytes, seconds: self.seconds + other.seconds }
    }
}

impl SlabSums {
    /// Of all energies, from those of its batches in their order; none without any.
    ///
    /// # Panics
    /// Where they are of other groups.
    pub fn joined(batches: impl IntoIterator<Item = SlabSums>) -> Option<SlabSums> {
        let join = |mut all: SlabSums, next: SlabSums| {
            assert_eq!(all.groups, next.groups, "groups of a slab");
            all.values.extend(next.values);
            all.seconds += next.seconds;
            all.upload = all.upload.and(next.upload);
            all
        };
        batches.into_iter().reduce(join)
    }

    /// Of a range of `igp`, from those of its parts in their order; blocks are those of the largest launch. None
    /// without any.
    pub fn side_by_side(parts: impl IntoIterator<Item = SlabSums>) -> Option<SlabSums> {
        let join = |one: SlabSums, next: SlabSums| {
            let count = one.values.len().checked_div(one.groups).unwrap_or(0);
            let of_value = |value| [one.of_value(value), next.of_value(value)].concat();
            SlabSums {
                values: (0..count).flat_map(of_value).collect(),
                groups: one.groups + next.groups,
                seconds: one.seconds + next.seconds,
                blocks: one.blocks.max(next.blocks),
                upload: one.upload.and(next.upload),
            }
        };
        parts.into_iter().reduce(join)
    }

    /// One of the values, of each group.
    pub fn of_value(&self, value: usize) -> &[f64] {
        &self.values[value * self.groups..][..self.groups]
    }
}

/// The id of the host.
pub const HOST: &str = "cpu";

/// What is known of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// `cpu`, `gpu:0`, `gpu:1`, …
    pub id: String,
    /// Model.
    pub name: String,
    /// Driver version, of a GPU.
    pub driver: Option<String>,
    /// Compute capability, of a GPU.
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors, or threads of the host.
    pub multiprocessors: u32,
    /// What tells a GPU from all others, `GPU-…`; null in older records.
    pub uuid: Option<String>,
    /// Highest clock in MHz, where known.
    pub clock_mhz: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

impl DeviceInfo {
    /// What the device runs kernels as.
    pub fn back_end(&self) -> BackEnd {
        if self.id == HOST { BackEnd::Cpu } else { BackEnd::Gpu }
    }
}

/// What is known of one kernel on one device; `None` where it does not apply.
#[derive(Clone, Debug, Default)]
pub struct KernelInfo {
    /// Kernel symbol.
    pub symbol: String,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Local memory of a thread in bytes: the stack frame and spills.
    pub local_bytes: Option<u32>,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: Option<u32>,
    /// Warps that fit on a multiprocessor.
    pub warps_per_sm: Option<u32>,
}
