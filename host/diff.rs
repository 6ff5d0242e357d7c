//! `gpp diff` of two runs.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use comfy_table::CellAlignment;
use serde::Serialize;

use crate::catalogue::find;
use crate::cli::args::{AUTO, CardArgs, DiffArgs};
use crate::error::{Error, Result};
use crate::explain;
use crate::explain::show::{ChangeBetween, Parts, between};
use crate::explain::{Gathered, gather, matrices, show_document};
use crate::outcomes::words;
use crate::output::Files;
use crate::profile::run_file;
use crate::record;
use crate::record::run::{Measurement, Run};
use crate::terminal::{Unit, fit, or_dash, percent, table, terminal};

pub fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    if let Some(files) = args.files()? {
        return two_runs(files, &args.cards);
    }
    if let Some([before, version]) = args.matrices()? {
        return matrices(&[version], Some(before), &args.cards);
    }
    let named = args.named()?;
    let [before, version] = named;
    // Those between have a line each, where they are steps from one to the other.
    let steps = between(before.id(), version.id());
    let all = [named.to_vec(), steps.into_iter().filter_map(find).collect()].concat();
    match gather(&args.cards, &all)? {
        Gathered::Records(records) => {
            let card = records.card(version.id(), Some(before.id()))?;
            explain::show(
                &[card],
                &records.steps(before.id(), version.id()),
                &args.cards,
                Parts::Compared,
            )
        }
        Gathered::NotVerified(code) => Ok(code),
    }
}

fn two_runs(files: [&Path; 2], args: &CardArgs) -> anyhow::Result<ExitCode> {
    let without_effect = [
        ("--from", args.from.is_some()),
        ("--system", args.system.is_some()),
        ("--device", args.device != AUTO),
    ];
    if let Some((flag, _)) = without_effect.iter().find(|(_, given)| *given) {
        let what = "has no effect on two runs, which are what their files hold".into();
        return Err(Error::Input { origin: (*flag).into(), what }.into());
    }
    let known = Files::new().reads("diff", files).writes_or_prints("--json", &args.json);
    known.check()?;
    let found = read(files)?;
    show_document(
        args,
        |to| text(to, &found, terminal()),
        |to| write!(to, "{}", markdown(&found)),
        |to| json(to, &found),
    )
}

fn read(files: [&Path; 2]) -> Result<Difference> {
    let [before, now] = files.map(run_file);
    let (before, now) = (before?, now?);
    let (first, second): (Run, Run) = (record::read(&before)?, record::read(&now)?);
    let [before, now] = [before, now].map(|path| path.display().to_string());
    difference((&before, &first), (&now, &second))
}

// Two runs side by side: what became of the time of each version.

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    pub file: String,
    pub device: String,
    /// When it was made.
    pub date: Option<String>,
    /// The program's commit, where it is known.
    pub commit: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub version: String,
    pub time: ChangeBetween,
    /// Median clock of the multiprocessors before and now, in MHz; null where a record has none.
    pub sm_mhz: Option<[f64; 2]>,
    /// Whether its kernel is of another code; null where a record does not tell.
    pub other_code: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub system: String,
    pub before: End,
    pub now: End,
    pub rows: Vec<Row>,
    /// What did not, or ran in one of them only.
    pub left_out: Vec<String>,
}

/// The second run against the first.
pub fn difference(before: (&str, &Run), now: (&str, &Run)) -> Result<Difference> {
    let wrong = |what| Error::Input { origin: format!("{} and {}", before.0, now.0), what };
    let extents = |run: &Run| {
        let system = &run.system;
        let size = (system.nbands, system.ngpown, system.ncouls, system.nw());
        (system.name.clone(), size)
    };
    if extents(before.1) != extents(now.1) {
        let named = |run: &Run| {
            let (name, (nbands, ngpown, ncouls, nw)) = extents(run);
            format!("{name} ({nbands} bands, {ngpown} G′, {ncouls} G, {nw} energies)")
        };
        return Err(wrong(format!("are of {} and of {}", named(before.1), named(now.1))));
    }
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for old in &before.1.results {
        let id = &old.version;
        match now.1.results.iter().find(|new| new.version == *id) {
            None => left_out.push(format!("{id}: in {} only", before.0)),
            Some(new) if !(old.passed() && new.passed()) => {
                let [old, new] = [old, new].map(|result| words(result.outcome()));
                left_out.push(format!("{id}: {old} before, {new} now"));
            }
            Some(new) if old.emulated != new.emulated => {
                left_out.push(format!("{id}: emulated in one of them"));
            }
            Some(new) => rows.push(row(old, new)),
        }
    }
    let is_new = |new: &&Measurement| before.1.results.iter().all(|old| old.version != new.version);
    let only = |new: &Measurement| format!("{}: in {} only", new.version, now.0);
    left_out.extend(now.1.results.iter().filter(is_new).map(only));
    if rows.is_empty() {
        return Err(wrong(format!("have no version that passed in both: {}", left_out.join(", "))));
    }
    let system = now.1.system.name.clone();
    let [before, now] = [before, now].map(|(file, run)| end(file, run));
    Ok(Difference { system, before, now, rows, left_out })
}

