//! Peaks of a GPU: measured by kernels, and the clocks and widths for theoretical ones.

use std::ffi::c_void;

use gpp_kernels::arrays::Arguments;
use gpp_kernels::peaks::{
    CHAINS, FMA_STEPS, FMA_SYMBOL, FmaArguments, READ_SYMBOLS, ReadArguments, THREADS,
};

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{DeviceAttribute as Attribute, Function};
use crate::error::Result;

/// Blocks of each SM, enough to fill it.
const BLOCKS: u32 = 8;

/// Timed runs, of which the fastest counts.
const RUNS: usize = 5;

/// Seconds of FMA before the sustained rate is measured: at its power limit a GPU settles in tenths of a second.
const SETTLING: f64 = 1.0;

/// Seconds of FMA for the sustained rate.
pub const SUSTAINED: f64 = 1.0;

/// Seconds of FMA in a row for the highest rate, so that begin and end of a launch do not count.
const BURST: f64 = 0.05;

/// Launches in a row at most, for a device whose events show no time.
const LAUNCHES: f64 = 100_000.0;

/// A buffer much larger than any L2, if memory allows.
const MEMORY_BYTES: u64 = 4 << 30;

/// A tile that any L1 holds.
const L1_BYTES: u64 = 16 << 10;

/// Operations and bytes a second as measured, and what the driver reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Highest rate of FP64 operations, all of them fused.
    pub fp64: f64,
    /// FP64 operations over [`SUSTAINED`] seconds, measured last.
    pub fp64_sustained: f64,
    pub hbm: f64,
    pub l2: f64,
    pub l1: f64,
    pub capability: (u32, u32),
    pub multiprocessors: u32,
    pub hertz: f64,
    pub memory_hertz: f64,
    pub bus_bits: f64,
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
        let seconds =
            |function: &Function, arguments: &[*const c_void], count: u32| -> Result<f64> {
                begin.record(&stream)?;
                for _ in 0..count {
                    // SAFETY: the arguments are the kernel's, and their buffers live until the event is reached.
                    unsafe { function.launch(&stream, [blocks, THREADS, 0], arguments)? };
                }
                end.record(&stream)?;
                Ok(end.seconds_since(&begin, "peaks")? / f64::from(count))
            };
        let fastest =
            |function: &Function, arguments: &[*const c_void], count: u32| -> Result<f64> {
                // The first run warms up.
                seconds(function, arguments, count)?;
                let mut runs = (0..RUNS).map(|_| seconds(function, arguments, count));
                runs.try_fold(f64::INFINITY, |fastest, run| Ok(fastest.min(run?)))
            };

        let fma = self.load(FMA_SYMBOL)?;
        let fma = &fma.function;
        let arguments = FmaArguments { factor: 0.5, term: 1.0, sink: sink.pointer() };
        let arguments = &arguments.pointers();
        let once = fastest(fma, arguments, 1)?;
        let burst = fastest(fma, arguments, in_row(BURST, once))?;

        let (free, _) = context.memory()?;
        let bytes = MEMORY_BYTES.min(free / 2);
        let memory = context.buffer::<u8>("buffer of the peaks", bytes as usize)?;
        memory.clear(&stream)?;
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

        // Last, since it heats the GPU.
        seconds(fma, arguments, in_row(SETTLING, burst))?;
        let sustained = seconds(fma, arguments, in_row(SUSTAINED, burst))?;
        let operations = 2.0 * f64::from(blocks * THREADS) * CHAINS as f64 * f64::from(FMA_STEPS);
        Ok(Peaks {
            fp64: operations / burst.min(sustained),
            fp64_sustained: operations / sustained,
            hbm,
            l2,
            l1,
            capability: (
                attribute(Attribute::ComputeCapabilityMajor)?,
                attribute(Attribute::ComputeCapabilityMinor)?,
            ),
            multiprocessors,
            hertz: 1e3 * f64::from(attribute(Attribute::ClockRate)?),
            memory_hertz: 1e3 * f64::from(attribute(Attribute::MemoryClockRate)?),
            bus_bits: f64::from(attribute(Attribute::GlobalMemoryBusWidth)?),
        })
    }
}

/// Launches that take so many seconds, one of which takes `once`.
fn in_row(seconds: f64, once: f64) -> u32 {
    (seconds / once).clamp(1.0, LAUNCHES).ceil() as u32
}
