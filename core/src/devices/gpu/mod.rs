//! A GPU, through its driver.

mod arguments;
mod bands;
pub mod ceilings;
mod code;
pub mod cuda_cpp;
#[cfg(feature = "gpu")]
pub mod driver;
#[cfg(not(feature = "gpu"))]
#[path = "absent.rs"]
pub mod driver;
mod first_launch;
mod lane;
pub mod lent;
pub(crate) mod modules;
#[cfg(feature = "nvml")]
pub mod nvml;
mod pairs;
mod placed;
pub mod ptx;
mod relaid;
pub mod resident;
mod ring;
mod uploads;
mod worker;
mod working;

#[cfg(feature = "nvml")]
use std::sync::OnceLock;
use std::sync::{Arc, LazyLock};

use gpp_kernels::intrinsics::WARP;
use gpp_kernels::kernel::{Entry, Kernel};

use super::beside::{Beside, of_layouts};
#[cfg(feature = "nvml")]
use super::gauge::Gauge;
use super::{Device, DeviceInfo, KernelInfo, Worker};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::problem::{Extents, Frame, Outline};
use crate::system::input;
use driver::{Context, DeviceAttribute, FunctionAttribute, driver_version};
pub use first_launch::first_launch;
use lane::Lane;
use modules::{Loaded, Modules};
use pairs::PairsCache;
use ptx::Ptx;
use ring::Ring;
use worker::OnGpu;

/// What the kernels' PTX has in common, and the kernels by their symbols, packed; none where the build found
/// no compiler for them.
const PACKED: (&str, &[(&str, &[u8])]) = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Why there are no kernels in this build, where there are none.
pub const NO_KERNELS: Option<&str> = option_env!("GPP_NO_KERNELS");

/// The compiler that built the kernels in the program: `rustc 1.96.0, LLVM 22.1.8`.
pub const KERNELS_BY: Option<&str> = option_env!("GPP_KERNELS_BY");

/// The kernels in the program.
pub fn own() -> Ptx {
    Ptx::packed(PACKED.0, PACKED.1)
}

/// The kernels to load: those in the program, or those of the file that `GPP_PTX` names.
///
/// # Errors
/// [`Error::Data`] for a file that cannot be read.
pub fn kernels() -> Result<Ptx> {
    let Some(path) = std::env::var_os("GPP_PTX") else { return Ok(own()) };
    let text = input::text(path.as_ref()).map_err(|e| Error::Data {
        origin: path.to_string_lossy().into_owned(),
        what: format!("named by GPP_PTX, cannot be read: {e}"),
    })?;
    Ok(Ptx::new(text))
}

/// What tells the code of a kernel from others', of those that [`kernels`] has: see [`Ptx::hash`].
pub fn hash(symbol: &str) -> Option<String> {
    static KERNELS: LazyLock<Option<Ptx>> = LazyLock::new(|| kernels().ok());
    KERNELS.as_ref()?.hash(symbol)
}

/// A GPU, which loads each kernel when it is first asked for. Threads may share it.
pub struct Gpu {
    pub(crate) modules: Modules,
    info: DeviceInfo,
    pub(crate) context: Context,
    /// Looked for when it is first wanted.
    #[cfg(feature = "nvml")]
    gauge: OnceLock<Option<Arc<nvml::OfNvml>>>,
}

const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<Gpu>();
    any_thread::<OnGpu>();
};

impl Gpu {
    /// Opens GPU `index`.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without kernels, driver or device; [`Error::Driver`].
    pub fn open(index: usize) -> Result<Gpu> {
        Gpu::limited(index, None)
    }

    /// Opens GPU `index`, of whose memory no more than `most` bytes are taken for arrays.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn limited(index: usize, most: Option<u64>) -> Result<Gpu> {
        let count = Gpu::count()?;
        if index >= count {
            let last = count - 1;
            return Err(Error::NoGpu {
                why: format!("gpu:{index} was asked for, the last one is gpu:{last}"),
            });
        }
        let context = Context::open(index)?;
        let context = most.map_or(context.clone(), |most| context.limited(most));
        let major = context.attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = context.attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        let info = DeviceInfo {
            id: format!("gpu:{index}"),
            name: context.name()?,
            driver: Some(format!("CUDA {}", driver_version()?)),
            compute_capability: Some(format!("{major}.{minor}")),
            multiprocessors: context.attribute(DeviceAttribute::MultiprocessorCount)?,
            uuid: Some(context.uuid()?),
            clock_mhz: Some(context.attribute(DeviceAttribute::ClockRate)? / 1000),
            memory_bytes: context.memory()?.1,
        };
        let modules = Modules::new(kernels()?, context.clone());
        Ok(Gpu {
            modules,
            info,
            context,
            #[cfg(feature = "nvml")]
            gauge: OnceLock::new(),
        })
    }

    /// The same for one of so many processes that share the device: an equal part of the memory that is free when
    /// all have opened it.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn shared(self, processes: usize) -> Result<Gpu> {
        if processes < 2 {
            return Ok(self);
        }
        let (free, _) = self.context.memory()?;
        let context = self.context.clone().limited(free / processes as u64);
        Ok(Gpu { context, ..self })
    }

    /// GPUs that this process sees.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without kernels, driver or device; [`Error::Driver`].
    pub fn count() -> Result<usize> {
        let count = driver::devices()?;
        match NO_KERNELS {
            Some(why) => Err(Error::NoGpu { why: why.into() }),
            None => Ok(count),
        }
    }

    /// A stream of this GPU.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn stream(&self, what: &'static str) -> Result<driver::Stream> {
        self.context.stream(what)
    }

    /// The module of a kernel.
    fn module(&self, symbol: &str) -> Result<Arc<Loaded>> {
        self.modules.get(symbol)
    }
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        let module = self.module(entry.symbol)?;
        let function = module.module.function(entry.symbol)?;
        let threads = kernel.threads;
        let attribute = |attribute| function.attribute(attribute).map(Some);
        let blocks = function.blocks_per_multiprocessor(threads)?;
        Ok(KernelInfo {
            symbol: entry.symbol.into(),
            registers: attribute(FunctionAttribute::NumRegisters)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            warps_per_sm: Some(blocks * threads / WARP),
        })
    }

    fn free_memory(&self) -> Result<Option<u64>> {
        Ok(Some(self.context.memory()?.0))
    }

    fn beside(&self, problem: Outline, versions: &[catalogue::Kernel], slab: Extents) -> Beside {
        // What is laid out goes when it is uploaded. Odd poles stay, those of all slabs.
        let laid = of_layouts(problem, versions, slab).fold(Beside::default(), Beside::or);
        let bands = PairsCache::most(problem, versions) + Ring::MOST;
        laid + Beside { bands, slab: 0 }
    }

    #[cfg(feature = "nvml")]
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        let gauge =
            self.gauge.get_or_init(|| nvml::OfNvml::of(self.info.uuid.as_deref()?).map(Arc::new));
        gauge.clone().map(|gauge| gauge as Arc<dyn Gauge>)
    }

    fn prepare(&self, entry: &Entry) {
        self.modules.want(entry.symbol);
    }

    fn worker<'a>(&'a self, problem: &'a Frame) -> Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(OnGpu::new(self, problem, Lane::new(&self.context)?)))
    }
}
