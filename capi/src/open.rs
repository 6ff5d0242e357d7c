//! What is open. A handle is a number that is looked up, never an address that is read: one that was closed,
//! or never given out, is told from all others. Numbers are not used twice.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use gpp_core::Calculator;

use crate::status::{Failure, Status};
use crate::told;
use crate::types::Handle;

/// An open device.
pub struct Open {
    /// What it is called.
    pub name: String,
    /// None once it is closed. Who calculates holds it, so that threads take turns.
    pub calculator: Mutex<Option<Calculator>>,
    told: Mutex<Told>,
}

/// What a handle answers while another thread calculates.
#[derive(Clone, Default)]
pub struct Told {
    /// The last failure; empty where there was none.
    pub message: String,
    /// The version that ran last; empty where none did.
    pub version: &'static str,
}

impl Open {
    /// What it answers.
    pub fn told(&self) -> MutexGuard<'_, Told> {
        locked(&self.told)
    }
}

struct All {
    given: usize,
    open: BTreeMap<usize, Arc<Open>>,
}

static ALL: Mutex<All> = Mutex::new(All { given: 0, open: BTreeMap::new() });

/// Odd, so that different counts give different numbers, none of them 0; large, so that what is no handle is
/// hardly one of them.
const SPREAD: usize = 0x9e37_79b9_7f4a_7c15_u64 as usize;

/// All changes are whole, whatever a thread that panicked did before or after.
pub fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives out a handle.
pub fn add(calculator: Calculator) -> *mut Handle {
    let name = calculator.device().name.clone();
    let open = Open { name, calculator: Mutex::new(Some(calculator)), told: Mutex::default() };
    let mut all = locked(&ALL);
    all.given += 1;
    let number = all.given.wrapping_mul(SPREAD);
    all.open.insert(number, Arc::new(open));
    ptr::without_provenance_mut(number)
}

/// What a handle is of.
pub fn find(handle: *const Handle) -> Result<Arc<Open>, Failure> {
    locked(&ALL).open.get(&handle.addr()).cloned().ok_or_else(|| unknown(handle))
}

/// Takes a handle back.
pub fn remove(handle: *const Handle) -> Result<Arc<Open>, Failure> {
    locked(&ALL).open.remove(&handle.addr()).ok_or_else(|| unknown(handle))
}

pub fn unknown(handle: *const Handle) -> Failure {
    let what = if handle.is_null() { "is null" } else { "is none that is open" };
    Failure::argument(format!("handle {what}"))
}

/// Runs the body of a call: its failure, or panic, becomes a status, and a message of this thread.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match caught(body) {
        Ok(()) => Status::Ok,
        Err(failure) => {
            told::keep(&failure.message);
            failure.status
        }
    }
}

/// Runs the body of a call of a handle, which keeps the message too.
pub fn call_of(handle: *const Handle, body: impl FnOnce(&Open) -> Result<(), Failure>) -> Status {
    call(|| {
        let open = find(handle)?;
        caught(|| body(&open))
            .inspect_err(|failure| open.told().message.clone_from(&failure.message))
    })
}

/// Runs the body of a call with the calculator of a handle, after whoever has it.
pub fn calculate(
    handle: *const Handle,
    body: impl FnOnce(&mut Calculator, &Open) -> Result<(), Failure>,
) -> Status {
    call_of(handle, |open| match locked(&open.calculator).as_mut() {
        Some(calculator) => body(calculator, open),
        None => Err(unknown(handle)),
    })
}

/// Calls under way, in which a panic prints nothing.
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn caught(body: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if CALLS.load(Ordering::Relaxed) == 0 {
                loud(panicked);
            }
        }));
    });
    CALLS.fetch_add(1, Ordering::Relaxed);
    // What a body leaves half done it owns; the calculator and what is told stay whole.
    let ended = panic::catch_unwind(AssertUnwindSafe(body));
    CALLS.fetch_sub(1, Ordering::Relaxed);
    ended.unwrap_or_else(|panicked| {
        let message = format!("a fault of gpp: {}", text(&*panicked));
        // Nothing may be thrown from here on, by what was thrown either.
        std::mem::forget(panicked);
        Err(Failure { status: Status::Internal, message })
    })
}

fn text(panicked: &(dyn Any + Send)) -> &str {
    let owned = || panicked.downcast_ref::<String>().map(String::as_str);
    panicked.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no more is known")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_and_a_message() {
        assert_eq!(call(|| panic!("it fell over {}", 7)), Status::Internal);
        assert_eq!(told::kept(), "a fault of gpp: it fell over 7");
        assert_eq!(call(|| panic!("it fell over {}", 7)), Status::Internal);
        assert_eq!(call(|| Ok(())), Status::Ok);
        assert_eq!(told::kept(), "a fault of gpp: it fell over 7");
    }
}
