//! `gpp offdiag`: Σ as a matrix.

use std::process::ExitCode;

use gpp_core::offdiag::{Elements, Sums, Synthesised};

use super::args::{EnergiesOf, OffdiagArgs, OutputArgs};
use super::device::{Opened, opened, require_vectors, shared};
use super::run::code;
use crate::catalogue::BackEnd;
use crate::error::{Error, Result};
use crate::experiments::offdiag::bands::{Bands, Some as OfSome};
use crate::experiments::offdiag::on::On;
use crate::experiments::offdiag::stored::Stored;
use crate::experiments::offdiag::{Options, qsgw, run};
use crate::experiments::room::Crew;
use crate::experiments::setting;
use crate::problem::{Origin, Problem};
use crate::process::output::{is_stdout, replace};
use crate::ranks::Ranks;
use crate::record::offdiag::Offdiag;
use crate::render::offdiag as render;
use crate::render::results;
use crate::render::sigma::Picture;
use crate::render::table::terminal;

/// Bands where none are asked for.
const ON_PROCESSOR: usize = 16;
const ON_GPU: usize = 128;

pub fn offdiag(args: &OffdiagArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let own = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = own.progress();
    args.files(ranks.is_root()).check()?;
    let plots = args.plot.iter().map(|path| Picture::of(path)).collect::<Result<Vec<_>>>()?;
    if let (Some(path), None) = (&args.problem.input, &args.elements) {
        let origin = format!("--input {}", path.display());
        let what = "holds matrix elements of one state: --elements has those of all bands".into();
        return Err(Error::Data { origin, what }.into());
    }
    let versions = args.version.as_ref().map_or(&[][..], |named| &named.0);
    let limits = args.limits();
    let on = match opened(&args.place, limits.device, &[], progress, ranks)? {
        Opened::Host(host) => {
            ranks.having(&[]);
            On::Host(host)
        }
        Opened::Gpus(gpus) => {
            require_vectors(&args.place, &[])?;
            On::Gpus(shared(gpus, ranks)?)
        }
    };
    let places = setting::places(Crew { devices: &on.devices(), ranks }).unwrap_or_default();
    results::places(&places).iter().for_each(|line| progress.say(line));
    let is_processor = on.info().back_end() == BackEnd::Cpu;
    let count = if is_processor { ON_PROCESSOR } else { ON_GPU };
    let source = args.problem.source_for(on.info(), progress)?;
    let opened = source.open(progress)?;
    let stored =
        args.elements.as_ref().map(|path| Stored::open(path, opened.extents())).transpose()?;
    let bands = bands(args, stored.as_ref(), count)?;
    let (problem, at) = match args.at {
        None => (opened.load()?, None),
        Some(EnergiesOf::Bands) => {
            let (grid, at) = qsgw::energies(opened.bands()?.header(), bands)?;
            (source.clone().at(Some(grid)).load(progress)?, Some(at))
        }
    };
    let synthesised = synthesised(&problem, bands);
    let all: &dyn Elements = match (&stored, &synthesised) {
        (Some(stored), _) => stored,
        (None, Some(synthesised)) => synthesised,
        (None, None) => unreachable!("a file's problem has a file of elements"),
    };
    let compares = !args.verify.no_verify;
    let at = at.as_deref();
    let options = Options { versions, repeat: args.repeat, compares, limits, at };
    let done = run((&on, ranks), &problem, &OfSome { all, bands }, bands, options, progress);
    // What is wrong with the file comes before what came of it, on any rank.
    stored.as_ref().map_or(Ok(()), Stored::check)?;
    let done = done?;
    ranks.barrier();
    let Some((mut record, sums)) = done else { return Ok(ExitCode::SUCCESS) };
    record.elements = args.elements.as_ref().map(|path| path.display().to_string());
    record.places = places;
    show(args, &plots, &record, &sums)?;
    Ok(code(record.passed()))
}

/// The bands asked for, all of a file, or so many.
fn bands(args: &OffdiagArgs, stored: Option<&Stored>, count: usize) -> Result<Bands> {
    let held = stored.map(Elements::bands);
    let bands = args.bands.unwrap_or(Bands { first: 0, count: held.unwrap_or(count) });
    match held {
        Some(held) if bands.first + bands.count > held => {
            let (from, to) = (bands.first + 1, bands.first + bands.count);
            let what = format!("bands {from} to {to}, and --elements has those from 1 to {held}");
            Err(Error::Data { origin: "--bands".into(), what })
        }
        _ => Ok(bands),
    }
}

/// Those of a built-in system.
fn synthesised(problem: &Problem, bands: Bands) -> Option<Synthesised<'_>> {
    match problem.origin() {
        Origin::System(system, seed) => {
            Some(Synthesised::new(system, *seed, bands.first + bands.count))
        }
        Origin::File(_) | Origin::Made => None,
    }
}

/// Prints and writes all that was asked for.
fn show(
    args: &OffdiagArgs,
    plots: &[Picture],
    record: &Offdiag,
    sums: &Sums,
) -> anyhow::Result<()> {
    let prints = args.csv.as_deref().is_some_and(is_stdout);
    let output = OutputArgs { quiet: args.output.quiet || prints, ..args.output.clone() };
    let shown = output.show(record, |to, record| render::text(to, record, terminal()));
    // What cannot be printed does not keep files from being written.
    if let Some(path) = &args.csv {
        crate::process::output::document(path, |to| render::csv(to, record, sums))?;
    }
    if let Some([sx, ch]) = &args.arrays() {
        replace(sx, |file| render::npy(file, sums, &sums.sx))?;
        replace(ch, |file| render::npy(file, sums, &sums.ch))?;
    }
    if let (Some(path), Some(_)) = (&args.array("qsgw"), &record.qsgw) {
        let matrix = qsgw::hermitian(sums);
        replace(path, |file| render::npy_of_one(file, sums.bands, &matrix))?;
    }
    for (path, picture) in args.plot.iter().zip(plots) {
        render::plot(*picture, path, record, sums)?;
    }
    shown
}
