//! The columns of Table I and of the tables of other journeys.

use std::ops::Range;

use super::table::{or_dash, sigma};
use super::units::{self, Unit};
use crate::analysis::table1::{Row, Section};
use crate::catalogue;
use crate::record::times::Verdict;

/// Headings and cells of a section.
pub struct Columns {
    /// Headings, in every format of the table.
    pub headings: Vec<String>,
    /// Of its rows; a version whose step goes the other way than in what was published has a mark.
    pub rows: Vec<Vec<String>>,
    /// Columns that a narrow terminal goes without, the first of them first.
    pub spare: &'static [usize],
    /// A column of words.
    pub words: Option<usize>,
    /// Columns that are left out where no row has a value. Outside the paper's table these are all: other
    /// journeys publish other quantities.
    optional: Range<usize>,
}

/// Whether a section is told by the paper, whose table has columns of its own.
fn is_papers(section: &Section) -> bool {
    section.journey == "paper"
}

/// What the marks mean beside a section: where times were published to compare with, and where a step is within
/// noise.
pub fn mark(section: &Section) -> Option<String> {
    let there = if is_papers(section) { "paper" } else { section.journey };
    let has_times = |row: &Row| row.paper_time_s.or(row.published_time_s).is_some();
    let order = section.rows.iter().any(has_times).then(|| {
        format!(
            "* against the version before: faster here and slower in the {there}, or the other way \
             round"
        )
    });
    let noise = section.rows.iter().any(is_noise).then(|| NOISE.to_string());
    let said: Vec<String> = order.into_iter().chain(noise).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What the mark of a small step means.
const NOISE: &str = "≈ not told apart from the version before by the ranks of their times";

/// Whether noise explains the step from the version before.
pub fn is_noise(row: &Row) -> bool {
    row.step == Some(Verdict::Noise)
}

/// The columns of a section.
pub fn columns(section: &Section) -> Columns {
    let own = if is_papers(section) { papers } else { journeys };
    own(section)
}

/// Those of the paper's Table I.
fn papers(section: &Section) -> Columns {
    let baseline = section.baseline;
    let Units { time, rate, .. } = Units::of(section);
    let headings = [
        "system",
        "version",
        &format!("median [{}]", time.name),
        &format!("{BEFORE} [{}]", time.name),
        "σ",
        &format!("95 % interval [{}]", time.name),
        "SM [MHz]",
        "cycles [10⁶]",
        "energy [J]",
        "clock lost",
        rate.name,
        &section.by.over(baseline),
        "warps/SM",
        "registers",
        "V100 time [ms]",
        "V100 TFLOP/s",
        &format!("V100 over {baseline}"),
        "V100 warps/SM",
        "V100 registers",
    ]
    .map(str::to_string);
    let cells = |row: &Row| {
        vec![
            row.system.clone(),
            marked(row),
            time.show(row.time_s),
            or_dash(row.before_cap_s.map(|seconds| time.show(seconds))),
            sigma(&row.times),
            or_dash(interval(row, time)),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.cycles.map(|cycles| units::digits(cycles / 1e6))),
            or_dash(row.energy_j.map(units::digits)),
            or_dash(row.held_back_by.as_ref()),
            or_dash(row.tflops.map(|tera| rate.show(tera * 1e12))),
            or_dash(row.over_baseline.map(times)),
            or_dash(row.warps_per_sm),
            or_dash(row.registers),
            or_dash(row.paper_time_s.map(milliseconds)),
            or_dash(row.paper_tflops.map(|rate| format!("{rate:.2}"))),
            or_dash(row.paper_over_baseline.map(times)),
            or_dash(row.paper_warps_per_sm),
            or_dash(row.paper_registers),
        ]
    };
    Columns {
        headings: headings.into(),
        rows: section.rows.iter().map(cells).collect(),
        spare: &[4, 18, 17, 9, 5, 13, 12, 15, 7],
        words: None,
        optional: 3..10,
    }
}

