//! The innermost loops of a kernel, in what `nvdisasm -c` prints.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loop {
    pub fp64: u32,
    /// Loads and stores of local memory: spills, where there is no stack frame besides.
    pub spills: u32,
    /// Conversions between integers and numbers: of a division of integers, there is no other.
    pub divisions: u32,
}

pub fn innermost(disassembly: &str) -> BTreeMap<String, Vec<Loop>> {
    let mut kernels = BTreeMap::new();
    for section in disassembly.split("\n.text.").skip(1) {
        let (name, code) = section.split_once(':').unwrap_or((section, ""));
        kernels.insert(name.to_string(), loops(code));
    }
    kernels
}

fn loops(code: &str) -> Vec<Loop> {
    let mut instructions = Vec::new();
    let mut labels = BTreeMap::new();
    for line in code.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, instructions.len());
        } else if let Some((_, instruction)) =
            line.strip_prefix("/*").and_then(|l| l.split_once("*/"))
        {
            instructions.push(instruction.trim());
        }
    }

    // A branch back makes a loop; of those to the same label the last ends it.
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, instruction) in instructions.iter().enumerate() {
        let label = instruction.split_once("`(").and_then(|(_, rest)| rest.split(')').next());
        let target = label.and_then(|label| labels.get(label)).filter(|&&target| target <= at);
        if let (true, Some(&target)) = (name(instruction) == "BRA", target) {
            ends.insert(target, at);
        }
    }
    let holds_another = |begin: usize, end: usize| {
        ends.iter().any(|(&b, &e)| (b, e) != (begin, end) && begin <= b && e <= end)
    };
    ends.iter()
        .filter(|&(&begin, &end)| !holds_another(begin, end))
        .map(|(&begin, &end)| of(&instructions[begin..=end]))
        .collect()
}

fn of(instructions: &[&str]) -> Loop {
    let mut counts = Loop::default();
    for instruction in instructions {
        match name(instruction) {
            "DFMA" | "DMUL" | "DADD" => counts.fp64 += 1,
            "LDL" | "STL" => counts.spills += 1,
            "I2F" | "F2I" => counts.divisions += 1,
            _ => {}
        }
    }
    counts
}

/// The operation of `@!P0 LDL.64 R2, [R1+0x8] ;`: `LDL`.
fn name(instruction: &str) -> &str {
    let word = instruction.split_whitespace().find(|word| !word.starts_with('@'));
    word.and_then(|word| word.split(['.', ';']).next()).unwrap_or_default()
}
