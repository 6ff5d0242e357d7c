//! What happens when the system gives no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};
use std::sync::OnceLock;

use crate::interrupt::give_up;

/// The system's allocator, which ends the program where there is no more memory, what is done shown. The
/// standard library would abort it, by a signal that tells nothing.
pub struct Allocator;

/// How messages name this process, where it is one of several.
pub static NAME: OnceLock<String> = OnceLock::new();

/// As for arrays that are known not to fit before they are made.
const CODE: u8 = 2;

// SAFETY: what the system's allocator gives is handed on as it is; its null is never handed on, and nothing
// unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout, as this function asks for it.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout, as this function asks for it.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's memory, layout and size, as this function asks for them.
        given(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's memory and layout, as this function asks for them.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline(always)]
fn given(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        missing(size);
    }
    memory
}

#[cold]
fn missing(size: usize) -> ! {
    // Formatted in place: there is no memory.
    let (mut text, mib) = ([0; 400], size as f64 / (1 << 20) as f64);
    let mut rest = &mut text[..];
    let (name, colon) = NAME.get().map_or(("", ""), |name| (name.as_str(), ": "));
    let _ = writeln!(
        rest,
        "error: {name}{colon}not enough host memory: an allocation of {mib:.1} MiB failed; --host-memory LIMIT has arrays \
         in slabs"
    );
    let left = rest.len();
    let length = text.len() - left;
    let _ = io::stderr().write_all(&text[..length]);
    give_up(CODE);
}
