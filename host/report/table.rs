//! Tables for the terminal.

use comfy_table::{Cell, CellAlignment, Color, Table, presets};
use gpp_kernels::registry::{Body, Version};

use super::published::Published;
use super::table1::{HEADINGS, Row};
use crate::devices::KernelInfo;
use crate::measure::Record;
use crate::profile::Profile;
use crate::verify::Outcome;

/// A table with these headings, the first column to the left and the others to the right.
pub fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(headings);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Text of a number that may not apply.
pub fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or("–".into(), |number| number.to_string())
}

/// One line for each record; speed-ups are over v0 where it ran and passed.
pub fn results(records: &[Record]) -> Table {
    let baseline = records
        .iter()
        .find(|r| r.version == "v0" && r.verification.outcome == Outcome::Passed)
        .map(|r| r.times.median);
    let mut table = table(&[
        "version",
        "time [ms]",
        "over v0",
        "TFLOP/s",
        "registers",
        "warps/SM",
        "max rel. error",
        "outcome",
    ]);
    for record in records {
        let over_v0 = baseline.map(|v0| format!("{:.2}×", v0 / record.times.median));
        let error = record.verification.max_rel_error.map(|error| format!("{error:.1e}"));
        let (outcome, color) = match record.verification.outcome {
            Outcome::Passed => ("passed", Color::Green),
            Outcome::Incorrect => ("INCORRECT", Color::Red),
            Outcome::NotVerified => ("not verified", Color::Yellow),
        };
        table.add_row(vec![
            Cell::new(record.version),
            Cell::new(format!("{:.3}", record.times.median * 1e3)),
            Cell::new(or_dash(over_v0)),
            Cell::new(format!("{:.4}", record.tflops())),
            Cell::new(or_dash(record.kernel.registers)),
            Cell::new(or_dash(record.kernel.warps_per_sm)),
            Cell::new(or_dash(error)),
            Cell::new(outcome).fg(color),
        ]);
    }
    table
}

/// One line for each kernel.
pub fn kernels(kernels: &[(&Version, &Body, KernelInfo)]) -> Table {
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
    for (version, body, kernel) in kernels {
        table.add_row(vec![
            kernel.symbol.clone(),
            body.energies.to_string(),
            version.launch_of(body).threads.to_string(),
            or_dash(kernel.registers),
            or_dash(kernel.local_bytes),
            or_dash(kernel.shared_bytes),
            or_dash(kernel.warps_per_sm),
            version.change.to_string(),
        ]);
    }
    table
}

/// One line for each profile: what it takes, moves and waits for.
pub fn profiles(profiles: &[Profile]) -> Table {
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
    table
}

/// Instructions in the code of each version's kernel, where it was disassembled.
pub fn instructions(profiles: &[Profile]) -> Table {
    let mut table =
        table(&["version", "DFMA", "DMUL", "DADD", "DSETP", "MUFU", "instructions", "counted by"]);
    for p in profiles {
        let Some(d) = &p.disassembly else { continue };
        let i = &d.instructions;
        let counts = [i.fma, i.mul, i.add, i.compare, i.mufu, i.all].map(|n| n.to_string());
        table.add_row([p.version.clone()].into_iter().chain(counts).chain([d.source.clone()]));
    }
    table
}

/// The paper's Table I beside the runs.
pub fn table1(rows: &[Row]) -> Table {
    let mut table = table(&HEADINGS);
    for row in rows {
        table.add_row(row.cells());
    }
    table
}

/// A published table.
pub fn published(published: &Published) -> Table {
    let mut table = table(&published.headings);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in &published.rows {
        table.add_row(row);
    }
    table
}
