//! From the compiler's PTX to that of the program: launch bounds, as kernels state them.

use gpp_kernels::{offdiag, versions};

const ENTRY: &str = ".visible .entry ";

/// The PTX without debug sections, with each entry's threads, and its limit of registers if it has one.
pub fn with_bounds(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut bounds = None;
    // Of line directives LLVM leaves an empty section, which `ptxas` rejects.
    for line in ptx.lines().filter(|line| !line.trim_start().starts_with(".section")) {
        text += line;
        text.push('\n');
        if let Some(entry) = line.strip_prefix(ENTRY) {
            bounds = bounds_of(entry.trim_end_matches('('));
        } else if line == ")" {
            text += &bounds.take().unwrap_or_default();
        }
    }
    text
}

/// The bounds of an entry; none of one that is no version's.
fn bounds_of(symbol: &str) -> Option<String> {
    if let Some((_, threads)) = offdiag::symbols().find(|(other, _)| *other == symbol) {
        return Some(format!(".maxntid {threads}\n"));
    }
    let (_, kernel, entry) = versions::find(symbol)?;
    let mut bounds = format!(".maxntid {}\n", kernel.threads);
    if let Some(registers) = kernel.max_registers_of(entry) {
        bounds += &format!(".maxnreg {registers}\n");
    }
    Some(bounds)
}
