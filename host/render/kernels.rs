//! Devices, kernels, versions and systems for the terminal.

use std::io::{self, Write};

use comfy_table::CellAlignment;

use super::table::{fit, or_dash, table};
use crate::catalogue::BackEnd;
use crate::problem::systems::STATISTICS;
use crate::record::info::{
    Info, Kernel, ListedBest, ListedJourney, ListedMatrix, Listing, Processor,
};

/// The device, the program and the kernels.
///
/// # Errors
/// Those of `to`.
pub fn info(to: &mut dyn Write, info: &Info, width: Option<u16>) -> io::Result<()> {
    let unknown = |text: &Option<String>| text.as_deref().unwrap_or("unknown").to_string();
    let (device, provenance) = (&info.device, &info.provenance);
    let multiprocessors = match device.back_end() {
        BackEnd::Cpu => None,
        BackEnd::Gpu => Some(device.multiprocessors.to_string()),
    };
    let processor = info.processor.as_ref();
    let threads = processor.map(|Processor { cores, threads, threads_by, .. }| match threads_by {
        Some(by) => format!("{threads} threads, by {by}"),
        None => format!("{cores}, {threads} threads"),
    });
    let vectors = processor
        .map(|Processor { level, levels, .. }| format!("{level} of {}", levels.join(", ")));
    let (by, commit) = (unknown(&provenance.program_by), unknown(&provenance.commit));
    let lines = [
        ("device", Some(format!("{}: {}", device.id, device.name))),
        ("driver", device.driver.clone()),
        ("compute capability", device.compute_capability.clone()),
        ("multiprocessors", multiprocessors),
        ("cores", threads),
        ("vectors", vectors),
        ("highest clock", device.clock_mhz.map(|clock| format!("{clock} MHz"))),
        ("memory", Some(format!("{:.1} GiB", device.memory_bytes as f64 / (1u64 << 30) as f64))),
        ("no GPU", info.no_gpu.clone()),
        (
            "GPU kernels",
            Some(match &info.no_kernels {
                Some(why) => format!("none: {why}"),
                None => "PTX for sm_70 and later".into(),
            }),
        ),
        ("kernels by", Some(unknown(&provenance.kernels_by))),
        ("program", Some(format!("{}, {by}, commit {commit}", info.program))),
    ];
    for (what, text) in &lines {
        if let Some(text) = text {
            writeln!(to, "{what:<20}{text}")?;
        }
    }
    writeln!(to, "{}", kernels(&info.kernels, width))
}

/// One line for each kernel.
fn kernels(kernels: &[Kernel], width: Option<u16>) -> String {
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
    for kernel in kernels {
        table.add_row(vec![
            kernel.symbol.clone(),
            kernel.energies.to_string(),
            kernel.threads_per_block.to_string(),
            or_dash(kernel.registers),
            or_dash(kernel.local_bytes),
            or_dash(kernel.shared_bytes),
            or_dash(kernel.warps_per_sm),
            kernel.change.clone(),
        ]);
    }
    fit(table, &[5, 1, 4], width)
}

/// The versions and the built-in systems.
///
/// # Errors
/// Those of `to`.
pub fn listing(to: &mut dyn Write, listing: &Listing, width: Option<u16>) -> io::Result<()> {
    let mut versions = table(&["version", "what it changes", "where it is described"]);
    for at in 1..3 {
        if let Some(column) = versions.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for version in &listing.versions {
        versions.add_row([&version.id, &version.change, &version.source]);
    }
    let mut systems = table(&["system", "bands", "occupied", "G′", "G", "poles", "MiB", "note"]);
    for at in [5, 7] {
        if let Some(column) = systems.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for system in &listing.systems {
        systems.add_row([
            system.name.clone(),
            system.nbands.to_string(),
            system.nvband.to_string(),
            system.ngpown.to_string(),
            system.ncouls.to_string(),
            system.poles.name().into(),
            format!("{:.1}", system.bytes as f64 / f64::from(1 << 20)),
            system.note.clone(),
        ]);
    }
    writeln!(to, "{}", fit(versions, &[2], width))?;
    writeln!(to, "{}", journeys(&listing.journeys, width))?;
    let on = |best: &ListedBest| format!("{} on a {}", best.version, name(best.back_end));
    let best: Vec<String> = listing.best.iter().map(on).collect();
    writeln!(to, "--version best is {}", best.join(", "))?;
    writeln!(to, "{}", matrix(&listing.matrix, width))?;
    writeln!(to, "{}\n{STATISTICS}", fit(systems, &[2, 6], width))
}

/// The versions of Σ as a matrix.
fn matrix(versions: &[ListedMatrix], width: Option<u16>) -> String {
    let headings = ["gpp offdiag --version", "what it changes", "capability", "file"];
    let mut table = table(&headings);
    for at in [1, 3] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for ListedMatrix { id, change, capability, file } in versions {
        table.add_row([id, change, &format!("{capability:.1}"), file]);
    }
    fit(table, &[3], width)
}

/// A back end as in texts.
fn name(back_end: BackEnd) -> &'static str {
    match back_end {
        BackEnd::Gpu => "GPU",
        BackEnd::Cpu => "CPU",
    }
}

/// The fastest version of each journey on each back end, one a line.
fn journeys(journeys: &[ListedJourney], width: Option<u16>) -> String {
    let headings = ["journey", "where it is told", "baseline", "back end", "best", "measured"];
    let mut table = table(&headings);
    for at in [1, 3, 5] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for journey in journeys {
        for best in &journey.best {
            let back_end = name(best.back_end);
            let ListedJourney { id, source, baseline, .. } = journey;
            table.add_row([id, source, baseline, back_end, &best.version, &best.condition]);
        }
    }
    fit(table, &[1], width)
}
