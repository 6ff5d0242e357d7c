//! A GPU, and its peaks: measured by kernels, and the clocks and widths for theoretical ones.

pub mod driver;
pub(crate) mod modules;
pub(crate) mod uploads;
pub(crate) mod worker;

use std::collections::HashMap;
use std::ffi::c_void;
#[cfg(feature = "nvml")]
use std::sync::OnceLock;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use gpp_kernels::arrays::Arguments;
use gpp_kernels::peaks::{
    CHAINS, FMA_STEPS, FMA_SYMBOL, FmaArguments, READ_SYMBOLS, ReadArguments, THREADS,
};
use gpp_kernels::versions;

#[cfg(feature = "nvml")]
use crate::devices::gauge::nvml::NvmlGauge;
use crate::devices::gpu::driver::{
    Context, DeviceAttribute as Attribute, Function, driver_version,
};
use crate::devices::gpu::modules::Loaded;
pub use crate::devices::gpu::modules::Ptx;
use crate::devices::gpu::uploads::FreeChunks;
use crate::devices::{ComputeCapability, DeviceInfo};
use crate::error::{Error, Result, invalid};
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
    let unreadable = |e| format!("named by GPP_PTX, cannot be read: {e}");
    let text =
        output::text(path.as_ref()).map_err(|e| invalid(path.to_string_lossy(), unreadable(e)))?;
    Ok(Ptx::new(text))
}

/// [`Ptx::hash`] of one of the [`kernels`].
pub fn hash(symbol: &str) -> Option<String> {
    static KERNELS: LazyLock<Option<Ptx>> = LazyLock::new(|| kernels().ok());
    KERNELS.as_ref()?.hash(symbol)
}

/// A GPU, which threads may share.
pub struct Gpu {
    pub(crate) index: usize,
    info: DeviceInfo,
    pub(crate) context: Context,
    ptx: Ptx,
    /// By symbol, and the number of those that load it.
    loaded: Mutex<HashMap<(String, usize), Arc<Loaded>>>,
    pub(crate) free: FreeChunks,
    #[cfg(feature = "nvml")]
    gauge: OnceLock<Option<Arc<NvmlGauge>>>,
}

impl Gpu {
    /// Opens GPU `index`, and takes at most `most` bytes of its memory for arrays.
    pub fn limited(index: usize, most: Option<u64>) -> Result<Gpu> {
        Gpu::with_kernels(index, most, kernels()?)
    }

    /// [`Gpu::limited`] with other kernels of the same names and parameters.
    pub fn with_kernels(index: usize, most: Option<u64>, ptx: Ptx) -> Result<Gpu> {
        let count = Gpu::count()?;
        if index >= count {
            let last = count - 1;
            let why = format!("gpu:{index} does not exist; the last is gpu:{last}");
            return Err(Error::NoGpu { why });
        }
        let context = Context::open(index)?.limited(most.unwrap_or(u64::MAX));
        let capability = ComputeCapability {
            major: context.attribute(Attribute::ComputeCapabilityMajor)?,
            minor: context.attribute(Attribute::ComputeCapabilityMinor)?,
        };
        let info = DeviceInfo {
            id: format!("gpu:{index}"),
            name: context.name()?,
            driver: Some(format!("CUDA {}", driver_version()?)),
            compute_capability: Some(capability),
            multiprocessors: context.attribute(Attribute::MultiprocessorCount)?,
            uuid: Some(context.uuid()?),
            clock_mhz: Some(context.attribute(Attribute::ClockRate)? / 1000),
            memory_bytes: context.memory()?.1,
            single_over_double: Some(
                context.attribute(Attribute::SingleToDoublePrecisionPerfRatio)?,
            ),
        };
        Ok(Gpu {
            index,
            info,
            context,
            ptx,
            loaded: Mutex::default(),
            free: FreeChunks::default(),
            #[cfg(feature = "nvml")]
            gauge: OnceLock::new(),
        })
    }

    /// For one of `processes` on the GPU: at most an equal part of the memory that is free once all have opened it.
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

    /// A kernel, loaded if it is not yet. Fails if this GPU lacks its instructions.
    pub(crate) fn load(&self, symbol: &str) -> Result<Arc<Loaded>> {
        self.load_as(symbol, 0)
    }

