//! Tables for the terminal.

use std::fmt::Write;

use comfy_table::{
    Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table, presets,
};
use gpp_kernels::kernel::{Entry, Gpu, Kernel};

use crate::analysis::table1::{self, HEADINGS};
use crate::catalogue::published::Published;
use crate::devices::KernelInfo;
use crate::experiments::measure::{Record, Times};
use crate::experiments::profile::Profile;
use crate::reference::verify::Outcome;

/// A table with these headings, the first column to the left and the others to the right.
pub fn table(headings: &[impl AsRef<str>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(headings.iter().map(AsRef::as_ref));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Text of a number that may not apply.
pub fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or("–".into(), |number| number.to_string())
}

/// Width of the terminal that standard output is, if it is one.
pub fn terminal() -> Option<u16> {
    Table::new().width()
}

/// The table as text, at most `width` wide: columns without any value are left out, then those of
/// `drops` in turn until it fits, and what is left wraps.
pub fn fit(mut table: Table, drops: &[usize], width: Option<u16>) -> String {
    for at in 0..table.column_count() {
        let without = |row: &Row| content(row, at).is_none_or(|cell| cell == "–");
        if !table.is_empty() && table.row_iter().all(without) {
            hide(&mut table, at);
        }
    }
    let mut left_out = Vec::new();
    if let Some(width) = width {
        for &at in drops {
            if natural_width(&table) <= usize::from(width) {
                break;
            }
            if hide(&mut table, at) {
                left_out.extend(table.header().and_then(|row| content(row, at)));
            }
        }
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    let mut text = table.to_string();
    if !left_out.is_empty() {
        let _ = write!(text, "\nnot shown in this width: {}", left_out.join(", "));
    }
    text
}

fn content(row: &Row, at: usize) -> Option<String> {
    row.cell_iter().nth(at).map(|cell| cell.content().replace('\n', " "))
}

/// Hides a column; false where it was hidden already.
fn hide(table: &mut Table, at: usize) -> bool {
    let Some(column) = table.column_mut(at) else { return false };
    let shown = !column.is_hidden();
    column.set_constraint(ColumnConstraint::Hidden);
    shown
}

fn natural_width(table: &Table) -> usize {
    let mut table = table.clone();
    table.force_no_tty().set_content_arrangement(ContentArrangement::Disabled);
    table.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// An outcome as it stands in every table.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Incorrect => "INCORRECT",
        Outcome::NotVerified => "not verified",
        Outcome::Nondeterministic => "BITS DIFFER",
    }
}

/// An outcome as a cell.
pub fn outcome_cell(of: Outcome) -> Cell {
    Cell::new(outcome(of)).fg(match of {
        Outcome::Passed => Color::Green,
        Outcome::NotVerified => Color::Yellow,
        Outcome::Incorrect | Outcome::Nondeterministic => Color::Red,
    })
}

/// Which operation counts rates are by.
pub fn rated_by(source: &str) -> String {
    match source.strip_prefix("archived: ") {
        Some(rest) => format!("TFLOP/s by archived operation counts ({rest})"),
        None => format!("TFLOP/s by operation counts: {source}"),
    }
}

/// The standard deviation of times in percent of their median.
pub fn sigma(times: &Times) -> String {
    or_dash(times.sigma().map(|sigma| format!("{:.1} %", 100.0 * sigma / times.median)))
}

/// One line for each record; speed-ups are over v0 where it ran and passed.
pub fn results(records: &[Record], width: Option<u16>) -> String {
    let baseline = records
        .iter()
        .find(|r| r.version == "v0" && r.verification.outcome == Outcome::Passed)
        .map(|r| r.times.median);
    let mut table = table(&[
        "version",
        "median [ms]",
        "σ",
        "over v0",
        "TFLOP/s",
        "registers",
        "warps/SM",
        "rel. error",
        "outcome",
    ]);
    for record in records {
        let over_v0 = baseline.map(|v0| format!("{:.2}×", v0 / record.times.median));
        let error = record.verification.max_rel_error.map(|error| format!("{error:.1e}"));
        table.add_row(vec![
            Cell::new(record.version),
            Cell::new(format!("{:.3}", record.times.median * 1e3)),
            Cell::new(sigma(&record.times)),
            Cell::new(or_dash(over_v0)),
            Cell::new(format!("{:.4}", record.tflops())),
            Cell::new(or_dash(record.kernel.registers)),
            Cell::new(or_dash(record.kernel.warps_per_sm)),
            Cell::new(or_dash(error)),
            outcome_cell(record.verification.outcome),
        ]);
    }
    fit(table, &[5, 6, 2, 7, 4], width)
}

/// One line for each kernel.
pub fn kernels(kernels: &[(&Gpu, &Kernel, &Entry, KernelInfo)], width: Option<u16>) -> String {
    let mut table = table(&[
        "kernel",
        "energies",
        "threads",
        "registers",
        "local [B]",
        "shared [B]",
        "warps/SM",
        "what it changes",
    ]);
    if let Some(column) = table.column_mut(7) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for (version, kernel, entry, info) in kernels {
        table.add_row(vec![
            info.symbol.clone(),
            entry.energies.to_string(),
            kernel.threads.to_string(),
            or_dash(info.registers),
            or_dash(info.local_bytes),
            or_dash(info.shared_bytes),
            or_dash(info.warps_per_sm),
            version.version.change.to_string(),
        ]);
    }
    fit(table, &[5, 1, 4], width)
}

/// One line for each profile: what it takes, moves and waits for.
pub fn profiles(profiles: &[Profile], width: Option<u16>) -> String {
    let mut table = table(&[
        "version",
        "time [ms]",
        "TFLOP/s",
        "FLOP/term",
        "source counts",
        "FMA",
        "FP64 busy",
        "FLOP/B HBM",
        "L2",
        "L1",
        "waits for",
    ]);
    for p in profiles {
        let intensity = |bytes: f64| format!("{:.2}", p.flops() / bytes);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        table.add_row(vec![
            p.version.clone(),
            format!("{:.1}", p.seconds() * 1e3),
            format!("{:.2}", p.rate() / 1e12),
            format!("{:.1}", p.flops() / p.terms as f64),
            or_dash(p.counted.as_ref().map(|counted| format!("{:.1}", counted.flops()))),
            percent(p.fma_ratio()),
            or_dash(p.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            intensity(p.bytes.hbm),
            intensity(p.bytes.l2),
            intensity(p.bytes.l1),
            or_dash(p.main_stall().map(|(why, share)| format!("{why} {}", percent(share)))),
        ]);
    }
    fit(table, &[4, 9, 8, 5, 3], width)
}

/// Instructions in the code of each version's kernel, where it was disassembled.
pub fn instructions(profiles: &[Profile], width: Option<u16>) -> String {
    let mut table =
        table(&["version", "DFMA", "DMUL", "DADD", "DSETP", "MUFU", "instructions", "counted by"]);
    for p in profiles {
        let Some(d) = &p.disassembly else { continue };
        let i = &d.instructions;
        let counts = [i.fma, i.mul, i.add, i.compare, i.mufu, i.all].map(|n| n.to_string());
        table.add_row([p.version.clone()].into_iter().chain(counts).chain([d.source.clone()]));
    }
    fit(table, &[4], width)
}

/// The paper's Table I beside a run.
pub fn table1(rows: &[table1::Row], width: Option<u16>) -> String {
    // The system stands above the table.
    let mut table = table(&HEADINGS.map(|heading| heading.replace("V100 ", "V100\n"))[1..]);
    for row in rows {
        table.add_row(&row.cells()[1..]);
    }
    fit(table, &[2, 11, 10, 6, 5, 8], width)
}

/// A published table.
pub fn published(published: &Published, width: Option<u16>) -> String {
    let mut table = table(&published.headings);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in &published.rows {
        table.add_row(row);
    }
    fit(table, &[], width)
}
