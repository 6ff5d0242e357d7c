//! `gpp explain`: the cards of versions; `gpp diff`: two versions, or two runs.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::catalogue::{BackEnd, Listed, named, single};
use crate::cli::{CardArgs, DiffArgs, ExplainArgs};
use crate::error::{Result, invalid};
use crate::explain::{LINES, Measured, NOT_MEASURED, matrices_named, show, show_matrices};
use crate::output;
use crate::profile::run_file;
use crate::record;
use crate::record::run::{Measurement, Run, Verdict};
use crate::run::differs;
use crate::terminal::{Cells, Unit, or_dash, outcome, percent};

pub fn explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let names = args.versions.join(",");
    if let Some(versions) = matrices_named(&names) {
        return show_matrices(&versions, None, &args.cards);
    }
    let versions = named(&names, BackEnd::Gpu)?;
    let measured = Measured::load(args.cards.from.as_deref())?;
    // A series goes without versions that its records lack, unless they lack all; one that is named fails.
    let ids = measured.ids();
    let lacks_all = versions.iter().all(|own| !ids.contains(&own.id()));
    let is_shown = |own: &&Listed| lacks_all || names.contains(own.id()) || ids.contains(&own.id());
    let cards = versions.iter().filter(is_shown);
    let cards = cards.map(|own| measured.card(own.id(), measured.before(own.id())));
    show(&cards.collect::<Result<Vec<_>>>()?, &args.cards, LINES, NOT_MEASURED)
}

pub fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    if let Some(files) = args.files()? {
        return two_runs(files, &args.cards);
    }
    let differ = |before: &str, version: &str| {
        let DiffArgs { before: old, version: new, .. } = args;
        let what = format!("{old} and {new} are the same version: give two different ones");
        if before == version { Err(invalid("", what)) } else { Ok(()) }
    };
    let names = format!("{},{}", args.before, args.version);
    if let Some(&[before, version]) = matrices_named(&names).as_deref() {
        differ(before.id, version.id)?;
        return show_matrices(&[version], Some(before), &args.cards);
    }
    let one = |name: &str| single("diff", name, BackEnd::Gpu);
    let (before, version) = (one(&args.before)?, one(&args.version)?);
    differ(before.id(), version.id())?;
    let measured = Measured::load(args.cards.from.as_deref())?;
    let card = measured.card(version.id(), Some(before.id()))?;
    show(&[card], &args.cards, usize::MAX, NOT_MEASURED)
}

/// How the time of each version changed from one run to another.
fn two_runs(files: [&Path; 2], args: &CardArgs) -> anyhow::Result<ExitCode> {
    if args.from.is_some() {
        return Err(invalid("--from", "does not apply to two runs").into());
    }
    let files = [run_file(files[0])?, run_file(files[1])?];
    output::check_outputs(&args.json, &files)?;
    let [before, now] = &files;
    let runs: [Run; 2] = [record::read(before)?, record::read(now)?];
    let names = files.each_ref().map(|path| path.display().to_string());
    let difference = difference((&names[0], &runs[0]), (&names[1], &runs[1]))?;
    let json = || record::plain(&difference);
    output::show(args.json.as_deref(), false, json, |to| text(to, &difference))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// File, system, device, date and commit of both runs.
    pub runs: [String; 2],
    pub rows: Vec<Row>,
    /// Versions that did not pass, or ran in one of them only.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub version: String,
    pub time_s: [f64; 2],
    /// The ratio of the times − 1.
    pub change: f64,
    /// Whether the times differ significantly; null if there are too few.
    pub verdict: Option<Verdict>,
    pub sm_mhz: [Option<f64>; 2],
    /// Whether the kernels have different code; null if a record does not say.
    pub other_code: Option<bool>,
}

