//! Warp samples by source line, from the profiler's source page (`--print-source cuda,sass --csv`).

use crate::error::ProfileError;
use crate::record::profile::SourceLine;

/// Lines of one kernel, over all its launches, most samples first.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelLines {
    /// The kernel's symbol.
    pub kernel: String,
    /// Its lines with samples.
    pub lines: Vec<SourceLine>,
}

/// Names of the columns of all samples and of those not issued: of the section `SourceCounters`, and
/// of the metric groups alone.
const COLUMNS: [[&str; 2]; 2] = [
    ["Warp Stall Sampling (All Samples)", "Warp Stall Sampling (Not-issued Samples)"],
    ["group:smsp__pcsamp_warp_stall_reasons", "group:smsp__pcsamp_warp_stall_reasons_not_issued"],
];

/// Reads the source page.
///
/// # Errors
/// What was needed and what was found.
pub fn parse(text: &str) -> Result<Vec<KernelLines>, ProfileError> {
    let mut kernels: Vec<KernelLines> = Vec::new();
    let mut current = 0;
    let mut file = "";
    // Columns of the samples, counted from the end: source text may hold what separates columns.
    let mut columns = None;
    for row in text.lines().filter_map(fields) {
        match row[0] {
            "File Path" | "File Name" => file = row[1].trim_start_matches("./"),
            "Function Name" => {
                current = kernels.iter().position(|k| k.kernel == row[1]).unwrap_or(kernels.len());
                if current == kernels.len() {
                    kernels.push(KernelLines { kernel: row[1].into(), lines: Vec::new() });
                }
            }
            "Line No" => {
                let from_end = |name: &str| row.iter().rev().position(|&column| column == name);
                columns = COLUMNS
                    .iter()
                    .find_map(|[all, rest]| Some((from_end(all)?, from_end(rest)?, row.len())));
                if columns.is_none() {
                    let what = format!("the source page has no warp samples: {row:?}");
                    return Err(ProfileError::Table(what));
                }
            }
            number => {
                // Rows without a line number are instructions, which the line's row sums up.
                let (Ok(line), Some((all, rest, width)), Some(kernel)) =
                    (number.parse::<u32>(), columns, kernels.get_mut(current))
                else {
                    continue;
                };
                if row.len() < width {
                    return Err(ProfileError::Table(format!("a row ends early: {row:?}")));
                }
                let count = |from_end: usize| {
                    row[row.len() - 1 - from_end].replace([',', '.'], "").parse().unwrap_or(0)
                };
                let found = SourceLine {
                    file: file.into(),
                    line,
                    text: row[1].trim().into(),
                    samples: count(all),
                    not_issued: count(rest),
                };
                kernel.add(found);
            }
        }
    }
    if kernels.is_empty() {
        let what = "no \"Function Name\": is it a source page with --print-source cuda,sass?";
        return Err(ProfileError::Table(what.into()));
    }
    for kernel in &mut kernels {
        kernel.lines.sort_by_key(|line| std::cmp::Reverse(line.samples));
    }
    Ok(kernels)
}

/// The fields of a row, all of them quoted; the profiler does not escape quotes in source text.
fn fields(line: &str) -> Option<Vec<&str>> {
    let fields: Vec<&str> =
        line.trim_end().strip_prefix('"')?.strip_suffix('"')?.split("\",\"").collect();
    (fields.len() >= 2).then_some(fields)
}

impl KernelLines {
    /// Adds a line's samples to those of earlier launches.
    fn add(&mut self, found: SourceLine) {
        let known =
            self.lines.iter_mut().find(|line| line.line == found.line && line.file == found.file);
        match known {
            Some(known) => {
                known.samples += found.samples;
                known.not_issued += found.not_issued;
            }
            None if found.samples > 0 => self.lines.push(found),
            None => {}
        }
    }
}
