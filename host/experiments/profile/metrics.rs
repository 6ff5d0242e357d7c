//! The profiler's metrics: which are asked for, and how its CSV is read.

use std::collections::BTreeMap;

/// Duration of a launch in seconds.
pub const DURATION: &str = "gpu__time_duration.sum";
/// Cycles of a multiprocessor during a launch.
pub const CYCLES: &str = "sm__cycles_elapsed.avg";
/// FP64 additions, each of one thread, where the predicate held.
pub const DADD: &str = "sm__sass_thread_inst_executed_op_dadd_pred_on.sum";
/// FP64 multiplications.
pub const DMUL: &str = "sm__sass_thread_inst_executed_op_dmul_pred_on.sum";
/// FP64 fused operations.
pub const DFMA: &str = "sm__sass_thread_inst_executed_op_dfma_pred_on.sum";
/// Bytes to and from memory.
pub const HBM: &str = "dram__bytes.sum";
/// Bytes to and from L2.
pub const L2: &str = "lts__t_bytes.sum";
/// Bytes to and from L1.
pub const L1: &str = "l1tex__t_bytes.sum";
/// Hit rate of L1 in percent.
pub const L1_HIT: &str = "l1tex__t_sector_hit_rate.pct";
/// Hit rate of L2 in percent.
pub const L2_HIT: &str = "lts__t_sector_hit_rate.pct";
/// Busy share of the FP64 pipe in percent.
pub const FP64_PIPE: &str = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
/// Registers of a thread.
pub const REGISTERS: &str = "launch__registers_per_thread";
/// Warps active on a multiprocessor.
pub const WARPS: &str = "sm__warps_active.avg.per_cycle_active";

/// Reasons that a warp waits for, in the profiler's names.
pub const STALLS: [&str; 18] = [
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
];

/// Metric of a stall reason: cycles that a warp waited for it between two instructions.
pub fn stall(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// All metrics, for the profiler's `--metrics`; without `operations` those that the profiler counts in
/// patched kernels, many times slower.
pub fn list(operations: bool) -> String {
    let fixed = [
        DURATION,
        HBM,
        L2,
        L1,
        L1_HIT,
        L2_HIT,
        FP64_PIPE,
        REGISTERS,
        WARPS,
        CYCLES,
        "sm__cycles_elapsed.avg.per_second",
    ];
    let counted = if operations { &[DADD, DMUL, DFMA][..] } else { &[] };
    let stalls = STALLS.map(stall);
    let names = fixed.iter().chain(counted).map(ToString::to_string);
    names.chain(stalls).collect::<Vec<_>>().join(",")
}

/// One launch and its metrics in base units: seconds, bytes, hertz, percent, counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// The kernel's symbol.
    pub kernel: String,
    /// The device's name, where the CSV tells it.
    pub device: Option<String>,
    metrics: BTreeMap<String, f64>,
}

impl Launch {
    /// A metric's value, where it was measured.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }

    /// A metric's value.
    ///
    /// # Errors
    /// Names the metric and the kernel.
    pub fn required(&self, name: &str) -> Result<f64, String> {
        self.get(name).ok_or_else(|| {
            format!(
                "metric {name} is missing for kernel `{}`: record it with --metrics",
                self.kernel
            )
        })
    }
}

/// Reads the profiler's CSV, either page: `raw` with a column for each metric and a row of units,
/// or `details` with a row for each metric. What it prints besides is passed over.
///
/// # Errors
/// What was needed and what was found.
pub fn parse(text: &str) -> Result<Vec<Launch>, String> {
    let table = table(text)?;
    let mut rows = table.lines().enumerate().skip_while(|(_, line)| !is_header(line));
    let (first, _) = rows.next().ok_or("no header row with \"Kernel Name\"")?;
    let body: String = table.lines().skip(first).flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(body.as_bytes());
    let header = reader.headers().map_err(|e| e.to_string())?.clone();
    let column = |name: &str| header.iter().position(|h| h == name);
    let kernel = column("Kernel Name").ok_or("no column \"Kernel Name\"")?;
    let records: Vec<csv::StringRecord> =
        reader.records().collect::<Result<_, _>>().map_err(|e| format!("malformed CSV: {e}"))?;

    let launches = match (column("Metric Name"), column("Metric Unit"), column("Metric Value")) {
        (Some(name), Some(unit), Some(value)) => {
            let id = column("ID").ok_or("no column \"ID\"")?;
            details(&records, [id, kernel, name, unit, value])
        }
        _ => raw(&header, &records, kernel),
    }?;
    if launches.is_empty() {
        return Err("no launch: did the program run any kernel?".into());
    }
    Ok(launches)
}

/// The part of the output that is a table; an error that the profiler printed is ours.
fn table(text: &str) -> Result<String, String> {
    if let Some(error) = text.lines().find(|line| line.starts_with("==ERROR==")) {
        return Err(error.trim_start_matches("==ERROR==").trim().to_string());
    }
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.trim().is_empty());
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

fn is_header(line: &str) -> bool {
    line.contains("Kernel Name")
}

