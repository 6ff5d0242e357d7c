//! `gpp info`: the device and the kernels.

use std::process::ExitCode;

use gpp_kernels::versions::ALL;
use serde_json::{Value, json};

use super::args::InfoArgs;
use crate::devices::gpu::NO_KERNELS;
use crate::process::output::print;
use crate::process::progress::Progress;
use crate::record::provenance::{COMMIT, PROGRAM, PROGRAM_BY, Provenance, kernels_by};
use crate::render::table;

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let device = super::device(&args.device, Progress { shown: true })?;
    let mut kernels = Vec::new();
    for version in ALL {
        for kernel in version.kernels {
            for entry in kernel.entries {
                kernels.push((*version, kernel, entry, device.kernel(kernel, entry)?));
            }
        }
    }

    let info = device.info();
    if args.json {
        let kernels: Vec<Value> = kernels
            .iter()
            .map(|(version, kernel, entry, info)| {
                json!({
                    "version": version.id(),
                    "symbol": info.symbol,
                    "energies": entry.energies,
                    "threads_per_block": kernel.threads,
                    "registers": info.registers,
                    "local_bytes": info.local_bytes,
                    "shared_bytes": info.shared_bytes,
                    "warps_per_sm": info.warps_per_sm,
                })
            })
            .collect();
        let document = json!({
            "schema": 1,
            "program": PROGRAM,
            "provenance": Provenance::now(info),
            "device": info,
            "no_kernels": NO_KERNELS,
            "kernels": kernels,
        });
        let text = serde_json::to_string_pretty(&document)?;
        print(|to| writeln!(to, "{text}"))?;
        return Ok(ExitCode::SUCCESS);
    }

    let unknown = |text: Option<&str>| text.unwrap_or("unknown").to_string();
    let units = if info.id == "cpu" { "threads" } else { "multiprocessors" };
    let lines = [
        ("device", Some(format!("{}: {}", info.id, info.name))),
        ("driver", info.driver.clone()),
        ("compute capability", info.compute_capability.clone()),
        (units, Some(info.multiprocessors.to_string())),
        ("highest clock", info.clock_mhz.map(|clock| format!("{clock} MHz"))),
        ("memory", Some(format!("{:.1} GiB", info.memory_bytes as f64 / (1u64 << 30) as f64))),
        (
            "GPU kernels",
            Some(match NO_KERNELS {
                Some(why) => format!("none: {why}"),
                None => "PTX for sm_70 and later".into(),
            }),
        ),
        ("kernels by", Some(unknown(kernels_by().as_deref()))),
        (
            "program",
            Some(format!("{PROGRAM}, {}, commit {}", unknown(PROGRAM_BY), unknown(COMMIT))),
        ),
    ];
    print(|to| {
        for (what, text) in &lines {
            if let Some(text) = text {
                writeln!(to, "{what:<20}{text}")?;
            }
        }
        writeln!(to, "{}", table::kernels(&kernels, table::terminal()))
    })?;
    Ok(ExitCode::SUCCESS)
}
