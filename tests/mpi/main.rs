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

const TESTS: [Test; 19] = [
    ("files, fewer G′ than ranks among them", shares::files),
    ("systems that are made", shares::systems),
    ("single precision", shares::single),
    ("one group a slab", shares::one_group_a_slab),
    ("memory for some slabs only", shares::streamed),
    ("usage", refusals::usage),
    ("inputs", refusals::inputs),
    ("processes that are given different tasks", refusals::different),
    ("an input that one rank cannot read", faults::unreadable),
    ("a rank without threads", faults::without_threads),
    ("a rank without memory", faults::without_memory),
    ("a rank that is killed", faults::killed),
    ("ranks that are asked to stop", faults::stopped),
    ("a launcher that is killed", faults::launcher_killed),
    ("GPUs of a host, or one, before each rank", places::before_each),
    ("devices that are named are each rank's", places::named),
    ("without GPUs all are on the CPU", places::none),
    ("matrices of ranks", matrices::bits),
    ("matrix elements that differ from rank to rank", matrices::refused),
];

fn main() {
    let mut arguments = Arguments::from_args();
    // Each takes all cores.
    arguments.test_threads = Some(1);
    let found = Command::new("mpirun").arg("--version").output();
    let missing = found.is_err() && std::env::var_os("GPP_REQUIRE_MPI").is_none();
    if missing {
        println!("skipped on this machine: no mpirun");
    }
    let trial = |(name, test): Test| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(missing)
    };
    libtest_mimic::run(&arguments, TESTS.map(trial).into()).exit();
}
