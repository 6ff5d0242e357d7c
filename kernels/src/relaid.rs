//! A matrix on the GPU, laid out anew there: rows and columns picked, padded, transposed.

use num_complex::Complex64;

use crate::arguments::arguments;
use crate::grid::{Thread, split};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// The kernel's symbol.
pub const SYMBOL: &str = "gpp_relaid";

/// In place of a row's or column's number: zeros.
pub const NONE: u32 = u32::MAX;

arguments! {
    /// What the kernel takes.
    RelaidArguments {
        /// The matrix, column-major.
        from: *const Complex64,
        /// Elements from one of its columns to the next.
        ld: u64,
        /// Its row for each row of the result, or [`NONE`].
        rows: *const u32,
        /// How many.
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
    gpp_relaid = relay;
}

/// Lays out a thread's share of the elements.
///
/// # Safety
/// `rows` and `columns` hold as many numbers as their extents say, those of rows and columns that `from`
/// has; `to` holds an element for each pair of them, which nobody else touches.
#[inline(always)]
pub unsafe fn share(thread: Thread, arguments: &RelaidArguments) {
    let RelaidArguments { from, ld, rows, height, columns, width, transposed, to } = *arguments;
    let inner = if transposed == 0 { height } else { width };
    for at in thread.strided(height * width) {
        let (outer, inner) = split(at, inner);
        let (row, column) = if transposed == 0 { (inner, outer) } else { (outer, inner) };
        // SAFETY: this function's own contract: `row` is below `height`, `column` below `width`.
        unsafe {
            let (row, column) = (*rows.add(row as usize), *columns.add(column as usize));
            let is_there = row != NONE && column != NONE;
            *to.add(at as usize) = if is_there {
                *from.add((u64::from(column) * ld + u64::from(row)) as usize)
            } else {
                Complex64::new(0.0, 0.0)
            };
        }
    }
}

/// The kernel.
///
/// # Safety
/// As [`share`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn relay(arguments: RelaidArguments) {
    // SAFETY: this function's own contract.
    unsafe { share(Thread::calling(), &arguments) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn rows_and_columns_are_picked_padded_and_transposed() {
        let z = |re: usize| Complex64::new(re as f64, -1.0);
        // Three rows of two columns, one row apart.
        let from: Vec<Complex64> = (0..8).map(z).collect();
        let (rows, columns) = ([2, NONE, 0], [1, 0, 1, NONE]);
        for transposed in [0, 1] {
            let mut to = vec![z(99); 12];
            let arguments = RelaidArguments {
                from: from.as_ptr(),
                ld: 4,
                rows: rows.as_ptr(),
                height: 3,
                columns: columns.as_ptr(),
                width: 4,
                transposed,
                to: to.as_mut_ptr(),
            };
            // SAFETY: all is as long as its extents say.
            (0..5).for_each(|lane| unsafe { share(Thread::of(0, lane, 1, 5), &arguments) });
            for (r, &row) in rows.iter().enumerate() {
                for (c, &column) in columns.iter().enumerate() {
                    let at = if transposed == 0 { c * 3 + r } else { r * 4 + c };
                    let is_there = row != NONE && column != NONE;
                    let expected =
                        if is_there { z((column * 4 + row) as usize) } else { 0.0.into() };
                    assert_eq!(to[at], expected, "{transposed}: {r}, {c}");
                }
            }
        }
    }
}
