//! Makes the PTX's line table point at the lines that say what a kernel does.
//!
//! The rule: an instruction is shown at the innermost line of the kernels' sources, up the calls
//! that were inlined around it, leaving out what only stands in for the language ([`LANGUAGE`]):
//! the intrinsics and the macros that make entries. What `ptxas` appends, the slow
//! ways of divisions and roots, takes a kernel's last line, so its `ret` is shown where the last of
//! these is, a division before others.
//!
//! LLVM names the innermost function alone, which for arithmetic is `core` or `num-complex`. The
//! DWARF sections, which `ptxas` rejects and which therefore go, say where that function was called
//! from. It is the PTX's `.loc` that the profiler's own source page goes by too.

use std::collections::HashMap;

use super::inlining::Inlining;

/// Where the kernels' sources are.
const OURS: &str = "/kernels/src/";

/// Those of them that are passed over while a caller says more.
pub const LANGUAGE: [&str; 4] = ["intrinsics/", "arguments.rs", "entries.rs", "kernel.rs"];

/// Operations that `ptxas` may make a call of, the most seldom first.
const WITH_A_SLOW_WAY: [&str; 3] = ["sqrt.rn.f64", "rcp.rn.f64", "div.rn.f64"];

/// The PTX without its DWARF sections and their mark, `.file` lines on top, each `.loc` by the
/// rule.
pub fn rewrite(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let end = lines.iter().position(|line| is_section(line)).unwrap_or(lines.len());
    let (code, debug) = lines.split_at(end);
    let files: HashMap<u64, &str> = code.iter().copied().filter_map(file).collect();
    // What cannot be read of the debug information leaves the lines as they are.
    let inlining = Inlining::read(code, debug).unwrap_or_default();

    let mut text = String::with_capacity(ptx.len());
    // Where the code is, and which operation with a slow way was last and where.
    let (mut shown, mut slow) = (None, None);
    for (at, line) in code.iter().enumerate() {
        if file(line).is_some() {
            continue;
        }
        match location(line) {
            Some(innermost) => {
                // Labels stand between the location and the instruction that it is of.
                let instruction = (at..code.len())
                    .find(|&at| location(code[at]).is_none() && !code[at].ends_with(':'))
                    .unwrap_or(at);
                let is_return = code.get(instruction).is_some_and(|line| line.trim() == "ret;");
                shown = match innermost {
                    // Of no line, LLVM says: where the instruction before it is.
                    (_, 0) if shown.is_some() => shown,
                    _ => slow
                        .filter(|_| is_return)
                        .map(|(_, at)| at)
                        .or_else(|| line_of(innermost, instruction, &inlining, &files)),
                };
                let Some((file, line)) = shown else { continue };
                text += &format!("\t.loc\t{file} {line} 0");
            }
            None if line.starts_with(".target") => text += &line.replace(", debug", ""),
            None => {
                if line.contains(".entry ") {
                    (shown, slow) = (None, None);
                } else if let (Some(rank), Some(at)) = (slow_way(line), shown) {
                    slow = slow.filter(|&(other, _)| other > rank).or(Some((rank, at)));
                }
                text += line;
            }
        }
        text.push('\n');
        if line.starts_with(".address_size") {
            for file in code.iter().filter(|line| file(line).is_some()) {
                text += file;
                text.push('\n');
            }
        }
    }
    text
}

/// Whether a DWARF section begins here.
pub fn is_section(line: &str) -> bool {
    line.trim_start().starts_with(".section")
}

/// Number and path of a `.file` line.
fn file(line: &str) -> Option<(u64, &str)> {
    let (number, path) = line.trim_start().strip_prefix(".file")?.trim().split_once(' ')?;
    Some((number.parse().ok()?, path.trim_matches('"')))
}

/// File and line of a `.loc` line.
fn location(line: &str) -> Option<(u64, u64)> {
    let mut words = line.trim_start().strip_prefix(".loc")?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Which of the operations with a slow way an instruction is.
fn slow_way(line: &str) -> Option<usize> {
    WITH_A_SLOW_WAY.iter().position(|operation| line.contains(operation))
}

/// The line to show for an instruction, by the rule; the innermost where nothing is ours.
fn line_of(
    innermost: (u64, u64),
    instruction: usize,
    inlining: &Inlining,
    files: &HashMap<u64, &str>,
) -> Option<(u64, u64)> {
    let mut chain = vec![innermost];
    chain.extend(inlining.calls_around(instruction as u64, innermost));
    chain.retain(|&(_, line)| line > 0);
    let ours = |&&(file, _): &&(u64, u64)| Some(files.get(&file)?.split_once(OURS)?.1);
    let is_language = |path: &str| LANGUAGE.iter().any(|part| path.starts_with(part));
    let says_most = chain.iter().find(|at| ours(at).is_some_and(|path| !is_language(path)));
    says_most.or_else(|| chain.iter().find(|at| ours(at).is_some())).or(chain.first()).copied()
}
