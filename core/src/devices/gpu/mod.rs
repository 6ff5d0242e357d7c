//! A GPU as a device: its context, its kernels and its properties.

pub mod driver;
pub(crate) mod modules;
#[cfg(feature = "nvml")]
pub mod nvml;
pub mod peaks;
pub mod resident;
pub(crate) mod uploads;
mod worker;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use gpp_kernels::versions;

use crate::devices::DeviceInfo;
use crate::devices::gpu::driver::{Context, DeviceAttribute, driver_version};
use crate::devices::gpu::modules::Loaded;
pub use crate::devices::gpu::modules::Ptx;
use crate::error::{Error, Result};
use crate::os::output;

/// The PTX outside of kernels, and the kernels by symbol, packed; none if the build found no compiler for them.
const PACKED: (&str, &[(&str, &[u8])]) = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Why this build has no kernels, if it has none.
pub const NO_KERNELS: Option<&str> = option_env!("GPP_NO_KERNELS");

/// The compiler of the kernels: `rustc 1.96.0, LLVM 22.1.8`.
pub const KERNELS_BY: Option<&str> = option_env!("GPP_KERNELS_BY");

/// The kernels in the program.
pub fn own() -> Ptx {
    Ptx::packed(PACKED.0, PACKED.1)
}

/// The kernels to load: those in the program, or in the file that `GPP_PTX` names.
pub fn kernels() -> Result<Ptx> {
    let Some(path) = std::env::var_os("GPP_PTX") else { return Ok(own()) };
    let text = output::text(path.as_ref()).map_err(|e| Error::Input {
        origin: path.to_string_lossy().into_owned(),
        what: format!("named by GPP_PTX, cannot be read: {e}"),
    })?;
    Ok(Ptx::new(text))
}

/// [`Ptx::hash`] of one of the [`kernels`].
pub fn hash(symbol: &str) -> Option<String> {
    static KERNELS: LazyLock<Option<Ptx>> = LazyLock::new(|| kernels().ok());
    KERNELS.as_ref()?.hash(symbol)
}

/// A GPU, which threads may share.
pub struct Gpu {
    info: DeviceInfo,
    pub(crate) context: Context,
    ptx: Ptx,
    /// Each kernel is loaded at its first use.
    loaded: Mutex<HashMap<String, Arc<Loaded>>>,
    #[cfg(feature = "nvml")]
    gauge: OnceLock<Option<Arc<nvml::OfNvml>>>,
}

impl Gpu {
    pub fn open(index: usize) -> Result<Gpu> {
        Gpu::limited(index, None)
    }

    /// Opens GPU `index`, and takes at most `most` bytes of its memory for arrays.
    pub fn limited(index: usize, most: Option<u64>) -> Result<Gpu> {
        Gpu::with_kernels(index, most, kernels()?)
    }

    /// [`Gpu::limited`] with other kernels of the same names and parameters.
    pub fn with_kernels(index: usize, most: Option<u64>, ptx: Ptx) -> Result<Gpu> {
        let count = Gpu::count()?;
        if index >= count {
            let last = count - 1;
            let why = format!("gpu:{index} was asked for, the last one is gpu:{last}");
            return Err(Error::NoGpu { why });
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
        Ok(Gpu {
            info,
            context,
            ptx,
            loaded: Mutex::default(),
            #[cfg(feature = "nvml")]
            gauge: OnceLock::new(),
        })
    }

    /// For one of `processes` that share the GPU: takes at most an equal part of the memory that is
    /// free once all have opened it.
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

    /// A kernel, loaded if it is not yet. Fails if this GPU lacks its instructions.
    pub(crate) fn load(&self, symbol: &str) -> Result<Arc<Loaded>> {
        if let Some((gpu, ..)) = versions::find(symbol)
            && !self.info.runs(gpu)
        {
            let has = self.info.compute_capability.as_deref().unwrap_or_default();
            let what =
                format!("has compute capability {has}, {} needs {:.1}", gpu.id(), gpu.capability);
            return Err(Error::Input { origin: self.info.id.clone(), what });
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = loaded.get(symbol) {
            return Ok(kernel.clone());
        }
        let ptx = self.ptx.module(symbol).ok_or_else(|| {
            Error::driver(format!("look-up of kernel {symbol}"), "the PTX has none of this name")
        })?;
        let function = self.context.function(&ptx, symbol)?;
        let kernel = Arc::new(Loaded { function, table: Arc::default() });
        loaded.insert(symbol.into(), kernel.clone());
        Ok(kernel)
    }
}

/// When this process launched its first calculation, kernels compiled and data in place.
static FIRST_LAUNCH: OnceLock<Instant> = OnceLock::new();

pub fn first_launch() -> Option<Instant> {
    FIRST_LAUNCH.get().copied()
}
