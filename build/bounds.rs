//! The launch bounds of each entry, as its kernel states them.

use gpp_kernels::{offdiag, versions};

/// The PTX with each entry's threads, and its register cap where it has one.
pub fn add(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut bounds = None;
    for line in ptx.lines() {
        text += line;
        text.push('\n');
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            bounds = of(entry.trim_end_matches('('));
        } else if line == ")" {
            text += &bounds.take().unwrap_or_default();
        }
    }
    text
}

/// The bounds of an entry; none of one that is no version's.
fn of(symbol: &str) -> Option<String> {
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
