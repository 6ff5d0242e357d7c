//! Warp samples by source line, from the profiler's source page (`--print-source cuda,sass --csv`).

use serde::{Deserialize, Serialize};

/// Samples of one source line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file, relative to the repository.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// All warp samples.
    pub samples: u64,
    /// Those of warps that did not issue.
    pub not_issued: u64,
}

/// Lines of one kernel, over all its launches, most samples first.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelLines {
    /// The kernel's symbol.
    pub kernel: String,
    /// Its lines with samples.
    pub lines: Vec<SourceLine>,
}

/// Reads the source page.
///
/// # Errors
/// What was needed and what was found.
pub fn parse(text: &str) -> Result<Vec<KernelLines>, String> {
    let table: String =
        text.lines().filter(|line| !line.starts_with("==")).flat_map(|line| [line, "\n"]).collect();
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(table.as_bytes());
    let mut kernels: Vec<KernelLines> = Vec::new();
    let mut file = String::new();
    let mut columns: Option<[usize; 2]> = None;
    for record in reader.records() {
        let record = record.map_err(|e| format!("malformed CSV: {e}"))?;
        let field = |at: usize| record.get(at).unwrap_or_default();
        match field(0) {
            "File Path" | "File Name" => file = field(1).trim_start_matches("./").to_string(),
            "Function Name" => {
                let kernel = field(1).to_string();
                if !kernels.iter().any(|k| k.kernel == kernel) {
                    kernels.push(KernelLines { kernel: kernel.clone(), lines: Vec::new() });
                }
                // The lines that follow are the last kernel's.
                let at = kernels.iter().position(|k| k.kernel == kernel).unwrap_or_default();
                let current = kernels.remove(at);
                kernels.push(current);
            }
            "Line No" => {
                let column = |name: &str| record.iter().position(|h| h == name);
                columns = Some([
                    column("Warp Stall Sampling (All Samples)")
                        .ok_or("the source page has no column of warp samples")?,
                    column("Warp Stall Sampling (Not-issued Samples)")
                        .ok_or("the source page has no column of not-issued samples")?,
                ]);
            }
            number => {
                let (Ok(line), Some([all, not_issued])) = (number.parse::<u32>(), columns) else {
                    continue;
                };
                let count =
                    |at: usize| field(at).replace([',', '.'], "").parse::<u64>().unwrap_or(0);
                let (samples, not_issued) = (count(all), count(not_issued));
                let Some(kernel) = kernels.last_mut().filter(|_| samples > 0) else { continue };
                match kernel.lines.iter_mut().find(|l| l.line == line && l.file == file) {
                    Some(known) => {
                        known.samples += samples;
                        known.not_issued += not_issued;
                    }
                    None => kernel.lines.push(SourceLine {
                        file: file.clone(),
                        line,
                        text: field(1).trim().to_string(),
                        samples,
                        not_issued,
                    }),
                }
            }
        }
    }
    if kernels.is_empty() {
        return Err(
            "no \"Function Name\": is it a source page with --print-source cuda,sass?".into()
        );
    }
    for kernel in &mut kernels {
        kernel.lines.sort_by_key(|line| std::cmp::Reverse(line.samples));
    }
    Ok(kernels)
}
