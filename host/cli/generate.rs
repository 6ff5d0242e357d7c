//! `gpp generate`: a built-in system as a file.

use std::process::ExitCode;

use anyhow::bail;

use super::args::GenerateArgs;
use crate::problem::{file, synthesis, systems};
use crate::process::output;
use crate::process::progress::Progress;
use crate::reference;

pub fn generate(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let system = systems::find(&args.system)?;
    output::require_name("--output", &args.output, "file")?;
    output::check(&args.output, &[])?;
    let problem = synthesis::synthesise(system, args.seed, progress)?;
    let Some(reference) = reference::of(&problem, progress) else {
        bail!(
            "no golden sums of {} for seed {}, and it has too many terms to evaluate them now; \
             golden sums exist for seed {}",
            system.name,
            args.seed,
            systems::DEFAULT_SEED
        );
    };
    file::write(&args.output, &problem, &reference.sums, progress)?;
    Ok(ExitCode::SUCCESS)
}
