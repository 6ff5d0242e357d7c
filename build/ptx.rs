//! From the compiler's PTX to that of the program.

use super::{bounds, line_table};

/// The PTX with lines of the kernels' own and with launch bounds.
pub fn finished(ptx: &str) -> String {
    bounds::add(&line_table::rewrite(ptx))
}
