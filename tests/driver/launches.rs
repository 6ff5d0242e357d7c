//! Every version on a device whose launches are emulated: what lies in its memory, and what kernels are given of it.

use std::ffi::{CStr, c_char, c_void};
use std::{env, slice};

use gpp::catalogue::{self, Version};
use gpp::devices::cpu::CpuDevice;
use gpp::devices::gpu::Gpu;
use gpp::devices::{Choice, Control, Device};
use gpp::engine::Engine;
use gpp::kernels::arrays::{
    self, Arguments, Layout, PaperArguments, PlannedArguments, REPACK_SYMBOL, RepackArguments,
};
use gpp::kernels::kernel::Loops;
use gpp::kernels::reduction::{self, SecondStageArguments, second_stage};
use gpp::kernels::sigma::ClusterArguments;
use gpp::kernels::single::{self, COPY_SYMBOL, SingleCopyArguments};
use gpp::kernels::threads::Thread;
use gpp::kernels::versions::{ALL, find};
use gpp::measure::{measure, same_bits};
use gpp::problem::{Extents, Problem, Sums};
use gpp::record::Repetition;
use gpp::session::{MemoryLimits, Session};

use super::Outcome;
use crate::common::on_device::{device_bytes, two_problems};
use crate::common::{Kind, at_energies, made};

type Launch = unsafe extern "C" fn(*const c_char, *const *const c_void, u32, u32, *const f64);

pub fn address() -> String {
    (launch as Launch as usize).to_string()
}

unsafe extern "C" fn launch(
    name: *const c_char,
    parameters: *const *const c_void,
    blocks: u32,
    threads: u32,
    constant: *const f64,
) {
    // SAFETY: the driver was given the kernel's name, its parameters, of its types, and memory that these lie in.
    unsafe {
        let name = CStr::from_ptr(name).to_str().unwrap();
        let parameters = |count| slice::from_raw_parts(parameters, count);
        if name == reduction::SYMBOL {
            let given = SecondStageArguments::read(parameters(SecondStageArguments::COUNT));
            let SecondStageArguments { partials, count, sums } = given;
            for at in 0..blocks as usize {
                let own = slice::from_raw_parts(partials.add(at * count as usize), count as usize);
                *sums.add(at) = second_stage(own);
            }
            return;
        }
        let thread = |at: u32| Thread::new(at / threads, at % threads, blocks, threads);
        let each = (0..blocks * threads).map(thread);
        if name == REPACK_SYMBOL {
            let given = RepackArguments::read(parameters(RepackArguments::COUNT));
            return each.for_each(|thread| arrays::repack(thread, &given));
        }
        if name == COPY_SYMBOL {
            let given = SingleCopyArguments::read(parameters(SingleCopyArguments::COUNT));
            return each.for_each(|thread| single::copy(thread, &given));
        }
        if super::offdiag::launch(name, parameters) {
            return;
        }
        let (_, kernel, entry) = find(name).unwrap();
        let mut grid = gpp::kernels::tiling::Grid::ungrouped(blocks, threads);
        let arguments: Box<dyn Arguments> = match kernel.layout {
            Layout::Original | Layout::Swapped => {
                Box::new(PaperArguments::read(parameters(PaperArguments::COUNT)))
            }
            Layout::Planned | Layout::Listed | Layout::Single => {
                let given = PlannedArguments::read(parameters(PlannedArguments::COUNT));
                let PlannedArguments { ngpown, ncouls, fallback_blocks: fallback, .. } = given;
                grid = match kernel.loops {
                    _ if kernel.layout == Layout::Listed => {
                        gpp::kernels::lists::grid(blocks - fallback, fallback)
                    }
                    Loops::Tiled(shape) => shape.grid(ngpown, ncouls, fallback),
                    _ => gpp::kernels::tiling::per_band::grid(given.nbands, ngpown, ncouls),
                };
                Box::new(given)
            }
            Layout::Clusters => {
                Box::new(ClusterArguments::read(parameters(ClusterArguments::COUNT)))
            }
        };
        assert_eq!((grid.blocks(), grid.threads), (blocks, threads), "{name}");
        let address = (&raw const *arguments).cast();
        (0..blocks).for_each(|at| (entry.body)(address, constant, at, grid));
    }
}

/// The time of a single calculation has neither uploads nor plans: here copies are slow and kernels take no time.
pub fn single_run() -> Outcome {
    unsafe extern "C" fn nothing(
        _: *const c_char,
        _: *const *const c_void,
        _: u32,
        _: u32,
        _: *const f64,
    ) {
    }
    let kernel = find("gpp_v13_nw2").unwrap().0;
    let problem = at_energies(&made([40, 300, 4000, 2], Kind::Mixed, 5), 8);
    // SAFETY: no other thread reads them.
    let set = |name: &str, to: &str| unsafe { env::set_var(name, to) };
    set("FAKE_LAUNCH", &(nothing as Launch as usize).to_string());
    set("FAKE_SLOW", "1");
    let gpu = Gpu::limited(0, None)?;
    let seconds = |repetition: Repetition| {
        let mut engine = Engine::whole(&gpu, &problem)?;
        let done = |_: f64| ();
        let found = measure(Version::Gpu(kernel), &gpu, &mut engine, None, repetition, &done)?;
        Ok::<_, gpp::error::Error>(found.times.median)
    };
    let ratio = |_| Ok(seconds(Repetition::exactly(0, 1))? / seconds(Repetition::exactly(1, 3))?);
    let ratios = (0..5).map(ratio).collect::<gpp::error::Result<Vec<f64>>>()?;
    set("FAKE_LAUNCH", &address());
    set("FAKE_SLOW", "");
    let is_near = ratios.iter().any(|ratio| (0.8..1.2).contains(ratio));
    assert!(is_near, "{ratios:?} times the time of one of several");
    Ok(())
}

