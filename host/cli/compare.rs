//! `gpp compare`: our kernels against the yardstick, in CUDA C++ on a GPU and in Fortran on a processor,
//! alternately, on the same arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use gpp_cpu::topology::Room;

use super::args::{CompareArgs, PAPER_SYSTEM, SMALL_SYSTEM};
use super::keep::keep;
use super::run::code;
use crate::analysis::comparison::rated;
use crate::catalogue::names::versions;
use crate::catalogue::{BackEnd, Listed};
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::error::{Error, Result};
use crate::experiments::comparison::{self, Course, OnCpu, OnGpu, Options, both_have};
use crate::experiments::source::Source;
use crate::process::files::Files;
use crate::process::terminal::note;
use crate::record::comparison::Comparison;
use crate::reference::verify::Outcome;
use crate::render::comparison as render;

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

fn on_gpu(args: &CompareArgs, index: usize) -> anyhow::Result<ExitCode> {
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
    on(args, &mut OnGpu::new(&gpu, &nvcc, &ncu, args.output.progress())?, versions, sources)
}

fn on_cpu(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let versions = versions(args.version.as_deref().unwrap_or("best"), BackEnd::Cpu)?;
    let sources = sources(args, [SMALL_SYSTEM, "demo-complex"])?;
    super::require_vectors(&args.place, &versions)?;
    let host = args.place.host(Room::here())?;
    let gfortran = program(args.gfortran.as_ref(), "gfortran");
    on(args, &mut OnCpu::new(&host, &gfortran)?, versions, sources)
}

fn on(
    args: &CompareArgs,
    course: &mut dyn Course,
    versions: Vec<Listed>,
    sources: Vec<Source>,
) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let seed = args.problems.input.is_empty().then_some(args.problems.seed());
    let options = Options { versions, sources, seed, repeat: args.repeat };
    let show = move |found: &Comparison| output.show(&rated(found), render::comparison);
    let mut said = 0;
    let found = keep(show, |kept| {
        comparison::compare(course, &options, progress, |found| {
            kept(found);
            for heat in &found.heats[said..] {
                let failed = heat.racers.iter().filter(|one| one.outcome != Outcome::Passed);
                failed.for_each(|racer| note(render::failure(heat, racer)));
                render::lines(heat).for_each(|line| progress.say(line));
            }
            said = found.heats.len();
        })
    })?;
    Ok(code(found.passed()))
}
