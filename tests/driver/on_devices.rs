//! What holds on every driver: the stand-in's and a GPU's.

use std::ffi::c_void;
use std::{ptr, thread};

use bytemuck::Pod;
use gpp::devices::gpu::driver::{
    Buffer, Context, DeviceAttribute, ForeignStream, Function, FunctionAttribute, GpuStream, Visit,
    devices, driver_version, fetched, is_on_device, require_on,
};
use gpp::error::{Error, Result};

use super::{Outcome, Test};

pub const TESTS: [Test; 7] = [
    ("what a device says of itself", facts),
    ("copies come back as they went", copies),
    ("page-locked memory is copied beside a kernel", pinned),
    ("a kernel gets its parameters and its module's variable", kernel),
    ("what fails names the operation", failures),
    ("threads and contexts work side by side", threads),
    ("memory of a device is told from the host's, and fetched", foreign),
];

fn downloaded<T: Pod>(buffer: &Buffer<T>, length: usize, stream: &GpuStream) -> Result<Vec<T>> {
    assert!(length <= buffer.len());
    // SAFETY: it has as many elements, and nobody writes them meanwhile.
    unsafe { fetched("values", buffer.pointer().addr() as u64, length, [length, 1], stream) }
}

const PTX: &str = include_str!("../data/fill.ptx");

const REFUSED: &str = ".version 6.0\n.target sm_70\n.address_size 64\nrefuse this\n";

const THREADS: u32 = 64;

fn fill(function: &Function, stream: &GpuStream, out: &Buffer<u32>, value: u32) -> Result<()> {
    let blocks = out.len() as u32 / THREADS;
    assert_eq!(blocks * THREADS, out.len() as u32);
    let to = out.pointer();
    let parameters: [*const c_void; 2] = [ptr::from_ref(&to).cast(), ptr::from_ref(&value).cast()];
    // SAFETY: the kernel's parameters; it writes one element for each thread, as many as there are.
    unsafe { function.launch(stream, [blocks, THREADS, 0], &parameters) }
}

fn is_filled(values: &[u32], value: u32) -> bool {
    !values.is_empty() && values.iter().zip(value..).all(|(&is, expected)| is == expected)
}

/// The last device, so that an index that is lost is noticed where there are two.
fn open() -> Result<(usize, Context)> {
    let index = devices()? - 1;
    Ok((index, Context::open(index)?))
}

fn check(holds: bool, what: impl std::fmt::Debug) -> Outcome {
    if holds { Ok(()) } else { Err(format!("{what:?}").into()) }
}

fn facts() -> Outcome {
    let (_, context) = open()?;
    check(!context.name()?.is_empty(), "no name")?;
    let uuid = context.uuid()?;
    let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
    check(lengths == [3, 8, 4, 4, 4, 12], &uuid)?;
    check(driver_version()?.split_once('.').is_some(), driver_version()?)?;
    check(context.attribute(DeviceAttribute::MultiprocessorCount)? > 0, "no multiprocessors")?;
    let (free, total) = context.memory()?;
    check(0 < free && free < total, (free, total))
}

fn copies() -> Outcome {
    let (_, context) = open()?;
    let stream = context.stream("copies")?;
    let values: Vec<f64> = (0..1000).map(f64::from).collect();
    let buffer = context.upload("values", &values, &stream)?;
    check(buffer.len() == 1000, buffer.len())?;
    check(downloaded(&buffer, 1000, &stream)? == values, "all")?;
    check(downloaded(&buffer, 10, &stream)? == values[..10], "the first")?;
    buffer.upload(&[-1.0], &stream)?;
    check(downloaded(&buffer, 2, &stream)? == [-1.0, 1.0], "one changed")?;
    buffer.fill(0xff, 1000, &stream)?;
    check(downloaded(&buffer, 1000, &stream)?.iter().all(|value| value.is_nan()), "poisoned")?;
    buffer.fill(0, buffer.len(), &stream)?;
    check(downloaded(&buffer, 1000, &stream)?.iter().all(|&value| value == 0.0), "cleared")?;

    let empty = context.upload::<f64>("nothing", &[], &stream)?;
    empty.fill(0xff, 0, &stream)?;
    check(!empty.pointer().is_null() && downloaded(&empty, 0, &stream)?.is_empty(), "empty")
}

fn pinned() -> Outcome {
    let (_, context) = open()?;
    let function = context.function(PTX, "fill")?;
    let (copies, kernels) = (context.stream("copies")?, context.stream("kernels")?);
    let length = 1 << 20;
    let mut host = context.pinned::<u32>("host", length)?;
    check(host.len() == length && host.iter().all(|&value| value == 0), "not zero")?;
    for (value, at) in host.iter_mut().zip(0..) {
        *value = at;
    }
    let (copied, filled) = (context.buffer("copied", length)?, context.buffer("filled", length)?);
    let transfer = host.upload(length, &copied, 0, &copies)?;
    fill(&function, &kernels, &filled, 5)?;
    let host = transfer.wait()?;
    check(is_filled(&downloaded(&filled, length, &kernels)?, 5), "the kernel beside the copy")?;

    // A kernel after the copy, a copy after the kernel, the host waiting for the last only.
    let _ = host.upload(length, &copied, 0, &copies)?.wait()?;
    let mark = context.event()?;
    mark.record(&copies)?;
    kernels.wait_for(&mark)?;
    fill(&function, &kernels, &copied, 9)?;
    mark.record(&kernels)?;
    copies.wait_for(&mark)?;
    let host = context.pinned::<u32>("host", length + 1)?;
    let host = host.download(length, &copied, &copies)?.wait()?;
    check(is_filled(&host[..length], 9) && host[length] == 0, "the copy after the kernel")?;

    drop(host.upload(length, &copied, 0, &copies)?);
    let empty = context.pinned::<f64>("nothing", 0)?;
    let empty = empty.upload(0, &context.buffer::<f64>("nothing", 0)?, 0, &copies)?.wait()?;
    check(empty.is_empty(), "empty")
}

