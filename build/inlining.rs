//! What LLVM's debug information says of inlined calls.

use std::cmp::Reverse;
use std::collections::HashMap;

use gimli::{AttributeValue, DebugAbbrev, DebugInfo, LittleEndian, constants};

/// File and line.
type Place = (u64, u64);

/// One inlined call.
struct Call {
    /// Lines of PTX from its first instruction to its last, between which others may stand.
    low: u64,
    high: u64,
    /// Where it stands.
    site: Place,
    /// Where the function that it is of begins, if that is said.
    function: Option<Place>,
    /// The call that this one was inlined into.
    parent: Option<usize>,
}

/// Numbers of calls by the file of their function, where it is known.
type ByFile = HashMap<Option<u64>, Vec<usize>>;

/// The inlined calls of all entries.
#[derive(Default)]
pub struct Inlining {
    /// Outer before inner.
    calls: Vec<Call>,
    /// Those of each entry, which begins at a line of PTX, and of functions in each file.
    entries: Vec<(u64, ByFile)>,
}

impl Inlining {
    /// Where the calls stand that were inlined around the instruction on a line of PTX, inner
    /// before outer; `innermost` is where the instruction itself is from.
    ///
    /// Of the calls whose instructions are around it, it is of one whose function has the line:
    /// that begins last before it. Of equals the tightest.
    pub fn calls_around(&self, instruction: u64, innermost: Place) -> Vec<Place> {
        let entry = self.entries.partition_point(|&(begin, _)| begin <= instruction);
        let of_file = |file| Some(self.entries.get(entry.checked_sub(1)?)?.1.get(&file)?.iter());
        let calls = [Some(innermost.0), None].into_iter().filter_map(of_file).flatten().copied();
        let mut inner = calls
            .filter(|&at| {
                let Call { low, high, function, .. } = self.calls[at];
                low <= instruction
                    && instruction < high
                    && function.is_none_or(|(_, begin)| begin <= innermost.1)
            })
            .max_by_key(|&at| {
                let Call { low, high, function, .. } = self.calls[at];
                (function, Reverse(high - low), at)
            });
        let mut sites = Vec::new();
        while let Some(at) = inner {
            sites.push(self.calls[at].site);
            inner = self.calls[at].parent;
        }
        sites
    }

    /// Reads `.debug_info`, whose addresses are the labels of `code`.
    pub fn read(code: &[&str], debug: &[&str]) -> Option<Inlining> {
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

        let mut inlining = Inlining::default();
        let mut functions = HashMap::new();
        // Depth and index of the calls around the current one.
        let mut around: Vec<(isize, usize)> = Vec::new();
        let mut depth = 0;
        let mut entries = unit.entries(&abbreviations);
        while let Some((step, entry)) = entries.next_dfs().ok()? {
            depth += step;
            while around.last().is_some_and(|&(outer, _)| outer >= depth) {
                around.pop();
            }
            let number = |name| match entry.attr_value(name).ok()?? {
                AttributeValue::Addr(value) | AttributeValue::Udata(value) => Some(value),
                AttributeValue::FileIndex(value) => Some(value),
                other => other.udata_value(),
            };
            let place = |file, line| Some((number(file)?, number(line)?));
            if entry.tag() == constants::DW_TAG_subprogram {
                if let Some(begin) = place(constants::DW_AT_decl_file, constants::DW_AT_decl_line) {
                    functions.insert(entry.offset(), begin);
                }
                if let Some(low) = number(constants::DW_AT_low_pc) {
                    inlining.entries.push((low, HashMap::new()));
                }
                continue;
            }
            if entry.tag() != constants::DW_TAG_inlined_subroutine {
                continue;
            }
            let function = match entry.attr_value(constants::DW_AT_abstract_origin).ok()? {
                Some(AttributeValue::UnitRef(offset)) => functions.get(&offset).copied(),
                _ => None,
            };
            let call = (|| {
                Some(Call {
                    low: number(constants::DW_AT_low_pc)?,
                    high: number(constants::DW_AT_high_pc)?,
                    site: place(constants::DW_AT_call_file, constants::DW_AT_call_line)?,
                    function,
                    parent: around.last().map(|&(_, index)| index),
                })
            })();
            if let (Some(call), Some((_, by_file))) = (call, inlining.entries.last_mut()) {
                around.push((depth, inlining.calls.len()));
                let file = function.map(|(file, _)| file);
                by_file.entry(file).or_default().push(inlining.calls.len());
                inlining.calls.push(call);
            }
        }
        inlining.entries.sort_by_key(|&(begin, _)| begin);
        Some(inlining)
    }
}

/// The bytes of a DWARF section, with the PTX's labels as addresses; other references are zero.
fn section(debug: &[&str], name: &str, labels: &HashMap<&str, u64>) -> Option<Vec<u8>> {
    let begin = debug
        .iter()
        .position(|line| super::line_table::is_section(line) && line.ends_with(name))?;
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
