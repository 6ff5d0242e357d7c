//! The JSON of a run. Fields that do not apply are null, never missing.

use serde_json::{Value, json};

use crate::devices::DeviceInfo;
use crate::measure::Record;
use crate::problem::Problem;

/// The object that `--json` writes.
pub fn document(device: &DeviceInfo, problem: &Problem, records: &[Record]) -> Value {
    let header = &problem.header;
    json!({
        "schema": 1,
        "program": format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        "device": device,
        "system": {
            "name": problem.name,
            "nbands": header.nbands,
            "nvband": header.nvband,
            "ngpown": header.ngpown,
            "ncouls": header.ncouls,
            "nstart": header.nstart,
            "nend": header.nend,
        },
        "results": records.iter().map(result).collect::<Vec<_>>(),
    })
}

fn result(record: &Record) -> Value {
    let pairs = |sums: &[num_complex::Complex64]| -> Vec<[Value; 2]> {
        sums.iter().map(|z| [json!(z.re), json!(z.im)]).collect()
    };
    json!({
        "version": record.version,
        "device": record.device,
        "time_s": record.times,
        "flops": record.flops,
        "flops_source": record.flops_source,
        "tflops": record.tflops(),
        "registers": record.kernel.registers,
        "local_bytes": record.kernel.local_bytes,
        "warps_per_sm": record.kernel.warps_per_sm,
        "threads_per_block": record.threads_per_block,
        "blocks": record.blocks,
        "asx": pairs(&record.sums.asx),
        "ach": pairs(&record.sums.ach),
        "deterministic": record.deterministic,
        "verification": record.verification,
    })
}