fn raw(
    header: &csv::StringRecord,
    records: &[csv::StringRecord],
    kernel: usize,
) -> Result<Vec<Launch>, String> {
    let (units, records) = records.split_first().ok_or("no row of units")?;
    if units.get(kernel).is_some_and(|name| !name.is_empty()) {
        return Err("no row of units below the header".into());
    }
    let style = Style::of(records.iter().flat_map(|record| record.iter()));
    Ok(records
        .iter()
        .filter_map(|record| {
            let metrics = header
                .iter()
                .zip(units.iter())
                .zip(record.iter())
                .filter_map(|((name, unit), value)| {
                    Some((name.to_string(), style.number(value)? * scale(unit)?))
                })
                .collect();
            let name = header.iter().position(|h| h == "device__attribute_display_name");
            Some(Launch {
                kernel: record.get(kernel).filter(|name| !name.is_empty())?.to_string(),
                device: name.and_then(|at| record.get(at)).map(str::to_string),
                metrics,
            })
        })
        .collect())
}

fn details(records: &[csv::StringRecord], columns: [usize; 5]) -> Result<Vec<Launch>, String> {
    let style = Style::of(records.iter().filter_map(|record| record.get(columns[4])));
    let mut launches: Vec<(String, Launch)> = Vec::new();
    for record in records {
        let mut fields = columns.map(|at| record.get(at)).into_iter();
        let (
            Some(Some(id)),
            Some(Some(kernel)),
            Some(Some(name)),
            Some(Some(unit)),
            Some(Some(value)),
        ) = (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(format!("a row ends early: {record:?}"));
        };
        if launches.last().is_none_or(|(last, _)| last != id) {
            let launch = Launch { kernel: kernel.into(), ..Launch::default() };
            launches.push((id.into(), launch));
        }
        if let (Some(number), Some(scale), Some((_, launch))) =
            (style.number(value), scale(unit), launches.last_mut())
        {
            launch.metrics.insert(name.into(), number * scale);
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// How a locale writes numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    /// 1,234.5
    Point,
    /// 1.234,5
    Comma,
}

impl Style {
    /// The style of a file, by the numbers in it that can be read in one way only.
    fn of<'a>(values: impl Iterator<Item = &'a str>) -> Style {
        for value in values {
            if !value.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c)) {
                continue;
            }
            let last = value.rfind([',', '.']);
            let Some(last) = last else { continue };
            let separator = value.as_bytes()[last];
            let both = value.contains(',') && value.contains('.');
            let grouped = value.len() - last - 1 == 3;
            let leading_zero = value.trim_start_matches('-').starts_with(['0'])
                && value.trim_start_matches('-').find([',', '.']) == Some(1);
            if both || !grouped || leading_zero {
                return if separator == b',' { Style::Comma } else { Style::Point };
            }
            if value.matches(separator as char).count() > 1 {
                return if separator == b',' { Style::Point } else { Style::Comma };
            }
        }
        Style::Point
    }

    fn number(self, text: &str) -> Option<f64> {
        let (group, point) = match self {
            Style::Point => (',', '.'),
            Style::Comma => ('.', ','),
        };
        let plain: String = text
            .chars()
            .filter(|&c| c != group && !c.is_whitespace() && c != '\'')
            .map(|c| if c == point { '.' } else { c })
            .collect();
        plain.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// Factor from a unit to its base; `None` for a unit that is not known.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "%" | "byte" | "inst" | "cycle" | "warp" | "block" | "thread" | "hz" | "Hz" | "s"
        | "second" | "register/thread" | "warp/cycle" | "inst/warp" => 1.0,
        "ns" | "nsecond" => 1e-9,
        "us" | "usecond" => 1e-6,
        "ms" | "msecond" => 1e-3,
        "Kbyte" | "KB" | "Khz" | "KHz" => 1e3,
        "Mbyte" | "MB" | "Mhz" | "MHz" => 1e6,
        "Gbyte" | "GB" | "Ghz" | "GHz" | "cycle/nsecond" => 1e9,
        "Tbyte" | "TB" => 1e12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_either_style() {
        for (values, style, numbers) in [
            (vec!["1,234", "9.57"], Style::Point, vec![1234.0, 9.57]),
            (vec!["1.234", "9,57"], Style::Comma, vec![1234.0, 9.57]),
            (vec!["1,234,567"], Style::Point, vec![1_234_567.0]),
            (vec!["1.234.567,8"], Style::Comma, vec![1_234_567.8]),
            (vec!["0.125"], Style::Point, vec![0.125]),
            (vec!["n/a", "12"], Style::Point, vec![12.0]),
        ] {
            let found = Style::of(values.iter().copied());
            assert_eq!(found, style, "{values:?}");
            let parsed: Vec<f64> = values.iter().filter_map(|v| found.number(v)).collect();
            assert_eq!(parsed, numbers);
        }
        assert_eq!(Style::Point.number("n/a"), None);
        assert_eq!(Style::Point.number("nan"), None);
        assert_eq!(Style::Point.number("inf"), None);
    }

    #[test]
    fn units_are_brought_to_their_base() {
        assert_eq!(scale("usecond"), Some(1e-6));
        assert_eq!(scale("Gbyte"), Some(1e9));
        assert_eq!(scale("furlong"), None);
    }
}
