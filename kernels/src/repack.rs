//! A matrix repacked on the GPU: rows and columns picked, padded, transposed.

use num_complex::Complex64;

use crate::arguments::arguments;
use crate::grid::{Thread, split};

pub const THREADS: u32 = 256;

pub const SYMBOL: &str = "gpp_relaid";

/// Index of a row or column that is filled with zeros.
pub const NONE: u32 = u32::MAX;

arguments! {
    RepackArguments {
        /// The matrix, column-major.
        from: *const Complex64,
        /// Elements from one of its columns to the next.
        ld: u64,
        /// Its row for each row of the result, or [`NONE`].
        rows: *const u32,
        height: u32,
        /// Its column for each column of the result, or [`NONE`].
        columns: *const u32,
        /// How many. Elements are fewer than 2³².
        width: u32,
        /// Whether the result is row-major: 1, else 0.
        transposed: u32,
        /// The result.
        to: *mut Complex64,
    }
    gpp_relaid = |arguments| share(Thread::calling(), &arguments);
}

/// Repacks a thread's share of the elements.
#[inline(always)]
pub unsafe fn share(thread: Thread, arguments: &RepackArguments) {
    let RepackArguments { from, ld, rows, height, columns, width, transposed, to } = *arguments;
    let inner = if transposed == 0 { height } else { width };
    for at in thread.strided(height * width) {
        let (outer, inner) = split(at, inner);
        let (row, column) = if transposed == 0 { (inner, outer) } else { (outer, inner) };
        let (row, column) = (*rows.add(row as usize), *columns.add(column as usize));
        let is_there = row != NONE && column != NONE;
        *to.add(at as usize) = if is_there {
            *from.add((u64::from(column) * ld + u64::from(row)) as usize)
        } else {
            Complex64::new(0.0, 0.0)
        };
    }
}
