//! The program under MPI's launcher: the sums of one process, what is refused, processes that fail, are killed or stopped,
//! which GPU is whose. Ignored without `mpirun`, which GPP_REQUIRE_MPI requires.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod launch;
mod matrices;
mod places;
mod refusals;
mod shares;

use std::process::Command;

use libtest_mimic::{Arguments, Trial};

/// A test and its name. It panics where something does not hold.
type Test = (&'static str, fn());

const TESTS: [&[Test]; 5] =
    [shares::TESTS, refusals::TESTS, faults::TESTS, places::TESTS, matrices::TESTS];

fn main() {
    let mut arguments = Arguments::from_args();
    // Each takes all cores.
    arguments.test_threads = Some(1);
    let found = Command::new("mpirun").arg("--version").output();
    let missing = found.is_err() && std::env::var_os("GPP_REQUIRE_MPI").is_none();
    if missing {
        println!("skipped on this machine: no mpirun");
    }
    let trial = |&(name, test): &Test| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(missing)
    };
    let trials = TESTS.into_iter().flatten().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit();
}
