//! Every version on a GPU against the same references as on the host. Reported as ignored where
//! there is no GPU; with GPP_REQUIRE_GPU set, that is a failure.

mod common;

use std::sync::LazyLock;

use common::families::{FAMILIES, family};
use common::{FIXTURES, HARD, Kind, Make, QUIET, assorted, fixture, hard_path, make};
use gpp::Error;
use gpp::devices::Device;
use gpp::devices::gpu::Gpu;
use gpp::experiments::measure::{body, same_bits};
use gpp::kernels::registry::{VERSIONS, Version};
use gpp::kernels::tiles::candidates::CANDIDATES;
use gpp::problem::{Problem, file, synthesis, systems};
use gpp::reference::verify::{Outcome, verify};
use gpp::reference::{self, Reference};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let mut arguments = Arguments::from_args();
    // A context is bound to its thread, and one at a time is enough for one GPU.
    arguments.test_threads = Some(1);
    let missing = match Gpu::open(0) {
        Ok(_) => None,
        Err(Error::NoGpu { why }) if std::env::var_os("GPP_REQUIRE_GPU").is_none() => Some(why),
        Err(error) => panic!("{error}"),
    };
    if let Some(why) = &missing {
        println!("skipped on this machine: {why}");
    }
    let ahead = Trial::test("each version is loaded while the one before runs", loaded_ahead);
    let shapes = CANDIDATES.iter().enumerate().map(|(at, candidate)| {
        let name = format!("{:?} {:?} on the GPU", candidate.poles, candidate.shape);
        Trial::test(name, move || shape_on_gpu(at))
    });
    let trials = VERSIONS
        .iter()
        .map(|version| Trial::test(format!("{} on the GPU", version.id), || on_gpu(version)))
        .chain(shapes)
        .chain([ahead])
        .map(|trial| trial.with_ignored_flag(missing.is_some()))
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

/// Problems with their references, evaluated once.
static CASES: LazyLock<Vec<(Problem, Reference)>> = LazyLock::new(|| {
    let mut problems: Vec<Problem> = FIXTURES.into_iter().map(fixture).collect();
    problems.extend(assorted().into_iter().map(make));
    for name in ["tiny", "demo"] {
        problems.push(synthesis::synthesise(systems::find(name).unwrap(), 11, QUIET).unwrap());
    }
    for name in HARD {
        let stored = file::read(&hard_path(name), QUIET).unwrap();
        problems.push(stored.clone().without_stored());
        problems.push(stored);
    }
    let seeds: u64 = std::env::var("GPP_SEEDS").map_or(40, |n| n.parse().unwrap());
    problems.extend(FAMILIES.into_iter().flat_map(|kind| (0..seeds).map(move |s| family(kind, s))));
    let is_finite = |reference: &Reference| {
        reference.sums.named(1).all(|(_, z)| z.re.is_finite() && z.im.is_finite())
    };
    problems
        .into_iter()
        .map(|problem| {
            let reference = reference::of(&problem, QUIET).expect("small problems have one");
            (problem, reference)
        })
        .inspect(|(problem, reference)| assert!(is_finite(reference), "{}", problem.name()))
        .collect()
});

fn on_gpu(version: &'static Version) -> Result<(), Failed> {
    let gpu = Gpu::open(0)?;
    let failures: Vec<String> = CASES
        .iter()
        .filter_map(|(problem, reference)| check(&gpu, version, problem, reference).err())
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Every candidate of the best version, for every number of energies and two caps.
fn shape_on_gpu(at: usize) -> Result<(), Failed> {
    let gpu = Gpu::open(0)?;
    let candidate = &CANDIDATES[at];
    for kind in [Kind::Mixed, Kind::Real] {
        for nw in 1..=3 {
            let problem =
                make(Make { nbands: 131, ngpown: 53, ncouls: 70, nw, kind, seed: nw as u64 });
            if problem.plan().poles() != candidate.poles {
                continue;
            }
            let reference = reference::of(&problem, QUIET).ok_or("no reference")?;
            for cap in [96, 128] {
                let version = candidate.of(Version::best(), Some(cap));
                check(&gpu, &version, &problem, &reference)?;
            }
        }
    }
    Ok(())
}

/// Each version twice, as the run loop does it: the next one is prepared before the last run.
fn loaded_ahead() -> Result<(), Failed> {
    let gpu = Gpu::open(0)?;
    let problem = synthesis::synthesise(systems::find("demo")?, 11, QUIET)?;
    let reference = reference::of(&problem, QUIET).ok_or("no reference")?;
    let mut loaded = gpu.load(&problem)?;
    for (at, version) in VERSIONS.iter().enumerate() {
        loaded.run(version)?;
        if let Some(next) = VERSIONS.get(at + 1) {
            gpu.prepare(next, body(next, &problem, loaded.plan()));
        }
        let (sums, _) = loaded.run(version)?;
        let verification = verify(&problem, &problem.start().plus(&sums), Some(&reference));
        if verification.outcome != Outcome::Passed {
            return Err(format!("{}: {verification:?}", version.id).into());
        }
    }
    Ok(())
}

fn check(
    gpu: &Gpu,
    version: &Version,
    problem: &Problem,
    reference: &Reference,
) -> Result<(), String> {
    let failed = |what: String| format!("{}: {what}", problem.name());
    let run = || -> gpp::Result<_> {
        let mut loaded = gpu.load(problem)?;
        let (sums, seconds) = loaded.run(version)?;
        let (again, _) = loaded.run(version)?;
        Ok((sums, again, seconds))
    };
    let (sums, again, seconds) = run().map_err(|e| failed(e.to_string()))?;
    let verification = verify(problem, &problem.start().plus(&sums), Some(reference));
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
