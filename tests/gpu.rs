//! Every version on a GPU against the references of the host; ignored where there is none, unless GPP_REQUIRE_GPU is set.

mod common;

use std::sync::LazyLock;

use common::families::{FAMILIES, family};
use common::on_device::{
    assert_of_bands, compare, device_bytes, group, matrix, of_bands, slabs, two_problems,
};
use common::{FIXTURES, Kind, QUIET, assorted, at_energies, fixture, hard, made};
use gpp::catalogue::{BackEnd, Version, best};
use gpp::devices::Device;
use gpp::devices::gpu::Gpu;
use gpp::engine::{Calculation, Engine};
use gpp::error::Error;
use gpp::kernels::versions::ALL;
use gpp::measure::same_bits;
use gpp::problem::arrays::Of;
use gpp::problem::{Extents, Problem, Source, Sums, System, synthesis};
use gpp::reference::matrix::{SampledElements, compare as compare_elements, evaluate};
use gpp::reference::{self, Outcome, Reference, verify_version};
use gpp_core::offdiag::{MatrixTask, Synthesised, gpu as offdiag};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // One at a time is enough for one GPU.
    arguments.test_threads = Some(1);
    let missing = match Gpu::limited(0, None) {
        Ok(_) => None,
        Err(Error::NoGpu { why }) if std::env::var_os("GPP_REQUIRE_GPU").is_none() => Some(why),
        Err(error) => panic!("{error}"),
    };
    if let Some(why) = &missing {
        println!("skipped on this machine: {why}");
    }
    let at_once = Trial::test("two problems at the same time", problems_at_once_on_gpu);
    let parted = Trial::test("slabs on several workers give the bits of the whole", slabs_on_gpu);
    let streams = Trial::test("slabs that stream give the bits of those in place", streams_on_gpu);
    let own = || Ok(two_problems(&Gpu::limited(0, None)?)?);
    let apart = Trial::test("two problems of the same ranges are two", own);
    let per_band = Trial::test("CH and static CH of each band on the GPU", of_bands_on_gpu);
    let large = Trial::test("Σ as a matrix of the paper's system", matrices_of_si214);
    let trials = ALL
        .iter()
        .map(|version| Trial::test(format!("{} on the GPU", version.id()), || on_gpu(version)))
        .chain([parted, streams, at_once, apart, per_band, large])
        .map(|trial| trial.with_ignored_flag(missing.is_some()))
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn of_bands_on_gpu() -> Result<(), Failed> {
    let gpu = Gpu::limited(0, None)?;
    compare(&gpu, BackEnd::Gpu)?;
    for (problem, _) in &*CASES {
        for at in [None, Some(problem.nw() - 1)] {
            let found = of_bands(&gpu, (problem, at), BackEnd::Gpu, problem.header().ngpown, 1)?;
            assert_of_bands("GPU", (problem, at), &found);
        }
    }
    Ok(())
}

static CASES: LazyLock<Vec<(Problem, Reference)>> = LazyLock::new(|| {
    let mut problems = FIXTURES.map(fixture).to_vec();
    problems.extend(assorted());
    for (kind, count) in [(Kind::Mixed, 4), (Kind::Real, 129), (Kind::Mixed, 31)] {
        problems.push(at_energies(&made([31, 33, 170, 2], kind, 12), count));
    }
    for name in ["tiny", "demo"] {
        let system = System::find(name).unwrap();
        problems.push(synthesis::Synthesis::new(system, 11, QUIET).load().unwrap());
    }
    for name in hard() {
        let stored = fixture(&name);
        let mut without = stored.clone();
        without.stored = None;
        problems.extend([without, stored]);
    }
    let seeds: u64 = std::env::var("GPP_SEEDS").map_or(40, |n| n.parse().unwrap());
    problems.extend(FAMILIES.into_iter().flat_map(|kind| (0..seeds).map(move |s| family(kind, s))));
    let referenced = |problem: Problem| {
        let found = reference::for_problem(&problem, QUIET).unwrap().expect("small ones have");
        let are_finite = found.sums.named(1).all(|(_, z)| z.re.is_finite() && z.im.is_finite());
        assert!(are_finite, "{}", problem.name());
        (problem, found)
    };
    problems.into_iter().map(referenced).collect()
});