pub fn difference(before: (&str, &Run), now: (&str, &Run)) -> Result<Difference> {
    let wrong = |what| invalid(format!("{} and {}", before.0, now.0), what);
    let system = |run: &Run| {
        let s = &run.system;
        let (nbands, ngpown, ncouls, nw) = (s.nbands, s.ngpown, s.ncouls, s.nw());
        format!("{} ({nbands} bands, {ngpown} G′, {ncouls} G, {nw} energies)", s.name)
    };
    if system(before.1) != system(now.1) {
        let systems = (system(before.1), system(now.1));
        return Err(wrong(format!("have different systems: {} and {}", systems.0, systems.1)));
    }
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for old in &before.1.results {
        let id = &old.version;
        match now.1.results.iter().find(|new| new.version == *id) {
            None => left_out.push(format!("{id}: only in the first run")),
            Some(new) if !(old.passed() && new.passed()) => {
                let [old, new] = [old, new].map(|result| outcome(result.outcome()));
                left_out.push(format!("{id}: {old} before, {new} now"));
            }
            Some(new) if old.emulated != new.emulated => {
                left_out.push(format!("{id}: emulated in one of them"));
            }
            Some(new) => rows.push(row(old, new)),
        }
    }
    let is_new = |new: &&Measurement| before.1.results.iter().all(|old| old.version != new.version);
    let only = |new: &Measurement| format!("{}: only in the second run", new.version);
    left_out.extend(now.1.results.iter().filter(is_new).map(only));
    if rows.is_empty() {
        return Err(wrong(format!(
            "have no version verified in both; compare runs of the same versions: {}",
            left_out.join(", ")
        )));
    }
    Ok(Difference { runs: [run(before), run(now)], rows, left_out })
}

fn run((file, run): (&str, &Run)) -> String {
    let provenance = run.head.provenance.as_ref();
    let date = provenance.map(|from| &from.date);
    let commit = provenance.and_then(|from| from.commit.as_ref());
    let more = [date, commit].into_iter().flatten().map(|text| format!(", {text}"));
    let more: String = more.collect();
    format!("{file}, {} on {}{more}", run.system.name, run.head.device.name)
}

fn row(old: &Measurement, new: &Measurement) -> Row {
    let time_s = [old, new].map(|result| result.times.median);
    let codes = old.kernel_hash.as_ref().zip(new.kernel_hash.as_ref());
    Row {
        version: old.version.clone(),
        time_s,
        change: time_s[1] / time_s[0] - 1.0,
        verdict: differs(&old.times, &new.times),
        sm_mhz: [old.sm_mhz(), new.sm_mhz()],
        other_code: codes.map(|(old, new)| old != new),
    }
}

fn text(to: &mut dyn Write, of: &Difference) -> io::Result<()> {
    writeln!(to, "before: {}\nnow: {}", of.runs[0], of.runs[1])?;
    let unit = Unit::of_times(of.rows.iter().flat_map(|row| row.time_s));
    let clock = |clock: Option<f64>| or_dash(clock.map(|mhz| format!("{mhz:.0}")));
    let significance = |row: &&Row| match row.verdict {
        Some(Verdict::Differs) if row.change < 0.0 => "faster".into(),
        Some(Verdict::Differs) => "slower".into(),
        Some(Verdict::Noise) => "not significant".into(),
        None => "too few runs".into(),
    };
    let code = |row: &&Row| row.other_code.map(|other| if other { "changed" } else { "same" });
    Cells::new(
        &[
            ("version", &|row: &&Row| row.version.clone()),
            (&format!("before [{}]", unit.name), &|row: &&Row| unit.show(row.time_s[0])),
            (&format!("now [{}]", unit.name), &|row: &&Row| unit.show(row.time_s[1])),
            ("change", &|row: &&Row| percent(row.change)),
            ("significance", &significance),
            ("clock before [MHz]", &|row: &&Row| clock(row.sm_mhz[0])),
            ("now [MHz]", &|row: &&Row| clock(row.sm_mhz[1])),
            ("kernel code", &|row: &&Row| or_dash(code(row))),
        ],
        &of.rows,
    )
    .print(to)?;
    of.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))
}
