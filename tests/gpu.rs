//! Every version on a GPU against the same references as on the host. Reported as ignored where
//! there is no GPU; with GPP_REQUIRE_GPU set, that is a failure.

mod common;

use common::{FIXTURES, QUIET, assorted, fixture, make};
use gpp::Error;
use gpp::devices::Device;
use gpp::devices::gpu::Gpu;
use gpp::kernels::registry::{VERSIONS, Version};
use gpp::measure::{body, same_bits};
use gpp::problem::{Problem, synthesis, systems};
use gpp::reference;
use gpp::verify::{Outcome, verify};
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
    let trials = VERSIONS
        .iter()
        .map(|version| Trial::test(format!("{} on the GPU", version.id), || on_gpu(version)))
        .chain([ahead])
        .map(|trial| trial.with_ignored_flag(missing.is_some()))
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn on_gpu(version: &'static Version) -> Result<(), Failed> {
    let gpu = Gpu::open(0)?;
    for name in FIXTURES {
        check(&gpu, version, &fixture(name))?;
    }
    for made in assorted() {
        check(&gpu, version, &make(made))?;
    }
    for name in ["tiny", "demo"] {
        check(&gpu, version, &synthesis::synthesise(systems::find(name)?, 11, QUIET)?)?;
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
        let verification = verify(&problem, &problem.start.plus(&sums), Some(&reference));
        if verification.outcome != Outcome::Passed {
            return Err(format!("{}: {verification:?}", version.id).into());
        }
    }
    Ok(())
}

fn check(gpu: &Gpu, version: &Version, problem: &Problem) -> Result<(), Failed> {
    let mut loaded = gpu.load(problem)?;
    let (sums, seconds) = loaded.run(version)?;
    let (again, _) = loaded.run(version)?;
    let reference = reference::of(problem, QUIET).ok_or("no reference")?;
    let verification = verify(problem, &problem.start.plus(&sums), Some(&reference));
    if verification.outcome != Outcome::Passed {
        return Err(format!("{}: {verification:?}", problem.name).into());
    }
    if !same_bits(&sums, &again) {
        return Err(format!("{}: two runs differ: {sums:?} {again:?}", problem.name).into());
    }
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(format!("{}: took {seconds} s", problem.name).into());
    }
    Ok(())
}