    /// The same in a module of this number's own.
    pub(crate) fn load_as(&self, symbol: &str, number: usize) -> Result<Arc<Loaded>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (symbol.to_string(), number);
        if let Some(kernel) = loaded.get(&key) {
            return Ok(kernel.clone());
        }
        if let Some((gpu, ..)) = versions::find(symbol)
            && !self.info.runs(gpu)
        {
            let has = self.info.compute_capability.unwrap_or_default();
            let needs = ComputeCapability::from(gpu.capability);
            let what = format!("has compute capability {has}, {} needs {needs}", gpu.id());
            return Err(invalid(&self.info.id, what));
        }
        let ptx = self.ptx.module(symbol).ok_or_else(|| {
            Error::driver(format!("look-up of kernel {symbol}"), "the PTX lacks this kernel")
        })?;
        let function = self.context.function(&ptx, symbol)?;
        let kernel = Arc::new(Loaded { function, table: Arc::default() });
        loaded.insert(key, kernel.clone());
        Ok(kernel)
    }
}

/// Blocks of each SM, enough to fill it.
const BLOCKS: u32 = 8;

/// Timed runs, of which the fastest counts.
const RUNS: usize = 5;

/// Seconds of FMA in a row for the highest rate, so that begin and end of a launch do not count.
const BURST: f64 = 0.05;

/// Launches in a row at most, for a device whose events show no time.
const LAUNCHES: f64 = 100_000.0;

/// A buffer much larger than any L2, if memory allows.
const MEMORY_BYTES: u64 = 4 << 30;

const L1_BYTES: u64 = 16 << 10;

/// Operations and bytes a second as measured, and what the driver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Highest rate of FP64 operations, all of them fused.
    pub fp64: f64,
    pub hbm: f64,
    pub l2: f64,
    pub l1: f64,
    /// By the highest clock: 4 bytes × 32 lanes a clock and SM.
    pub shared: f64,
}

impl Gpu {
    pub fn peaks(&self) -> Result<Peaks> {
        let context = &self.context;
        let attribute = |attribute| context.attribute(attribute);
        let multiprocessors = attribute(Attribute::MultiprocessorCount)?;
        let blocks = multiprocessors * BLOCKS;
        let stream = context.stream("the peaks")?;
        let sink = context.buffer::<f64>("sink of the peaks", 1)?;
        let (begin, end) = (context.event()?, context.event()?);
        // Seconds of a launch, of so many in a row.
        let fastest =
            |function: &Function, arguments: &[*const c_void], count: u32| -> Result<f64> {
                let mut fastest = f64::INFINITY;
                for run in 0..=RUNS {
                    begin.record(&stream)?;
                    for _ in 0..count {
                        // SAFETY: the arguments are the kernel's, and their buffers live until the event is reached.
                        unsafe { function.launch(&stream, [blocks, THREADS, 0], arguments)? };
                    }
                    end.record(&stream)?;
                    let seconds = end.seconds_since(&begin, "peaks")? / f64::from(count);
                    // The first run warms up.
                    fastest = if run == 0 { fastest } else { fastest.min(seconds) };
                }
                Ok(fastest)
            };

        let fma = self.load(FMA_SYMBOL)?;
        let fma = &fma.function;
        let arguments = FmaArguments { factor: 0.5, term: 1.0, sink: sink.pointer() };
        let arguments = &arguments.pointers();
        let once = fastest(fma, arguments, 1)?;
        let launches = (BURST / once).clamp(1.0, LAUNCHES).ceil() as u32;
        let burst = fastest(fma, arguments, launches)?;

        let (free, _) = context.memory()?;
        let bytes = MEMORY_BYTES.min(free / 2);
        let memory = context.buffer::<u8>("buffer of the peaks", bytes as usize)?;
        memory.fill(0, memory.len(), &stream)?;
        let read = |symbol: &str, bytes: u64, passes: u32| -> Result<f64> {
            let (buffer, count) = (memory.pointer().cast(), (bytes / 16) as u32);
            let arguments = ReadArguments { buffer, count, passes, sink: sink.pointer() };
            let seconds = fastest(&self.load(symbol)?.function, &arguments.pointers(), 1)?;
            Ok(f64::from(passes) * bytes as f64 / seconds)
        };
        let [by_all, by_block] = READ_SYMBOLS;
        let hbm = read(by_all, bytes, 1)?;
        let l2 = read(by_all, u64::from(attribute(Attribute::L2CacheSize)?) / 3, 100)?;
        // Every block reads the whole tile.
        let l1 = read(by_block, L1_BYTES, 2000)? * f64::from(blocks);

        let operations = 2.0 * f64::from(blocks * THREADS) * CHAINS as f64 * f64::from(FMA_STEPS);
        Ok(Peaks {
            fp64: operations / burst,
            hbm,
            l2,
            l1,
            shared: 128e3
                * f64::from(multiprocessors)
                * f64::from(attribute(Attribute::ClockRate)?),
        })
    }
}
