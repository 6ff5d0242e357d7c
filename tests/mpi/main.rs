//! The program under MPI's launcher, several processes on this machine's processor: the sums of one process,
//! what is refused, processes that fail, are killed or stopped, which GPU is whose. Ignored where there
//! is no `mpirun`; with GPP_REQUIRE_MPI set, that is a failure. Built without the feature `mpi` there is one
//! test: that such a program is refused.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "mpi")]
mod faults;
mod launch;
#[cfg(feature = "mpi")]
mod matrices;
#[cfg(feature = "mpi")]
mod places;
#[cfg(feature = "mpi")]
mod refusals;
#[cfg(feature = "mpi")]
mod shares;
#[cfg(not(feature = "mpi"))]
mod without;

use std::process::Command;

use libtest_mimic::{Arguments, Trial};

/// A test and its name. It panics where something does not hold.
type Test = (&'static str, fn());

#[cfg(feature = "mpi")]
const TESTS: [&[Test]; 5] =
    [shares::TESTS, refusals::TESTS, faults::TESTS, places::TESTS, matrices::TESTS];

#[cfg(not(feature = "mpi"))]
const TESTS: [&[Test]; 1] = [without::TESTS];

fn main() {
    let mut arguments = Arguments::from_args();
    // Each takes all cores.
    arguments.test_threads = Some(1);
    let found = Command::new("mpirun").arg("--version").output();
    let missing = found.is_err() && std::env::var_os("GPP_REQUIRE_MPI").is_none();
    if missing {
        println!("skipped on this machine: no mpirun");
    }
    if cfg!(not(feature = "mpi")) {
        println!("built without MPI: cargo test --release --features mpi --test mpi has all tests");
    }
    let trial = |(name, test): &Test| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
    };
    let trials = TESTS.into_iter().flatten().map(trial);
    let trials = trials.map(|trial| trial.with_ignored_flag(missing)).collect();
    libtest_mimic::run(&arguments, trials).exit();
}
