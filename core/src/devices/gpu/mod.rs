//! A GPU, through its driver.

pub mod ceilings;
pub mod driver;
pub(crate) mod modules;
#[cfg(feature = "nvml")]
pub mod nvml;
pub mod resident;
pub(crate) mod uploads;
mod worker;

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

use gpp_kernels::versions;

use crate::devices::DeviceInfo;
use crate::devices::gpu::driver::{Context, DeviceAttribute, driver_version};
pub use crate::devices::gpu::modules::Ptx;
use crate::devices::gpu::modules::{Loaded, Modules};
use crate::error::{Error, Result};
use crate::system::output;

/// What the kernels' PTX has in common, and the kernels by their symbols, packed; none if the build found
/// no compiler for them.
const PACKED: (&str, &[(&str, &[u8])]) = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Why there are no kernels in this build, where there are none.
pub const NO_KERNELS: Option<&str> = option_env!("GPP_NO_KERNELS");

/// The compiler that built the kernels in the program: `rustc 1.96.0, LLVM 22.1.8`.
pub const KERNELS_BY: Option<&str> = option_env!("GPP_KERNELS_BY");

pub fn own() -> Ptx {
    Ptx::packed(PACKED.0, PACKED.1)
}

/// The kernels to load: those in the program, or those of the file that `GPP_PTX` names.
pub fn kernels() -> Result<Ptx> {
    let Some(path) = std::env::var_os("GPP_PTX") else { return Ok(own()) };
    let text = output::text(path.as_ref()).map_err(|e| Error::Input {
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
};

impl Gpu {
    pub fn open(index: usize) -> Result<Gpu> {
        Gpu::limited(index, None)
    }

    /// Opens GPU `index`, of whose memory no more than `most` bytes are taken for arrays.
    pub fn limited(index: usize, most: Option<u64>) -> Result<Gpu> {
        Gpu::with_kernels(index, most, kernels()?)
    }

    /// The same with other kernels of the same names and parameters.
    pub fn with_kernels(index: usize, most: Option<u64>, kernels: Ptx) -> Result<Gpu> {
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
        let modules = Modules::new(kernels, context.clone());
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
    pub fn shared(self, processes: usize) -> Result<Gpu> {
        if processes < 2 {
            return Ok(self);
        }
        let (free, _) = self.context.memory()?;
        let context = self.context.clone().limited(free / processes as u64);
        Ok(Gpu { context, ..self })
    }

    pub fn count() -> Result<usize> {
        let count = driver::devices()?;
        match NO_KERNELS {
            Some(why) => Err(Error::NoGpu { why: why.into() }),
            None => Ok(count),
        }
    }

    pub fn stream(&self, what: &'static str) -> Result<driver::Stream> {
        self.context.stream(what)
    }

    fn module(&self, symbol: &str) -> Result<Arc<Loaded>> {
        if let Some((gpu, ..)) = versions::find(symbol)
            && !self.info.runs(gpu)
        {
            let has = self.info.compute_capability.as_deref().unwrap_or_default();
            let what =
                format!("has compute capability {has}, {} needs {:.1}", gpu.id(), gpu.capability);
            return Err(Error::Input { origin: self.info.id.clone(), what });
        }
        self.modules.get(symbol)
    }
}

// When this process launched its first calculation.

static FIRST: OnceLock<Instant> = OnceLock::new();

/// A calculation is about to be launched; only the first counts.
fn now() {
    FIRST.get_or_init(Instant::now);
}

/// When it was, kernels compiled and data in place; none before.
pub fn first_launch() -> Option<Instant> {
    FIRST.get().copied()
}
