//! What this GPU can do, measured by our own kernels, and the clocks and widths that promise more.

use std::ffi::c_void;

use gpp_kernels::peaks::{
    CHAINS, FMA_STEPS, FMA_SYMBOL, FmaArguments, READ_SYMBOLS, ReadArguments, THREADS,
};

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{DeviceAttribute as Attribute, Function, Stream};
use crate::error::Result;

/// Blocks of each multiprocessor, enough to fill it.
const BLOCKS: u32 = 8;

/// Timed runs, of which the fastest counts: a ceiling is the best there is.
const RUNS: usize = 5;

/// Seconds for which FMA run before the rate that the power limit leaves is taken, and for which it is
/// taken: the board finds its clock in tenths of a second.
const SETTLING: f64 = 1.0;
/// See `SETTLING`.
pub const SUSTAINED: f64 = 1.0;

/// Seconds of FMA in a row of which the fastest counts: a launch alone has its begin and its end in its time.
const BURST: f64 = 0.05;

/// Launches in a row at most, on a device whose events tell of no time.
const LAUNCHES: f64 = 100_000.0;

/// A buffer much larger than any L2, if memory allows.
const MEMORY_BYTES: u64 = 4 << 30;

/// A tile that any L1 holds.
const L1_BYTES: u64 = 16 << 10;

/// What was measured, in operations and bytes a second, and what the driver tells of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// FP64 operations, all of them fused: the highest rate that was seen.
    pub fp64: f64,
    /// FP64 operations over [`SUSTAINED`] seconds, after others; the last that is measured.
    pub fp64_sustained: f64,
    pub hbm: f64,
    /// Reads from L2.
    pub l2: f64,
    /// Reads from L1.
    pub l1: f64,
    pub capability: (u32, u32),
    pub multiprocessors: u32,
    pub hertz: f64,
    pub memory_hertz: f64,
    pub bus_bits: f64,
}

impl Gpu {
    pub fn limits(&self) -> Result<Limits> {
        let context = &self.context;
        let multiprocessors = context.attribute(Attribute::MultiprocessorCount)?;
        let l2_bytes = u64::from(context.attribute(Attribute::L2CacheSize)?);
        let blocks = multiprocessors * BLOCKS;
        let stream = context.stream("the ceilings")?;
        let sink = context.buffer::<f64>("sink of the ceilings", 1)?;

        let fma = self.module(FMA_SYMBOL)?;
        let fma = fma.module.function(FMA_SYMBOL)?;
        // The chains stay finite: |factor| < 1.
        let arguments = FmaArguments { factor: 0.5, term: 1.0, sink: sink.pointer() };
        let once = self.fastest(&fma, &stream, blocks, &arguments.pointers(), 1)?;
        let row = in_row(BURST, once);
        let burst = self.fastest(&fma, &stream, blocks, &arguments.pointers(), row)?;
        let operations = 2.0 * f64::from(blocks * THREADS) * CHAINS as f64 * f64::from(FMA_STEPS);

        let (free, _) = context.memory()?;
        let memory =
            context.buffer::<u8>("buffer of the ceilings", MEMORY_BYTES.min(free / 2) as usize)?;
        memory.clear(&stream)?;
        let [shared, tile] = READ_SYMBOLS.map(|symbol| self.module(symbol));
        let (shared, tile) = (shared?, tile?);
        let (shared, tile) =
            (shared.module.function(READ_SYMBOLS[0])?, tile.module.function(READ_SYMBOLS[1])?);
        let read = |function: &Function, bytes: u64, passes: u32| -> Result<f64> {
            let (buffer, count) = (memory.pointer().cast(), (bytes / 16) as u32);
            let arguments = ReadArguments { buffer, count, passes, sink: sink.pointer() };
            let seconds = self.fastest(function, &stream, blocks, &arguments.pointers(), 1)?;
            Ok(f64::from(passes) * bytes as f64 / seconds)
        };
        let hbm = read(&shared, memory.bytes() as u64, 1)?;
        let l2 = read(&shared, l2_bytes / 3, 100)?;
        // Every block reads the whole tile.
        let l1 = read(&tile, L1_BYTES, 2000)? * f64::from(blocks);
        let hertz = 1e3 * f64::from(context.attribute(Attribute::ClockRate)?);
        let memory_hertz = 1e3 * f64::from(context.attribute(Attribute::MemoryClockRate)?);
        let bus_bits = f64::from(context.attribute(Attribute::GlobalMemoryBusWidth)?);
        let capability = (
            context.attribute(Attribute::ComputeCapabilityMajor)?,
            context.attribute(Attribute::ComputeCapabilityMinor)?,
        );
        // Last, since it warms the board.
        let sustained = self.sustained(&fma, &stream, blocks, &arguments.pointers(), burst)?;
        let [burst, fp64_sustained] = [burst, sustained].map(|seconds| operations / seconds);
        Ok(Limits {
            fp64: burst.max(fp64_sustained),
            fp64_sustained,
            hbm,
            l2,
            l1,
            capability,
            multiprocessors,
            hertz,
            memory_hertz,
            bus_bits,
        })
    }

    /// Seconds of a launch among many in a row, once the clock has settled; alone it takes `once`.
    fn sustained(
        &self,
        function: &Function,
        stream: &Stream,
        blocks: u32,
        arguments: &[*const c_void],
        once: f64,
    ) -> Result<f64> {
        let (settled, end) = (self.context.event()?, self.context.event()?);
        for (seconds, then) in [(SETTLING, &settled), (SUSTAINED, &end)] {
            for _ in 0..in_row(seconds, once) {
                // SAFETY: as in `fastest`.
                unsafe { function.launch(stream, blocks, THREADS, arguments)? };
            }
            then.record(stream)?;
        }
        let seconds = end.seconds_since(&settled, "ceilings")?;
        Ok(seconds / f64::from(in_row(SUSTAINED, once)))
    }

    /// Seconds of a launch in the fastest of some rows of launches, after one that is not timed.
    fn fastest(
        &self,
        function: &Function,
        stream: &Stream,
        blocks: u32,
        arguments: &[*const c_void],
        row: u32,
    ) -> Result<f64> {
        let (begin, end) = (self.context.event()?, self.context.event()?);
        let mut fastest = f64::INFINITY;
        for run in 0..=RUNS {
            begin.record(stream)?;
            for _ in 0..row {
                // SAFETY: the callers give the kernels' parameters; buffers live until the event below
                // has been reached.
                unsafe { function.launch(stream, blocks, THREADS, arguments)? };
            }
            end.record(stream)?;
            let seconds = end.seconds_since(&begin, "ceilings")?;
            if run > 0 {
                fastest = fastest.min(seconds / f64::from(row));
            }
        }
        Ok(fastest)
    }
}

/// Launches that take so many seconds, one of which takes `once`.
fn in_row(seconds: f64, once: f64) -> u32 {
    (seconds / once).clamp(1.0, LAUNCHES).ceil() as u32
}
