//! `gpp compare`: our kernels against the yardstick, in CUDA C++ on a GPU and in Fortran on a processor,
//! alternately, on the same arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use super::args::{CompareArgs, PAPER_SYSTEM, SMALL_SYSTEM};
use super::keep::keep;
use super::run::code;
use crate::analysis::parity::rated;
use crate::analysis::race as analysis;
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::experiments::comparison::{self, Options, both_have};
use crate::experiments::race;
use crate::experiments::source::Source;
use crate::process::files::Files;
use crate::process::terminal::note;
use crate::record::comparison::Comparison;
use crate::record::race::Race;
use crate::reference::verify::Outcome;
use crate::render;

pub fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let of_gpu = [("--nvcc", args.nvcc.as_ref()), ("--ncu", args.ncu.as_ref())];
    let of_cpu = [("--gfortran", args.gfortran.as_ref())];
    let choice = args.place.choice()?;
    match &choice {
        Choice::Gpus(indices) if indices.len() == 1 => {
            no_effect(&of_cpu, "a GPU")?;
            super::require_vectors(&args.place, &[])?;
            on_gpu(args, indices[0])
        }
        Choice::Cpu => {
            no_effect(&of_gpu, "a CPU")?;
            on_cpu(args)
        }
        Choice::Auto | Choice::Gpus(_) | Choice::AllGpus => {
            let what = "comparing needs gpu, gpu:N or cpu".into();
            Err(Error::Data { origin: format!("--device {choice}"), what }.into())
        }
    }
}

/// Fails for a program that is named and would not be run.
fn no_effect(programs: &[(&str, Option<&PathBuf>)], device: &str) -> Result<()> {
    match programs.iter().find(|(_, named)| named.is_some()) {
        Some((flag, _)) => {
            let what = format!("has no effect on {device}");
            Err(Error::Data { origin: (*flag).into(), what })
        }
        None => Ok(()),
    }
}

/// A program that is named, or found by its usual name.
fn program(named: Option<&PathBuf>, usual: &str) -> PathBuf {
    named.cloned().unwrap_or_else(|| usual.into())
}

/// The problems named, else these systems.
fn sources(args: &CompareArgs, systems: [&str; 2]) -> Result<Vec<Source>> {
    let mut sources = args.problems.named()?;
    if sources.is_empty() {
        for system in systems {
            sources.push(args.problems.default_system(system)?);
        }
    }
    sources.iter().try_for_each(Source::require_few)?;
    let inputs = sources.iter().filter_map(Source::file);
    Files::new().reads("--input", inputs).writes_or_prints("--json", &args.output.json).check()?;
    Ok(sources)
}

/// The seed of built-in systems.
fn seed(args: &CompareArgs) -> Option<u64> {
    args.problems.input.is_empty().then_some(args.problems.seed())
}

fn on_gpu(args: &CompareArgs, index: usize) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let names = args.version.as_deref().unwrap_or("all");
    let versions = both_have(versions(names, BackEnd::Gpu)?, names)?;
    let sources = sources(args, [PAPER_SYSTEM, "si214-complex"])?;
    let gpu = Gpu::open(index).map_err(|error| match error {
        Error::NoGpu { why } => {
            let why = format!("{why}; --device cpu compares with Fortran on this processor");
            Error::NoGpu { why }
        }
        other => other,
    })?;
    let (nvcc, ncu) = (program(args.nvcc.as_ref(), "nvcc"), program(args.ncu.as_ref(), "ncu"));
    let options = Options { versions, sources, seed: seed(args), repeat: args.repeat, nvcc, ncu };

    let show = move |found: &Comparison| output.show(&rated(found), render::comparison::comparison);
    let (mut rows, mut failures) = (0, 0);
    let found = keep(show, |kept| {
        comparison::compare(&gpu, &options, progress, |found| {
            kept(found);
            for failure in &found.failures[failures..] {
                note(render::comparison::failure(failure));
            }
            for row in &found.parity[rows..] {
                progress.say(render::comparison::line(row));
            }
            (rows, failures) = (found.parity.len(), found.failures.len());
        })
    })?;
    Ok(code(found.failures.is_empty()))
}

fn on_cpu(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let versions = versions(args.version.as_deref().unwrap_or("best"), BackEnd::Cpu)?;
    let sources = sources(args, [SMALL_SYSTEM, "demo-complex"])?;
    super::require_vectors(&args.place, &versions)?;
    let host = args.place.level()?.map_or_else(Host::new, Host::at);
    let gfortran = program(args.gfortran.as_ref(), "gfortran");
    let options =
        race::Options { versions, sources, seed: seed(args), repeat: args.repeat, gfortran };

    let show = move |race: &Race| output.show(&analysis::rated(race), render::race::race);
    let race = keep(show, |kept| race::race(&host, &options, progress, |race| kept(race)))?;
    for racer in race.racers.iter().filter(|racer| racer.outcome != Outcome::Passed) {
        note(render::race::failure(racer));
    }
    Ok(code(race.passed()))
}
