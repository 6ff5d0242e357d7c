//! `gpp list`: the versions and the built-in systems.

use std::process::ExitCode;

use comfy_table::CellAlignment;
use gpp_kernels::versions::ALL;
use serde_json::{Value, json};

use super::args::ListArgs;
use crate::catalogue::BEST;
use crate::problem::systems::SYSTEMS;
use crate::process::output::print;
use crate::render::table::{fit, table, terminal};

pub fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    if args.json {
        let text = serde_json::to_string_pretty(&document())?;
        print(|to| writeln!(to, "{text}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut versions = table(&["version", "what it changes", "where it is described"]);
    for at in 1..3 {
        if let Some(column) = versions.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for version in ALL {
        versions.add_row([version.id(), version.version.change, version.version.source]);
    }
    let mut systems = table(&["system", "bands", "occupied", "G′", "G", "poles", "MiB", "note"]);
    for at in [5, 7] {
        if let Some(column) = systems.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for system in SYSTEMS.iter() {
        systems.add_row([
            system.name.clone(),
            system.nbands.to_string(),
            system.nvband.to_string(),
            system.ngpown.to_string(),
            system.ncouls.to_string(),
            poles(system.complex_modes).into(),
            format!("{:.1}", system.bytes() as f64 / f64::from(1 << 20)),
            system.note.clone(),
        ]);
    }
    print(|to| {
        writeln!(to, "{}", fit(versions, &[2], terminal()))?;
        writeln!(to, "best is {}", BEST.id())?;
        writeln!(to, "{}", fit(systems, &[2, 6], terminal()))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn poles(complex: bool) -> &'static str {
    if complex { "complex" } else { "real" }
}

fn document() -> Value {
    let versions = ALL.iter().map(|version| {
        json!({
            "id": version.id(),
            "change": version.version.change,
            "source": version.version.source,
            "best": version.id() == BEST.id(),
        })
    });
    let systems: Vec<Value> = SYSTEMS
        .iter()
        .map(|system| {
            json!({
                "name": system.name,
                "nbands": system.nbands,
                "nvband": system.nvband,
                "ngpown": system.ngpown,
                "ncouls": system.ncouls,
                "nstart": system.nstart,
                "nend": system.nend,
                "poles": poles(system.complex_modes),
                "bytes": system.bytes(),
                "note": system.note,
            })
        })
        .collect();
    json!({ "schema": 1, "versions": versions.collect::<Vec<_>>(), "systems": systems })
}