/// Those of another journey: what it publishes, and what it changes.
fn journeys(section: &Section) -> Columns {
    let baseline = section.baseline.rsplit(':').next().unwrap_or_default();
    let Units { time, operations, rate } = Units::of(section);
    let headings = [
        "system",
        "version",
        "what it changes",
        &format!("median [{}]", time.name),
        &format!("{BEFORE} [{}]", time.name),
        "σ",
        &format!("95 % interval [{}]", time.name),
        "SM [MHz]",
        "cycles [10⁶]",
        "energy [J]",
        "clock lost",
        operations.name,
        rate.name,
        &section.by.over(baseline),
        "FLOP/byte",
        "warps/SM",
        "registers",
        "V100 time [ms]",
        "V100 TFLOP",
        "V100 TFLOP/s",
        &format!("V100 over {baseline}"),
        "V100 FLOP/byte",
    ]
    .map(str::to_string);
    let cells = |row: &Row| {
        let change = catalogue::find(&row.version).map(|listed| listed.version.change);
        vec![
            row.system.clone(),
            marked(row),
            or_dash(change),
            time.show(row.time_s),
            or_dash(row.before_cap_s.map(|seconds| time.show(seconds))),
            sigma(&row.times),
            or_dash(interval(row, time)),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.cycles.map(|cycles| units::digits(cycles / 1e6))),
            or_dash(row.energy_j.map(units::digits)),
            or_dash(row.held_back_by.as_ref()),
            or_dash(row.tflop.map(|tera| operations.show(tera * 1e12))),
            or_dash(row.tflops.map(|tera| rate.show(tera * 1e12))),
            or_dash(row.over_baseline.map(times)),
            or_dash(row.intensity.map(units::digits)),
            or_dash(row.warps_per_sm),
            or_dash(row.registers),
            or_dash(row.published_time_s.map(milliseconds)),
            or_dash(row.published_tflop.map(|count| format!("{count:.2}"))),
            or_dash(row.published_tflops.map(|rate| format!("{rate:.2}"))),
            or_dash(row.published_over_baseline.map(times)),
            or_dash(row.published_intensity),
        ]
    };
    Columns {
        headings: headings.into(),
        rows: section.rows.iter().map(cells).collect(),
        spare: &[2, 5, 10, 6, 16, 15, 18, 20, 8],
        words: Some(2),
        optional: 0..22,
    }
}

impl Columns {
    /// Without the columns that may be left out and in which no row has a value.
    pub fn filled(self) -> Columns {
        if self.rows.is_empty() {
            return self;
        }
        let empty =
            |at: usize| self.optional.contains(&at) && self.rows.iter().all(|row| row[at] == "–");
        let kept: Vec<usize> = (0..self.headings.len()).filter(|&at| !empty(at)).collect();
        let of = |cells: &[String]| kept.iter().map(|&at| cells[at].clone()).collect();
        Columns {
            headings: of(&self.headings),
            rows: self.rows.iter().map(|row| of(row)).collect(),
            spare: &[],
            optional: 0..0,
            words: self.words.and_then(|at| kept.iter().position(|&own| own == at)),
        }
    }
}

fn marked(row: &Row) -> String {
    let mark = if row.order_differs && !is_noise(row) { "*" } else { "" };
    let noise = if is_noise(row) { "≈" } else { "" };
    format!("{}{mark}{noise}", row.version)
}

/// What heads times before the cap.
pub const BEFORE: &str = "before cap";

fn interval(row: &Row, unit: Unit) -> Option<String> {
    let [from, to] = [row.interval_from_s?, row.interval_to_s?].map(|time| unit.show(time));
    Some(format!("{from}–{to}"))
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e3)
}

/// The units of a section: those of what was published beside it, where anything was.
struct Units {
    time: Unit,
    operations: Unit,
    rate: Unit,
}

impl Units {
    fn of(section: &Section) -> Units {
        let rows = || section.rows.iter();
        if rows().any(|row| row.paper_time_s.or(row.published_time_s).is_some()) {
            let tera = [1e12];
            let (operations, rate) = (Unit::of_operations(tera), Unit::of_rates(tera));
            return Units { time: Unit::MILLISECONDS, operations, rate };
        }
        let tera = |of: fn(&Row) -> Option<f64>| rows().filter_map(of).map(|tera| tera * 1e12);
        Units {
            time: Unit::of_times(rows().map(|row| row.time_s)),
            operations: Unit::of_operations(tera(|row| row.tflop)),
            rate: Unit::of_rates(tera(|row| row.tflops)),
        }
    }
}
