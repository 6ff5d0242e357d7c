//! What tells a kernel's code from another's.

use std::collections::HashMap;

use twox_hash::XxHash64;

/// Lines that say where code comes from.
const LINE_TABLE: [&str; 2] = [".loc", ".file"];

/// Labels of the debug information.
const MARKS: [&str; 2] = ["$L__tmp", "$L__func_"];

/// Beginnings of names that the compiler gives: labels, mangled paths, constants without a name.
const GIVEN: [&str; 5] = ["$", "_ZN", "_R", "anon_", "__unnamed_"];

/// 16 hexadecimal digits for the module of one kernel: its instructions and registers, its bounds,
/// the memory and the functions that it uses, the PTX's version and target.
///
/// Left out is what depends on where it was built and on what else is built with it: line table, comments,
/// the kernel's name and names that the compiler gives.
pub fn hash(module: &str, symbol: &str) -> String {
    let mut names = HashMap::new();
    let mut code = String::with_capacity(module.len());
    for line in module.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let begins = |with: &[&str]| with.iter().any(|start| line.starts_with(start));
        if !(line.is_empty() || begins(&LINE_TABLE) || begins(&MARKS) && line.ends_with(':')) {
            for word in words(line) {
                code += &neutral(word, symbol, &mut names);
            }
            code.push('\n');
        }
    }
    format!("{:016x}", XxHash64::oneshot(0, code.as_bytes()))
}

/// The names of a line, and what stands between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = is_name(rest.chars().next()?);
        let end = rest.find(|c| is_name(c) != first).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// A word without what has no part in the hash: given names become numbers, in the order in which
/// they come.
fn neutral<'a>(word: &'a str, symbol: &str, names: &mut HashMap<&'a str, usize>) -> String {
    if let Some(rest) = word.strip_prefix(symbol)
        && (rest.is_empty() || rest.starts_with("_param_"))
    {
        return format!("entry{rest}");
    }
    if GIVEN.iter().any(|start| word.starts_with(start)) {
        let next = names.len();
        return format!("name{}", names.entry(word).or_insert(next));
    }
    word.into()
}