fn sums(device: &dyn Device, problem: &Problem, igp: usize) -> gpp::error::Result<Vec<Sums>> {
    let mut engine = match igp == problem.header().ngpown {
        true => Engine::whole(device, problem)?,
        false => Engine::new(&gpp_core::ranks::Alone, problem, igp, vec![device.worker(problem)?])?,
    };
    let runs = ALL.iter().chain(ALL.iter().rev()).map(|gpu| Version::Gpu(gpu));
    runs.map(|kernel| Ok(engine.run(kernel)?.sums)).collect()
}

pub fn every_version() -> Outcome {
    let host = CpuDevice::new();
    for kind in [Kind::Mixed, Kind::Real] {
        let [two, few] = [11, 7].map(|nbands| made([nbands, 100, 40, 2], kind, 12));
        for problem in [two, at_energies(&few, 5)] {
            let slab = Extents { ngpown: 32, ..problem.extents() };
            for (igp, most) in [(100, None), (32, None), (32, Some(device_bytes(slab, 3)))] {
                let gpu = Gpu::limited(0, most)?;
                let [own, expected] =
                    [&gpu as &dyn Device, &host].map(|device| sums(device, &problem, igp));
                for (at, (own, expected)) in own?.iter().zip(&expected?).enumerate() {
                    assert!(same_bits(own, expected), "{kind:?} {igp} {most:?} run {at}: {own:?}");
                }
            }
        }
    }
    Ok(two_problems(&Gpu::limited(0, None)?)?)
}

/// Samples of single precision, of slabs that stay and of others: as emulated on the host, where nothing stays.
pub fn samples() -> Outcome {
    let (host, problem) = (CpuDevice::new(), made([9, 1700, 12, 2], Kind::Mixed, 12));
    for problem in [at_energies(&problem, 4), problem] {
        let slab = Extents { ngpown: 320, ..problem.extents() };
        for (igp, most) in [(1700, None), (320, Some(device_bytes(slab, 3)))] {
            let gpu = Gpu::limited(0, most)?;
            let run = |device: &dyn Device| {
                let mut engine = Engine::new(
                    &gpp_core::ranks::Alone,
                    &problem,
                    igp,
                    vec![device.worker(&problem)?],
                )?;
                engine.samples = true;
                let run = |id: &str| engine.run(catalogue::find(id).expect("one of ours"));
                let found = ["s3", "v15", "s4", "s4"].map(run).into_iter();
                found.collect::<gpp::error::Result<Vec<_>>>()
            };
            for (at, (own, expected)) in run(&gpu)?.iter().zip(&run(&host)?).enumerate() {
                assert!(same_bits(&own.sums, &expected.sums), "{igp} {most:?} run {at}");
                assert_eq!((own.sample, own.bound), (expected.sample, expected.bound), "{at}");
                let columns = own.sample.map_or(0, |sample| sample.igp[0]);
                assert_eq!(columns > 32, at != 1, "{igp} run {at}: {columns}");
                assert!(own.sample.is_none_or(|sample| sample.is_within(own.bound)));
            }
        }
    }
    Ok(())
}

/// Slabs that find no room on a device are halved until they do, unless their size is asked for.
pub fn halved() -> Outcome {
    let problem = made([11, 256, 40, 2], Kind::Mixed, 12);
    // Two slabs of 64 igp find room with what a version adds, not two of 128.
    let few = Extents { ngpown: 6 * 32, ..problem.extents() }.bytes();
    for id in ["v9", "v13", "v3"] {
        let kernels = [catalogue::find(id).unwrap()];
        let run = |device, slab| {
            let limits = MemoryLimits { device, slab, ..MemoryLimits::default() };
            let session = Session::open(&Choice::Gpu, limits, &gpp::ranks::Alone)?;
            let igp = session.slab_size(&problem, &kernels, false)?;
            let mut engine = session.engine(&problem, igp, &kernels)?;
            engine.ready(kernels[0], Control::none())?;
            let [first, again] = [engine.run(kernels[0])?.sums, engine.run(kernels[0])?.sums];
            assert!(same_bits(&first, &again), "{id}");
            Ok::<_, gpp::error::Error>((first, engine.slabs().igp()))
        };
        let (whole, igp) = run(None, None)?;
        assert_eq!(igp, 256);
        let (found, igp) = run(Some(few), None)?;
        assert!((16..128).contains(&igp), "{id}: {igp}");
        assert!(id == "v3" || same_bits(&found, &whole), "{id}: {igp}");
        let refused = run(Some(few), Some(128)).err();
        assert!(refused.is_some_and(|error| error.is_of_device_memory()), "{id}");
    }
    Ok(())
}
