//! Open handles, and the last message of each thread. A handle is a number that is looked up, never an address that is
//! read: an invalid one is an error. Numbers are not used twice.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{mem, panic, ptr};

use gpp_core::{Calculator, Error, Result};

use crate::{Handle, Status, argument, status};

/// The state of an open handle.
pub struct HandleState {
    /// The placed screening, dropped before its calculator.
    pub placed: Option<gpp_core::Placed<'static>>,
    pub calculator: Calculator,
    /// The version that ran last; empty if none did.
    pub version: &'static str,
    /// Seconds that its kernels took, and the whole call.
    pub seconds: [f64; 2],
    /// What single precision may have lost there, and has lost in a sample.
    pub errors: [f64; 2],
}

struct Open {
    /// None once it is closed. A calculation holds the lock, so that threads take turns.
    work: Mutex<Option<HandleState>>,
    /// The [thread](here) of the call in progress, or 0.
    caller: AtomicUsize,
}

/// A call in progress.
struct Turn<'o>(&'o Open, MutexGuard<'o, Option<HandleState>>);

impl Open {
    /// Waits for whoever calculates; for a thread within a call, that would be itself.
    fn turn(&self) -> Result<Turn<'_>> {
        self.require_outside()?;
        let turn = Turn(self, locked(&self.work));
        self.caller.store(here(), Ordering::Relaxed);
        Ok(turn)
    }

    fn require_outside(&self) -> Result<()> {
        if self.caller.load(Ordering::Relaxed) != here() {
            return Ok(());
        }
        let what = "this thread is within a call of the handle, whose progress callback must neither call the \
                    handle's functions nor leave by longjmp";
        Err(argument(what))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.caller.store(0, Ordering::Relaxed);
    }
}

/// A number that no other running thread has.
fn here() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| ptr::from_ref(here).addr())
}

/// Number of handles so far, and those that are open.
static ALL: Mutex<(usize, BTreeMap<usize, Arc<Open>>)> = Mutex::new((0, BTreeMap::new()));

/// Odd, so that different counts give different numbers, none of them 0; large, so that what is no handle is
/// hardly one of them.
const SPREAD: usize = 0x9e37_79b9_7f4a_7c15_u64 as usize;

/// All changes are whole, whatever a thread that panicked did before or after.
fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives out a handle.
pub fn add(calculator: Calculator) -> *mut Handle {
    let work =
        HandleState { placed: None, calculator, version: "", seconds: [0.0; 2], errors: [0.0; 2] };
    let (count, open) = &mut *locked(&ALL);
    *count += 1;
    let number = count.wrapping_mul(SPREAD);
    open.insert(number, Arc::new(Open { work: Mutex::new(Some(work)), caller: 0.into() }));
    ptr::without_provenance_mut(number)
}

/// Takes a handle back, once whoever calculates with it has finished.
pub fn close(handle: *const Handle) -> Result<()> {
    found(handle)?.require_outside()?;
    let open = locked(&ALL).1.remove(&handle.addr()).ok_or_else(|| unknown(handle))?;
    drop(open.turn()?.1.take());
    Ok(())
}

fn found(handle: *const Handle) -> Result<Arc<Open>> {
    locked(&ALL).1.get(&handle.addr()).cloned().ok_or_else(|| unknown(handle))
}

fn unknown(handle: *const Handle) -> Error {
    argument(if handle.is_null() { "handle is null" } else { "handle is not open" })
}

/// Runs the body of a call: its error, or panic, becomes a status, and the message of this thread.
pub fn call(body: impl FnOnce() -> Result<()>) -> Status {
    // What a body leaves half done it owns; the calculator stays whole.
    let (status, message) = match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(error)) => (status(&error), error.to_string()),
        Err(panicked) => {
            let message = format!("internal error: {}", text(&*panicked));
            // Nothing may be thrown from here on, by what was thrown either.
            mem::forget(panicked);
            (Status::Internal, message)
        }
    };
    store(Text::Message, &message);
    status
}

/// Runs the body of a call with what a handle calculates with, after whoever has it.
pub fn calculate(
    handle: *const Handle,
    body: impl FnOnce(&mut HandleState) -> Result<()>,
) -> Status {
    call(|| {
        let open = found(handle)?;
        let mut turn = open.turn()?;
        body(turn.1.as_mut().ok_or_else(|| unknown(handle))?)
    })
}

/// Changes what a handle's calculator is set to; after a failure nothing has changed.
pub fn set(handle: *const Handle, change: impl FnOnce(Calculator) -> Result<Calculator>) -> Status {
    calculate(handle, |work| {
        work.calculator = change(work.calculator.clone())?;
        Ok(())
    })
}

/// What a handle answers; the default of what is no handle.
pub fn ask<T: Default>(handle: *const Handle, read: impl FnOnce(&HandleState) -> T) -> T {
    let mut answer = T::default();
    calculate(handle, |work| {
        answer = read(work);
        Ok(())
    });
    answer
}

fn text(panicked: &(dyn Any + Send)) -> &str {
    let owned = || panicked.downcast_ref::<String>().map(String::as_str);
    panicked.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("unknown cause")
}

/// The strings that each thread keeps for its caller.
#[derive(Clone, Copy)]
pub enum Text {
    DeviceName,
    LastVersion,
    Message,
}

thread_local! {
    static STRINGS: RefCell<[CString; 3]> = RefCell::default();
}

/// Keeps a string of this thread, and returns it as [`stored`] does.
pub fn store(which: Text, text: &str) -> *const c_char {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that is about to end has nobody left to tell.
    _ = STRINGS.try_with(|strings| strings.borrow_mut()[which as usize] = text);
    stored(which)
}

/// The string that this thread keeps, valid until it keeps another one; `""` on a thread that is about to end.
pub fn stored(which: Text) -> *const c_char {
    STRINGS.try_with(|strings| strings.borrow()[which as usize].as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests;
