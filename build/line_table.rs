//! Makes the PTX's line table point at the kernels' own lines.
//!
//! LLVM names the innermost inlined function for each instruction, which for arithmetic is `core` or
//! `num-complex`. The DWARF sections, which `ptxas` rejects and which therefore go, say where that
//! function was called from: each `.loc` is replaced by the nearest caller among the versions, their
//! tiles and the formula.

use std::cmp::Reverse;
use std::collections::HashMap;

use gimli::{AttributeValue, DebugAbbrev, DebugInfo, LittleEndian, constants};

/// Sources whose lines say what a version does; then those that at least are ours.
const WANTED: [&[&str]; 2] = [
    &["/kernels/src/versions/v", "/kernels/src/tiles/", "/kernels/src/formula.rs"],
    &["/kernels/src/"],
];

/// The PTX without its DWARF sections and their mark, `.file` lines on top, each `.loc` at the nearest wanted line.
pub fn rewrite(ptx: &str) -> String {
    let lines: Vec<&str> = ptx.lines().collect();
    let end = lines.iter().position(|line| is_section(line)).unwrap_or(lines.len());
    let (code, debug) = lines.split_at(end);
    let files: HashMap<u64, &str> = code.iter().copied().filter_map(file).collect();
    // What cannot be read of the debug information leaves the lines as they are.
    let calls = inlined_calls(code, debug).unwrap_or_default();
    let tightest = tightest(&calls, code.len());

    let mut text = String::with_capacity(ptx.len());
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
                let call = tightest.get(instruction).copied().flatten();
                let (file, line) = nearest_wanted(innermost, call, &calls, &files);
                text += &format!("\t.loc\t{file} {line} 0");
            }
            None if line.starts_with(".target") => text += &line.replace(", debug", ""),
            None => text += line,
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

fn is_section(line: &str) -> bool {
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

/// One inlined call: the instructions it covers, by their line of PTX, and where it stands.
struct Call {
    low: u64,
    high: u64,
    site: (u64, u64),
    /// The call that this one was inlined into.
    parent: Option<usize>,
}

/// For each line of PTX the call that it is of. LLVM gives an inlined call's first and last
/// instruction, between which others may stand: the tightest is the one, of equals the inner.
fn tightest(calls: &[Call], lines: usize) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|&index| Reverse(calls[index].high.saturating_sub(calls[index].low)));
    let mut tightest = vec![None; lines];
    for index in order {
        let end = (calls[index].high as usize).min(lines);
        let begin = (calls[index].low as usize).min(end);
        tightest[begin..end].fill(Some(index));
    }
    tightest
}

/// The line to show for an instruction: up the chain of inlined calls to the first in a version, its
/// tiles or the formula, else in the kernels, else as it was.
fn nearest_wanted(
    innermost: (u64, u64),
    mut call: Option<usize>,
    calls: &[Call],
    files: &HashMap<u64, &str>,
) -> (u64, u64) {
    let mut chain = vec![innermost];
    while let Some(index) = call {
        chain.push(calls[index].site);
        call = calls[index].parent;
    }
    let nearest = |wanted: &[&str]| {
        chain.iter().copied().find(|(file, _)| {
            files.get(file).is_some_and(|path| wanted.iter().any(|part| path.contains(part)))
        })
    };
    WANTED.into_iter().find_map(nearest).unwrap_or(innermost)
}

/// Reads the inlined calls out of `.debug_info`, outer before inner.
fn inlined_calls(code: &[&str], debug: &[&str]) -> Option<Vec<Call>> {
    let labels: HashMap<&str, u64> = code
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((line.strip_suffix(':')?, at as u64)))
        .collect();
    let abbreviations = section(debug, ".debug_abbrev", &labels)?;
    let info = section(debug, ".debug_info", &labels)?;
    let abbreviations = DebugAbbrev::new(&abbreviations, LittleEndian);
    let unit = DebugInfo::new(&info, LittleEndian).units().next().ok()??;
    let abbreviations = unit.abbreviations(&abbreviations).ok()?;

    let mut calls: Vec<Call> = Vec::new();
    // Depth and index of the calls around the current entry.
    let mut around: Vec<(isize, usize)> = Vec::new();
    let mut depth = 0;
    let mut entries = unit.entries(&abbreviations);
    while let Some((step, entry)) = entries.next_dfs().ok()? {
        depth += step;
        while around.last().is_some_and(|&(outer, _)| outer >= depth) {
            around.pop();
        }
        if entry.tag() != constants::DW_TAG_inlined_subroutine {
            continue;
        }
        let number = |name| match entry.attr_value(name).ok()?? {
            AttributeValue::Addr(value) | AttributeValue::Udata(value) => Some(value),
            AttributeValue::FileIndex(value) => Some(value),
            other => other.udata_value(),
        };
        let call = (|| {
            Some(Call {
                low: number(constants::DW_AT_low_pc)?,
                high: number(constants::DW_AT_high_pc)?,
                site: (number(constants::DW_AT_call_file)?, number(constants::DW_AT_call_line)?),
                parent: around.last().map(|&(_, index)| index),
            })
        })();
        if let Some(call) = call {
            around.push((depth, calls.len()));
            calls.push(call);
        }
    }
    Some(calls)
}

/// The bytes of a DWARF section, with the PTX's labels as addresses; other references are zero.
fn section(debug: &[&str], name: &str, labels: &HashMap<&str, u64>) -> Option<Vec<u8>> {
    let begin = debug.iter().position(|line| is_section(line) && line.ends_with(name))?;
    let mut bytes = Vec::new();
    for line in debug[begin + 1..].iter().take_while(|line| line.trim() != "}") {
        let Some((width, values)) = line.trim().strip_prefix(".b").and_then(|l| l.split_once(' '))
        else {
            continue;
        };
        let width: usize = width.parse::<usize>().ok()? / 8;
        for value in values.split(',').map(str::trim) {
            let number = value
                .parse::<i64>()
                .ok()
                .map(|number| number as u64)
                .or_else(|| labels.get(value).copied())
                .unwrap_or(0);
            bytes.extend(&number.to_le_bytes()[..width]);
        }
    }
    Some(bytes)
}