fn on_gpu(version: &'static gpp::kernels::kernel::GpuVersion) -> Result<(), Failed> {
    let gpu = Gpu::limited(0, None)?;
    let check = |case| check(&gpu, Version::Gpu(version), case).err();
    let failures: Vec<String> = CASES.iter().filter_map(check).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn slabs_on_gpu() -> Result<(), Failed> {
    let gpu = Gpu::limited(0, None)?;
    for kind in [Kind::Mixed, Kind::Real] {
        let two = made([131, 149, 170, 2], kind, 12);
        for problem in [&two, &at_energies(&two, 5)] {
            slabs(&gpu, problem, ALL.iter().map(|version| Version::Gpu(version)))?;
        }
    }
    Ok(())
}

fn streams_on_gpu() -> Result<(), Failed> {
    streams(&at_energies(&made([5, 449, 409, 2], Kind::Real, 12), 5))?;
    streams(&at_energies(&made([31, 449, 4099, 2], Kind::Mixed, 13), 5))?;
    streams(&made([31, 449, 4099, 2], Kind::Mixed, 12))
}

/// A device that holds the bands and two slabs: slabs stream through it, in one layout at a time, run after run
/// with the same bits as those in place, which need no more uploads than another batch of energies does.
fn streams(problem: &Problem) -> Result<(), Failed> {
    const IGP: usize = 64;
    let slab = Extents { ngpown: IGP, ..problem.extents() };
    let all = Gpu::limited(0, None)?;
    let short = Gpu::limited(0, Some(device_bytes(slab, 3)))?;
    let engine = |gpu| -> gpp::error::Result<Engine<'_>> {
        Engine::new(&gpp_core::ranks::Alone, problem, IGP, vec![Device::worker(gpu, problem)?])
    };
    let (mut placed, mut streaming) = (engine(&all)?, engine(&short)?);
    for version in ALL.iter().chain(ALL.iter().rev()) {
        if !IGP.is_multiple_of(group(problem, Version::Gpu(version)).unwrap_or(1)) {
            continue;
        }
        let id = version.id();
        let first = placed.run(Version::Gpu(version))?;
        let again = placed.run(Version::Gpu(version))?;
        let uploaded = |of: &Calculation| of.workers.iter().map(|one| one.uploaded).sum::<u64>();
        let is_one = Version::Gpu(version).energies(problem.outline()).count() == 1;
        let of_batches = if is_one { 0 } else { problem.extents().bytes_of(Of::Slab) / 2 };
        assert!(uploaded(&again) <= of_batches, "{id}: {} bytes uploaded again", uploaded(&again));
        for _ in 0..3 {
            let streamed = streaming.run(Version::Gpu(version))?;
            assert!(uploaded(&streamed) >= problem.extents().bytes_of(Of::Slab) / 2, "{id}");
            let sums = [&first.sums, &again.sums, &streamed.sums];
            assert!(sums.iter().all(|sums| same_bits(sums, &first.sums)), "{id}: {sums:?}");
        }
    }
    drop(streaming);
    let less = Gpu::limited(0, Some(slab.bytes_of(Of::Bands)))?;
    let mut refused =
        Engine::new(&gpp_core::ranks::Alone, problem, IGP, vec![less.worker(problem)?])?;
    let refused = refused.run(Version::Gpu(ALL[13]));
    assert!(matches!(refused.err(), Some(Error::Memory { on_device: true, .. })));
    Ok(())
}

fn problems_at_once_on_gpu() -> Result<(), Failed> {
    let gpu = Gpu::limited(0, None)?;
    let problems = [3, 4].map(|seed| made([131, 53, 170, 2], Kind::Real, seed));
    let best = best(BackEnd::Gpu).gpu().unwrap();
    let alone = |problem: &Problem| Ok(Engine::whole(&gpu, problem)?.run(Version::Gpu(best))?.sums);
    let expected: gpp::error::Result<Vec<Sums>> = problems.iter().map(alone).collect();
    let again = std::thread::scope(|scope| {
        let threads = problems.each_ref().map(|problem| {
            scope.spawn(|| -> gpp::error::Result<Vec<Sums>> {
                let mut engine = Engine::whole(&gpu, problem)?;
                (0..50).map(|_| Ok(engine.run(Version::Gpu(best))?.sums)).collect()
            })
        });
        threads.map(|thread| thread.join().expect("no run panics"))
    });
    for (expected, again) in expected?.into_iter().zip(again) {
        assert!(again?.iter().all(|sums| same_bits(sums, &expected)), "not {expected:?}");
    }
    Ok(())
}

fn check(gpu: &Gpu, version: Version, case: &(Problem, Reference)) -> Result<(), String> {
    let (problem, reference) = case;
    let failed = |what: String| format!("{}: {what}", problem.name());
    let run = || -> gpp::error::Result<_> {
        let mut engine = Engine::whole(gpu, problem)?;
        let Calculation { sums, seconds, .. } = engine.run(version)?;
        Ok((sums, engine.run(version)?.sums, seconds))
    };
    let (sums, again, seconds) = run().map_err(|e| failed(e.to_string()))?;
    let (_, verification) = verify_version(version, problem, &sums, Some(reference)).unwrap();
    if verification.outcome != Outcome::Passed {
        return Err(failed(format!("{verification:?}")));
    }
    if !same_bits(&sums, &again) {
        return Err(failed(format!("two runs differ: {sums:?} {again:?}")));
    }
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(failed(format!("took {seconds} s")));
    }
    Ok(())
}

fn matrices_of_si214() -> Result<(), Failed> {
    let gpu = Gpu::limited(0, None)?;
    let (system, seed) = (System::find("si214").unwrap(), synthesis::DEFAULT_SEED);
    let problem = synthesis::Synthesis::new(system, seed, QUIET).load()?;
    let elements = Synthesised::new(system, seed, 0..128);
    let task = MatrixTask::new(&problem, &elements);
    let sample = SampledElements::few(&task);
    let expected = evaluate(&task, &sample, QUIET);
    for version in offdiag::ALL {
        let found = compare_elements(&task, &matrix(&gpu, &task, version)?, &sample, &expected);
        assert_eq!(found.outcome, Outcome::Passed, "{}: {found:?}", version.id);
    }
    Ok(())
}