fn kernel() -> Outcome {
    let (_, context) = open()?;
    let (function, stream) = (context.function(PTX, "fill")?, context.stream("kernels")?);
    let registers = function.attribute(FunctionAttribute::NumRegisters)?;
    check((1..256).contains(&registers), registers)?;
    check(function.attribute(FunctionAttribute::LocalSizeBytes)? == 0, "local memory")?;
    let blocks = function.blocks_per_multiprocessor(THREADS)?;
    check((1..=32).contains(&blocks), blocks)?;

    let out = context.buffer("out", 640)?;
    fill(&function, &stream, &out, 3)?;
    check(is_filled(&downloaded(&out, 640, &stream)?, 3), "without the variable")?;
    function.set("offset", &[100u32, 7], &stream)?;
    fill(&function, &stream, &out, 3)?;
    check(is_filled(&downloaded(&out, 640, &stream)?, 103), "with the variable")
}

fn failures() -> Outcome {
    let (_, context) = open()?;
    let stream = context.stream("failures")?;
    let load = |ptx: &str, name: &str| context.function(ptx, name).map(drop);
    let function = context.function(PTX, "fill")?;
    let set = |name: &str, values: &[u32]| function.set(name, values, &stream);
    for (result, begin, part) in [
        (load(REFUSED, "fill"), "load of the kernels failed: CUDA_ERROR_INVALID_PTX: ", "ptxas"),
        (load(REFUSED, "fill"), "load of the kernels failed: ", "line"),
        (load("a\0b", "fill"), "load of the kernels failed: the PTX holds a zero byte", ""),
        (load(PTX, "missing"), "look-up of kernel missing failed: CUDA_ERROR_NOT_FOUND: ", ""),
        (set("missing", &[1]), "look-up of missing for kernel fill failed", ""),
        (set("offset", &[0; 5]), "fill of offset failed: the variable has 16 bytes, 20 needed", ""),
    ] {
        let is_told = matches!(&result, Err(Error::Driver(what))
            if what.starts_with(&format!("GPU {begin}")) && what.contains(part));
        check(is_told, result)?;
    }
    let bytes = 1 << 50;
    let refused = context.buffer::<u8>("everything", bytes).err();
    let is_told = matches!(&refused, Some(Error::Memory { what, needed, .. }) if what == "everything" && *needed == bytes as u64);
    check(is_told, refused)?;

    let after = context.upload("after", &[1u32], &stream)?;
    check(downloaded(&after, 1, &stream)? == [1], "after")
}

/// Two threads a device, each with a context, stream and memory; all is dropped where another context is current.
fn threads() -> Outcome {
    let count = devices()?;
    let work = |worker: usize| -> Result<(bool, Vec<Box<dyn Send>>)> {
        let context = Context::open(worker % count)?;
        let (stream, function) = (context.stream("worker")?, context.function(PTX, "fill")?);
        let (out, mut host) = (context.buffer("out", 1 << 16)?, context.pinned("host", 1 << 16)?);
        let mut is_right = true;
        for round in 0..50 {
            let value = (worker * 1000 + round) as u32;
            fill(&function, &stream, &out, value)?;
            host = host.download(1 << 16, &out, &stream)?.wait()?;
            is_right &= is_filled(&host, value);
        }
        let event = context.event()?;
        event.record(&stream)?;
        // The context first: what is made in it keeps it.
        drop(context);
        Ok((is_right, vec![Box::new(out), Box::new(host), Box::new(event), Box::new(stream)]))
    };
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2 * count).map(|at| scope.spawn(move || work(at))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    for result in results {
        let (is_right, held) = result?;
        check(is_right, "a worker's values")?;
        drop(held);
    }
    Ok(())
}

fn foreign() -> Outcome {
    let (own, context) = open()?;
    let stream = context.stream("foreign")?;
    let values: Vec<u64> = (0..24).collect();
    let buffer = context.upload("values", &values, &stream)?;
    let (there, here) = (buffer.pointer().addr() as u64, values.as_ptr().addr() as u64);
    check(is_on_device(there) && !is_on_device(here), "told apart")?;
    require_on(own, "array", there, 24 * 8)?;
    let cases = [(own, here, "array: is not in memory"), (own + 7, there, "was opened")];
    for (index, at, says) in cases {
        let refused = require_on(index, "array", at, 8).map_err(|error| error.to_string());
        check(refused.as_ref().is_err_and(|error| error.contains(says)), refused)?;
    }
    let _visit = Visit::begin();
    stream.wait_for_foreign(ForeignStream::default())?;
    // Four columns of three, six apart; and all without gaps.
    // SAFETY: they are there, and nobody writes them.
    let columns = unsafe { fetched::<u64>("columns", there, 6, [3, 4], &stream) }?;
    check(columns == [0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20], columns)?;
    // SAFETY: as above.
    let all = unsafe { fetched::<u64>("all", there, 6, [6, 4], &stream) }?;
    check(all == values, all)
}