fn end(file: &str, run: &Run) -> End {
    let provenance = run.head.provenance.as_ref();
    End {
        file: file.into(),
        device: run.head.device.name.clone(),
        date: provenance.map(|from| from.date.clone()),
        commit: provenance.and_then(|from| from.commit.clone()),
    }
}

fn row(old: &Measurement, new: &Measurement) -> Row {
    let clock = |result: &Measurement| Some(result.state.as_ref()?.sm_mhz?.median);
    let codes = old.kernel_hash.as_ref().zip(new.kernel_hash.as_ref());
    Row {
        version: old.version.clone(),
        time: ChangeBetween::of(&old.times, &new.times),
        sm_mhz: clock(old).zip(clock(new)).map(|(old, new)| [old, new]),
        other_code: codes.map(|(old, new)| old != new),
    }
}

// Two runs side by side, in every form.

const SCHEMA: u32 = 1;

pub fn text(to: &mut dyn Write, of: &Difference, width: Option<u16>) -> io::Result<()> {
    head(of).iter().try_for_each(|line| writeln!(to, "{line}"))?;
    let (headings, rows) = cells(of);
    let mut shown = table(&headings);
    if let Some(column) = shown.column_mut(VERDICT) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    shown.add_rows(rows);
    writeln!(to, "{}", fit(shown, width))?;
    of.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))
}

pub fn markdown(of: &Difference) -> String {
    let (headings, rows) = cells(of);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---".to_string(); headings.len()];
    let list =
        |lines: &[String]| lines.iter().map(|text| format!("- {text}\n")).collect::<String>();
    let left_out: Vec<String> =
        of.left_out.iter().map(|what| format!("left out: {what}")).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    let table = format!("{}{}{rows}", line(&headings), line(&rule));
    format!("{}\n{table}\n{}", list(&head(of)), list(&left_out))
}

pub fn json(to: &mut dyn Write, of: &Difference) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        #[serde(flatten)]
        of: &'a Difference,
    }
    writeln!(to, "{}", crate::record::plain(&Document { schema: SCHEMA, of }))
}

fn head(of: &Difference) -> Vec<String> {
    let line = |which: &str, end: &End| {
        let End { file, device, date, commit } = end;
        let more = [date, commit].into_iter().flatten().map(|text| format!(", {text}"));
        format!("{which}: {file}, {} on {device}{}", of.system, more.collect::<String>())
    };
    vec![line("before", &of.before), line("now", &of.now)]
}

const VERDICT: usize = 4;

fn cells(of: &Difference) -> (Vec<String>, Vec<Vec<String>>) {
    let unit = Unit::of_times(of.rows.iter().flat_map(|row| [row.time.before_s, row.time.now_s]));
    let headings = [
        "version",
        &format!("before [{}]", unit.name),
        &format!("now [{}]", unit.name),
        "change",
        "by the ranks of the times",
        "SM before [MHz]",
        "now [MHz]",
        "kernel",
    ];
    let cells = |row: &Row| {
        let clock = |at: usize| or_dash(row.sm_mhz.map(|clocks| format!("{:.0}", clocks[at])));
        let code = row.other_code.map(|other| if other { "of other code" } else { "as before" });
        vec![
            row.version.clone(),
            unit.show(row.time.before_s),
            unit.show(row.time.now_s),
            percent(row.time.change),
            row.time.words().into(),
            clock(0),
            clock(1),
            or_dash(code),
        ]
    };
    (headings.map(str::to_string).into(), of.rows.iter().map(cells).collect())
}
