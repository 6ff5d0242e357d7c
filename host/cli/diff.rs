//! `gpp diff`: one version against another, or one run against another.

use std::path::Path;
use std::process::ExitCode;

use super::args::{AUTO, CardArgs, DiffArgs};
use super::explain::{Gathered, gather, matrices, show, show_document};
use crate::analysis::steps::between;
use crate::analysis::two_runs::{Difference, difference};
use crate::catalogue::find;
use crate::error::{Error, Result};
use crate::experiments::profile::folder::run_file;
use crate::process::files::Files;
use crate::record;
use crate::record::run::Run;
use crate::render::explain::Parts;
use crate::render::table::terminal;
use crate::render::two_runs as render;

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
            show(&[card], &records.steps(before.id(), version.id()), &args.cards, Parts::Compared)
        }
        Gathered::NotVerified(code) => Ok(code),
    }
}

/// Two runs that files or folders hold.
fn two_runs(files: [&Path; 2], args: &CardArgs) -> anyhow::Result<ExitCode> {
    let without_effect = [
        ("--from", args.from.is_some()),
        ("--system", args.system.is_some()),
        ("--device", args.device != AUTO),
    ];
    if let Some((flag, _)) = without_effect.iter().find(|(_, given)| *given) {
        let what = "has no effect on two runs, which are what their files hold".into();
        return Err(Error::Data { origin: (*flag).into(), what }.into());
    }
    let known = Files::new().reads("diff", files).writes_or_prints("--json", &args.json);
    known.check()?;
    let found = read(files)?;
    show_document(
        args,
        |to| render::text(to, &found, terminal()),
        |to| write!(to, "{}", render::markdown(&found)),
        |to| render::json(to, &found),
    )
}

fn read(files: [&Path; 2]) -> Result<Difference> {
    let [before, now] = files.map(run_file);
    let (before, now) = (before?, now?);
    let (first, second): (Run, Run) = (record::read(&before)?, record::read(&now)?);
    let [before, now] = [before, now].map(|path| path.display().to_string());
    difference((&before, &first), (&now, &second)).map_err(|error| Error::Data {
        origin: format!("{before} and {now}"),
        what: error.to_string(),
    })
}
