//! How many threads of the processor compute.

use crate::open;
use crate::status::{Failure, Status};
use crate::types::Handle;

/// Computes on so many threads of the processor from now on, 1 to 65535; 0 takes that back: then there are as many
/// as OMP_NUM_THREADS said at `gpp_open`, else as many as the affinity mask and the cgroup of the thread that called
/// it leave room for. Sums have the same bits for any number. Threads are bound to no core: they have the mask of the
/// thread that calls first, whose own mask stays as it is. For a handle of a GPU they look at arrays and evaluate
/// `gpp_bound`. Waits for whoever calculates with the handle. After a failure the number stays what it was.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_set_threads(handle: *mut Handle, threads: i32) -> Status {
    open::calculate(handle, |work, open| {
        let number = u16::try_from(threads).map_err(|_| {
            Failure::argument(format!("threads must be from 0 to {}, found {threads}", u16::MAX))
        })?;
        work.calculator.set_threads(number.into())?;
        open.told().threads = work.calculator.threads();
        Ok(())
    })
}

/// How many threads of the processor a calculation has at most; 0 for what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_threads(handle: *const Handle) -> i32 {
    open::find(handle).map_or(0, |open| i32::try_from(open.told().threads).unwrap_or(i32::MAX))
}
