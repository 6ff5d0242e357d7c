//! What is open. A handle is a number that is looked up, never an address that is read: one that was closed,
//! or never given out, is told from all others. Numbers are not used twice.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpp_core::catalogue::BackEnd;
use gpp_core::{Calculator, Placed};
use num_complex::Complex64;

use crate::status::{Failure, Status};
use crate::told;
use crate::types::Handle;

/// An open device.
pub struct Open {
    /// What it is called.
    pub name: String,
    /// None once it is closed. Who calculates holds it, so that threads take turns.
    pub work: Mutex<Option<Work>>,
    told: Mutex<Told>,
}

/// What a handle calculates with.
pub struct Work {
    /// The screening that stays in place; first, so that it goes first.
    pub placed: Option<Kept>,
    /// The device.
    pub calculator: Calculator,
}

impl Work {
    /// Whether its device is a GPU.
    pub fn on_gpu(&self) -> bool {
        self.calculator.device().back_end() == BackEnd::Gpu
    }
}

/// A screening in place, and copies that it refers to, which go after it.
pub struct Kept {
    placed: Placed<'static>,
    extents: [usize; 2],
    _copies: Vec<Vec<Complex64>>,
}

impl Kept {
    /// What refers to these copies or to arrays of the caller's.
    pub fn of(placed: Placed<'static>, copies: Vec<Vec<Complex64>>) -> Kept {
        let extents = placed.extents();
        Kept { placed, extents, _copies: copies }
    }

    /// G and G′.
    pub fn extents(&self) -> [usize; 2] {
        self.extents
    }

    /// The screening.
    pub fn get(&mut self) -> &mut Placed<'static> {
        &mut self.placed
    }
}

/// What a handle answers while another thread calculates.
#[derive(Clone, Default)]
pub struct Told {
    /// The last failure; empty where there was none.
    pub message: String,
    /// The version that ran last; empty where none did.
    pub version: &'static str,
    /// Seconds that its kernels took.
    pub seconds: f64,
    /// Threads of the processor.
    pub threads: usize,
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
    let told = Told { threads: calculator.threads(), ..Told::default() };
    let work = Mutex::new(Some(Work { placed: None, calculator }));
    let open = Open { name, work, told: told.into() };
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
fn call_of(handle: *const Handle, body: impl FnOnce(&Open) -> Result<(), Failure>) -> Status {
    call(|| {
        let open = find(handle)?;
        caught(|| body(&open))
            .inspect_err(|failure| open.told().message.clone_from(&failure.message))
    })
}

/// Runs the body of a call with what a handle calculates with, after whoever has it.
pub fn calculate(
    handle: *const Handle,
    body: impl FnOnce(&mut Work, &Open) -> Result<(), Failure>,
) -> Status {
    call_of(handle, |open| match locked(&open.work).as_mut() {
        Some(work) => body(work, open),
        None => Err(unknown(handle)),
    })
}

fn caught(body: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // What a body leaves half done it owns; the calculator and what is told stay whole.
    let ended = panic::catch_unwind(AssertUnwindSafe(body));
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
