//! What is open. A handle is a number that is looked up, never an address that is read: one that was closed,
//! or never given out, is told from all others. Numbers are not used twice.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{panic, ptr};

use gpp_core::{Calculator, Placed};
use num_complex::Complex64;

use crate::Result;
use crate::types::{Failure, Handle, Status};

/// What a handle calculates with.
pub struct Work {
    /// The screening that stays in place; first, so that it goes first.
    pub placed: Option<PlacedArrays>,
    /// The device.
    pub calculator: Calculator,
    /// The version that ran last; empty if none did.
    pub version: &'static str,
    /// Seconds that its kernels took.
    pub seconds: f64,
}

/// A screening in place, and copies that it refers to, which go after it.
pub struct PlacedArrays {
    pub placed: Placed<'static>,
    pub _copies: Vec<Vec<Complex64>>,
}

/// None once it is closed. Who calculates holds it, so that threads take turns.
type Open = Arc<Mutex<Option<Work>>>;

struct All {
    count: usize,
    open: BTreeMap<usize, Open>,
}

static ALL: Mutex<All> = Mutex::new(All { count: 0, open: BTreeMap::new() });

/// Odd, so that different counts give different numbers, none of them 0; large, so that what is no handle is
/// hardly one of them.
const SPREAD: usize = 0x9e37_79b9_7f4a_7c15_u64 as usize;

/// All changes are whole, whatever a thread that panicked did before or after.
fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives out a handle.
pub fn add(calculator: Calculator) -> *mut Handle {
    let work = Work { placed: None, calculator, version: "", seconds: 0.0 };
    let mut all = locked(&ALL);
    all.count += 1;
    let number = all.count.wrapping_mul(SPREAD);
    all.open.insert(number, Arc::new(Mutex::new(Some(work))));
    ptr::without_provenance_mut(number)
}

/// Takes a handle back, once whoever calculates with it has finished.
pub fn close(handle: *const Handle) -> Result<()> {
    let open = locked(&ALL).open.remove(&handle.addr()).ok_or_else(|| unknown(handle))?;
    drop(locked(&open).take());
    Ok(())
}

fn unknown(handle: *const Handle) -> Failure {
    let what = if handle.is_null() { "is null" } else { "is none that is open" };
    Failure::argument(format!("handle {what}"))
}

/// Runs the body of a call: its failure, or panic, becomes a status, and the message of this thread.
pub fn call(body: impl FnOnce() -> Result<()>) -> Status {
    // What a body leaves half done it owns; the calculator stays whole.
    let ended = panic::catch_unwind(AssertUnwindSafe(body));
    let ended = ended.unwrap_or_else(|panicked| {
        let message = format!("a fault of gpp: {}", text(&*panicked));
        // Nothing may be thrown from here on, by what was thrown either.
        std::mem::forget(panicked);
        Err(Failure { status: Status::Internal, message })
    });
    ended.map_or_else(
        |failure| {
            store(Text::Message, &failure.message);
            failure.status
        },
        |()| Status::Ok,
    )
}

/// Runs the body of a call with what a handle calculates with, after whoever has it.
pub fn calculate(handle: *const Handle, body: impl FnOnce(&mut Work) -> Result<()>) -> Status {
    call(|| {
        let open = locked(&ALL).open.get(&handle.addr()).cloned();
        let open = open.ok_or_else(|| unknown(handle))?;
        let mut work = locked(&open);
        body(work.as_mut().ok_or_else(|| unknown(handle))?)
    })
}

/// What a handle answers; the default of what is no handle.
pub fn ask<T: Default>(handle: *const Handle, of: impl FnOnce(&Work) -> T) -> T {
    let mut answer = T::default();
    calculate(handle, |work| {
        answer = of(work);
        Ok(())
    });
    answer
}

fn text(panicked: &(dyn Any + Send)) -> &str {
    let owned = || panicked.downcast_ref::<String>().map(String::as_str);
    panicked.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no more is known")
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

/// Keeps a string of this thread's.
pub fn store(of: Text, text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that is about to end has nobody left to tell.
    _ = STRINGS.try_with(|strings| strings.borrow_mut()[of as usize] = text);
}

/// The string that this thread keeps, valid until it keeps another one; `""` on a thread that is about to end.
pub fn stored(of: Text) -> *const c_char {
    STRINGS.try_with(|strings| strings.borrow()[of as usize].as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests;
