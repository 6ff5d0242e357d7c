//! `gpp explain`: the cards of versions; `gpp diff`: two versions, or two runs.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::catalogue::{BackEnd, Version, named, single};
use crate::cli::{CardArgs, DiffArgs, ExplainArgs};
use crate::error::{Result, invalid};
use crate::explain::{LINES, show};
use crate::output;
use crate::profile::{Measured, run_file};
use crate::record;
use crate::record::run::{Measurement, RunRecord, differ};
use crate::terminal::{TextTable, ms, or_dash, outcome, percent};

pub fn explain(args: &ExplainArgs) -> anyhow::Result<bool> {
    let names = args.versions.join(",");
    let versions = named(&names, BackEnd::Gpu)?;
    let Some(measured) = Measured::load(args.cards.from.as_deref())? else {
        let card = |version: &Version| {
            let measured = Measured::archived(version.id())?.unwrap_or_default();
            measured.card(version.id(), measured.before(version.id()))
        };
        let cards = versions.iter().map(card).collect::<Result<Vec<_>>>()?;
        return show(&cards, &args.cards, LINES);
    };
    // A series goes without versions that its records lack, unless they lack all; one that is named fails.
    let ids = measured.ids();
    let lacks_all = versions.iter().all(|version| !ids.contains(&version.id()));
    let is_shown =
        |shown: &&Version| lacks_all || names.contains(shown.id()) || ids.contains(&shown.id());
    let cards = versions.iter().filter(is_shown);
    let cards = cards.map(|version| measured.card(version.id(), measured.before(version.id())));
    show(&cards.collect::<Result<Vec<_>>>()?, &args.cards, LINES)
}

pub fn diff(args: &DiffArgs) -> anyhow::Result<bool> {
    if let Some(files) = args.files()? {
        return two_runs(files, &args.cards);
    }
    let one = |name: &str| single("diff", name, BackEnd::Gpu);
    let (before, version) = (one(&args.before)?, one(&args.version)?);
    if before.id() == version.id() {
        let (old, new) = (&args.before, &args.version);
        let what = format!("{old} and {new} are the same version: give two different ones");
        return Err(invalid("", what).into());
    }
    let measured = match Measured::load(args.cards.from.as_deref())? {
        Some(measured) => measured,
        None => Measured::archived(version.id())?
            .filter(|archived| archived.ids().contains(&before.id()))
            .unwrap_or_default(),
    };
    let card = measured.card(version.id(), Some(before.id()))?;
    show(&[card], &args.cards, usize::MAX)
}

/// How the time of each version changed from one run to another.
fn two_runs(files: [&Path; 2], args: &CardArgs) -> anyhow::Result<bool> {
    if args.from.is_some() {
        return Err(invalid("--from", "does not apply to two runs").into());
    }
    let files = files.map(run_file);
    output::check_outputs(&args.json, &files)?;
    let [before, now] = &files;
    let runs: [RunRecord; 2] = [record::read(before)?, record::read(now)?];
    let names = files.each_ref().map(|path| path.display().to_string());
    let difference = difference((&names[0], &runs[0]), (&names[1], &runs[1]))?;
    let json = || record::plain(&difference);
    output::show(args.json.as_deref(), false, json, |to| text(to, &difference))?;
    Ok(true)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// File, system, device, date and commit of both runs.
    pub runs: [String; 2],
    pub rows: Vec<VersionChange>,
    /// Versions that did not pass, or ran in one of them only.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionChange {
    pub version: String,
    pub time_s: [f64; 2],
    /// The ratio of the times − 1.
    pub change: f64,
    /// Whether the times differ significantly; null if there are too few.
    pub significant: Option<bool>,
    pub sm_mhz: [Option<f64>; 2],
    /// Whether the kernels have different code; null if a record does not say.
    pub other_code: Option<bool>,
}

pub fn difference(before: (&str, &RunRecord), now: (&str, &RunRecord)) -> Result<RunComparison> {
    let wrong = |what| invalid(format!("{} and {}", before.0, now.0), what);
    let system = |run: &RunRecord| {
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
    Ok(RunComparison { runs: [run(before), run(now)], rows, left_out })
}

fn run((file, run): (&str, &RunRecord)) -> String {
    let RunRecord { head, system, .. } = run;
    format!("{file}, {} on {}, {}", system.name, head.device.name, head.made_by())
}

fn row(old: &Measurement, new: &Measurement) -> VersionChange {
    let time_s = [old, new].map(|result| result.times.median);
    let codes = old.kernel_hash.as_ref().zip(new.kernel_hash.as_ref());
    VersionChange {
        version: old.version.clone(),
        time_s,
        change: time_s[1] / time_s[0] - 1.0,
        significant: differ(&old.times, &new.times),
        sm_mhz: [old.sm_mhz(), new.sm_mhz()],
        other_code: codes.map(|(old, new)| old != new),
    }
}

fn text(to: &mut dyn Write, compared: &RunComparison) -> io::Result<()> {
    writeln!(to, "before: {}\nnow: {}", compared.runs[0], compared.runs[1])?;
    let clock = |clock: Option<f64>| or_dash(clock.map(|mhz| format!("{mhz:.0}")));
    let significance = |row: &&VersionChange| match row.significant {
        Some(true) if row.change < 0.0 => "faster".into(),
        Some(true) => "slower".into(),
        Some(false) => "not significant".into(),
        None => "too few runs".into(),
    };
    let code =
        |row: &&VersionChange| row.other_code.map(|other| if other { "changed" } else { "same" });
    TextTable::new(
        &[
            ("version", &|row: &&VersionChange| row.version.clone()),
            ("before [ms]", &|row: &&VersionChange| ms(row.time_s[0])),
            ("now [ms]", &|row: &&VersionChange| ms(row.time_s[1])),
            ("change", &|row: &&VersionChange| percent(row.change)),
            ("significance", &significance),
            ("clock before [MHz]", &|row: &&VersionChange| clock(row.sm_mhz[0])),
            ("now [MHz]", &|row: &&VersionChange| clock(row.sm_mhz[1])),
            ("kernel code", &|row: &&VersionChange| or_dash(code(row))),
        ],
        &compared.rows,
    )
    .print(to)?;
    compared.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))
}
