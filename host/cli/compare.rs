//! `gpp compare`: our kernels against the yardstick in CUDA C++, alternately, on the same arrays.

use std::process::ExitCode;

use super::args::{CompareArgs, PAPER_SYSTEM};
use super::keep::keep;
use super::run::code;
use crate::analysis::parity::rated;
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::devices::Choice;
use crate::devices::gpu::Gpu;
use crate::error::Error;
use crate::experiments::comparison::{self, Options, both_have};
use crate::experiments::source::Source;
use crate::process::output;
use crate::process::terminal::note;
use crate::record::comparison::Comparison;
use crate::render::comparison as render;

pub fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let versions = both_have(versions(&args.version, BackEnd::Gpu)?, &args.version)?;
    let mut sources = args.problems.named()?;
    if sources.is_empty() {
        for system in [PAPER_SYSTEM, "si214-complex"] {
            sources.push(args.problems.default_system(system)?);
        }
    }
    if let Some(path) = &output.json {
        let inputs: Vec<_> = sources.iter().filter_map(Source::file).collect();
        output::check(path, &inputs)?;
    }
    let Choice::Gpu(index) = args.device.parse()? else {
        return Err(Error::NoGpu { why: "comparing needs a GPU: --device gpu:N".into() }.into());
    };
    let gpu = Gpu::open(index)?;
    let seed = args.problems.input.is_empty().then_some(args.problems.seed());
    let (repeat, nvcc, ncu) = (args.repeat, args.nvcc.clone(), args.ncu.clone());
    let options = Options { versions, sources, seed, repeat, nvcc, ncu };

    let show = move |found: &Comparison| output.show(&rated(found), render::comparison);
    let (mut rows, mut failures) = (0, 0);
    let found = keep(show, |kept| {
        comparison::compare(&gpu, &options, progress, |found| {
            kept(found);
            for failure in &found.failures[failures..] {
                note(render::failure(failure));
            }
            for row in &found.parity[rows..] {
                progress.say(render::line(row));
            }
            (rows, failures) = (found.parity.len(), found.failures.len());
        })
    })?;
    Ok(code(found.failures.is_empty()))
}
