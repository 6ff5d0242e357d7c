//! `gpp golden`: how `data/golden.json` was made.

use std::process::ExitCode;

use super::args::GoldenArgs;
use crate::problem::{synthesis, systems};
use crate::process::output::print;
use crate::process::progress::Progress;
use crate::reference::{self, golden::Golden};

pub fn golden(args: &GoldenArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let systems =
        args.system.iter().map(|name| systems::find(name)).collect::<crate::Result<Vec<_>>>()?;
    let mut all = Vec::new();
    for system in systems {
        let problem = synthesis::synthesise(system, args.seed, progress)?;
        all.push(Golden {
            system: system.name.clone(),
            seed: args.seed,
            sums: reference::evaluate(&problem, progress).sums,
        });
    }
    let text = serde_json::to_string_pretty(&all)?;
    print(|to| writeln!(to, "{text}"))?;
    Ok(ExitCode::SUCCESS)
}
