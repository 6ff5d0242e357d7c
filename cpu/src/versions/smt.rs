//! cpu:smt: all threads of each core.
//!
//! A core with two threads has something to do while one waits for a reciprocal or for memory (the talk's
//! fifth step, "Hyper-threading"). Where cores have one thread, it is cpu:reciprocal.
//!
//! Lines of the nest: none, the launch changes.

use gpp_kernels::kernel::Version;

use super::reciprocal;
use crate::pool::Threads;
use crate::version::Cpu;

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:smt",
    change: "all threads that a core has",
    source: "talk, processors, step 5",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu { version: &VERSION, threads: Threads::All, ..reciprocal::CPU };
