//! What callers are told in words.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::ptr;

/// Strings that a thread was handed.
#[derive(Default)]
struct Strings {
    /// The last failure on this thread.
    failure: String,
    /// By function: what it returned last.
    returned: [CString; 3],
}

thread_local! {
    static STRINGS: RefCell<Strings> = RefCell::default();
}

/// The functions that return strings which change.
#[derive(Clone, Copy)]
pub enum Of {
    DeviceName,
    LastVersion,
    Message,
}

/// Keeps the last failure of this thread.
pub fn keep(message: &str) {
    // A thread that is about to end has nobody left to tell.
    _ = STRINGS.try_with(|strings| strings.borrow_mut().failure = message.into());
}

/// The last failure of this thread; empty where there was none.
pub fn kept() -> String {
    STRINGS.try_with(|strings| strings.borrow().failure.clone()).unwrap_or_default()
}

/// A string of C's, valid until the same function is called by this thread again; `""` on a thread that is
/// about to end.
pub fn returned(of: Of, text: &str) -> *const c_char {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    let hand = |strings: &RefCell<Strings>| {
        let place = &mut strings.borrow_mut().returned[of as usize];
        // An equal one stays where it is.
        if *place != text {
            *place = text;
        }
        ptr::from_ref(place.as_c_str()).cast::<c_char>()
    };
    STRINGS.try_with(hand).unwrap_or(c"".as_ptr())
}
