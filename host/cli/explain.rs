//! `gpp explain`: why versions take the time that they take, against those that they build on.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpp_core::offdiag::versions::{ALL, Version};

use super::args::{
    AUTO, CardArgs, DEFAULT_FOLDER, DeviceArgs, ExplainArgs, Format, PAPER_SYSTEM, SMALL_SYSTEM,
};
use super::run::exit_code;
use crate::analysis::explain::{Card, Evidence, card, matrices as of_matrix};
use crate::analysis::steps::{Change, Step, steps};
use crate::catalogue::{BackEnd, Listed, find, order};
use crate::error::{Error, Result};
use crate::experiments::offdiag::folder::Folder;
use crate::experiments::profile::folder::{RUN, Records};
use crate::experiments::run::{self, Options};
use crate::experiments::setting::Setting;
use crate::experiments::source::Source;
use crate::problem::systems::DEFAULT_SEED;
use crate::process::files::Files;
use crate::process::output::{document, is_stdout, print};
use crate::process::progress::Progress;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::record::times::Repetition;
use crate::render::explain as render;
use crate::render::steps as by_step;
use crate::render::table::terminal;

pub fn explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let of_matrices = args.matrices()?;
    if !of_matrices.is_empty() {
        return matrices(&of_matrices, None, &args.cards);
    }
    let versions = args.named()?;
    let ids: Vec<&'static str> = versions.iter().map(Listed::id).collect();
    let built_on = ids.iter().filter_map(|id| order::before(id)).filter_map(find);
    let all = [versions.clone(), built_on.collect()].concat();
    let records = match gather(&args.cards, &all)? {
        Gathered::Records(records) => records,
        Gathered::NotVerified(code) => return Ok(code),
    };
    let cards = ids.iter().map(|id| records.card(id, records.nearest_before(id)));
    show(&cards.collect::<Result<Vec<_>>>()?, &[], &args.cards, render::Parts::Explained)
}

/// The cards of versions of Σ as a matrix, by the records of a folder where one is named: against a version or, of
/// `None`, each against the one before it. Where all are asked for, those are shown that the record has.
pub fn matrices(
    versions: &[&'static Version],
    before: Option<&'static Version>,
    args: &CardArgs,
) -> anyhow::Result<ExitCode> {
    let folder = args.from.as_deref().map(Folder::load).transpose()?;
    let read = folder.iter().flat_map(Folder::files);
    Files::new().reads("--from", read).writes_or_prints("--json", &args.json).check()?;
    let folder = folder.as_ref();
    let mut cards = Vec::new();
    let mut missing = None;
    for version in versions {
        let before = before.or_else(|| of_matrix::before(version, folder));
        match of_matrix::card(version, before, folder) {
            Some(card) => cards.push(card),
            None => missing = missing.or(Some(version.id)),
        }
    }
    let are_all = versions.len() == ALL.len() && !cards.is_empty();
    if let (Some(id), Some(from), false) = (missing, &args.from, are_all) {
        let what = format!(
            "its record of most versions has no {id} that passed: `gpp offdiag --version all --json FILE` writes all"
        );
        return Err(Error::Data { origin: from.display().to_string(), what }.into());
    }
    let parts = before.map_or(render::Parts::Explained, |_| render::Parts::Compared);
    show(&cards, &[], args, parts)
}

/// Prints cards, and steps below them where there are any.
pub fn show(
    cards: &[Card],
    steps: &[Step],
    args: &CardArgs,
    parts: render::Parts,
) -> anyhow::Result<ExitCode> {
    show_document(
        args,
        |to| {
            render::text(to, cards, parts, terminal())?;
            by_step::text(to, steps, terminal())
        },
        |to| write!(to, "{}{}", render::markdown(cards, parts), by_step::markdown(steps)),
        |to| render::json(to, cards, steps),
    )
}

/// Prints text or Markdown, unless JSON goes to standard output, and writes JSON where it was asked for.
pub fn show_document(
    args: &CardArgs,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    markdown: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
    let to_stdout = args.json.as_deref().is_some_and(is_stdout);
    let printed = match args.format {
        Format::Csv => {
            let what = "is for tables; here text and markdown are known".into();
            return Err(Error::Data { origin: "--format csv".into(), what }.into());
        }
        Format::Json => return print(json).map(|()| ExitCode::SUCCESS).map_err(Into::into),
        _ if to_stdout => Ok(()),
        Format::Text => print(text),
        Format::Markdown => print(markdown),
    };
    if let Some(path) = &args.json {
        document(path, json)?;
    }
    printed?;
    Ok(ExitCode::SUCCESS)
}

/// What cards are made of.
pub enum Gathered {
    /// Records.
    Records(Box<Found>),
    /// A run in which something did not pass.
    NotVerified(ExitCode),
}

/// Records of one system and device.
pub struct Found {
    from: String,
    run: Option<Run>,
    profiles: Vec<Profile>,
    ceilings: Option<Ceilings>,
}

/// The records of a folder: the one named, else the system's in gpp-profile; else those of a run.
pub fn gather(args: &CardArgs, versions: &[Listed]) -> Result<Gathered> {
    Files::new().writes_or_prints("--json", &args.json).check()?;
    let back_end = versions[0].kernel.back_end();
    if let Some(folder) = &args.from {
        return stored(folder);
    }
    if let Some(other) = versions.iter().find(|other| other.kernel.back_end() != back_end) {
        let what = "one device runs both: they are made for different ones".into();
        let origin = format!("{} and {}", versions[0].id(), other.id());
        return Err(Error::Data { origin, what });
    }
    let usual = if back_end == BackEnd::Gpu { PAPER_SYSTEM } else { SMALL_SYSTEM };
    let system = args.system.as_deref().unwrap_or(usual);
    let source = Source::system(system, DEFAULT_SEED)?;
    let folder = PathBuf::from(DEFAULT_FOLDER).join(system);
    if args.device == AUTO && folder.is_dir() {
        stored(&folder)
    } else {
        live(args, versions, &source)
    }
}

fn stored(folder: &Path) -> Result<Gathered> {
    let records = Records::load(folder)?;
    let has_run = records.folder.join(RUN).exists();
    let run = has_run.then(|| records.run()).transpose()?;
    let Records { folder, profiles, ceilings, .. } = records;
    let from = folder.display().to_string();
    Ok(Gathered::Records(Box::new(Found { from, run, profiles, ceilings: Some(ceilings) })))
}

/// Runs the versions on what they are made for.
fn live(args: &CardArgs, versions: &[Listed], source: &Source) -> Result<Gathered> {
    let progress = Progress { shown: !args.quiet };
    let back_end = versions[0].kernel.back_end();
    let made_for = if back_end == BackEnd::Gpu { "gpu" } else { "cpu" };
    let device = if args.device == AUTO { made_for } else { &args.device };
    let place = DeviceArgs { device: device.into(), simd: None, threads: args.threads };
    let opened = super::device(&place, versions, progress).map_err(|error| match error {
        Error::NoGpu { why } => {
            Error::NoGpu { why: format!("{why}; --from FOLDER explains by stored profiles") }
        }
        other => other,
    })?;
    let device = opened.as_ref();
    if device.back_end() != back_end {
        let what = format!("is made for a GPU: {} would emulate it", device.info().id);
        return Err(Error::Data { origin: versions[0].id().into(), what });
    }
    let mut ids = Vec::new();
    let mut once = versions.to_vec();
    once.retain(|version| {
        !ids.contains(&version.id()) && {
            ids.push(version.id());
            true
        }
    });
    once.sort_by_key(|version| order::place(version.id()));
    let problem = source.load(progress)?;
    let options = Options::new(&once, Repetition::exactly(1, 5));
    let setting = Setting::whole(&device, &problem);
    let run = run::run(&setting, &options, progress, |run| super::run::say_last(run, progress))?;
    if !run.passed() {
        return Ok(Gathered::NotVerified(exit_code(&run.results)));
    }
    let from = "measured for this card, without counters: `gpp profile` has them counted".into();
    let found = Found { from, run: Some(run), profiles: Vec::new(), ceilings: None };
    Ok(Gathered::Records(Box::new(found)))
}

impl Found {
    /// Versions that cards can be made of: those with a profile or, where there are none, with a result.
    fn has(&self) -> Vec<&str> {
        let profiled: Vec<&str> = self.profiles.iter().map(|own| own.version.as_str()).collect();
        let ran = self.run.iter().flat_map(|run| &run.results).map(|own| own.version.as_str());
        if profiled.is_empty() { ran.collect() } else { profiled }
    }

    /// The nearest of them that a version builds on.
    fn nearest_before(&self, id: &str) -> Option<&str> {
        order::nearest_before(id, self.has())
    }

    /// The steps from one version to another.
    pub fn steps(&self, first: &str, last: &str) -> Vec<Step> {
        let times = |id: &str| {
            let result = self.run.as_ref()?.passed_result(id)?;
            (!result.is_emulated()).then_some(&result.times)
        };
        let seconds = |id: &str| {
            let profile = self.profiles.iter().find(|profile| profile.version == id)?;
            Some(profile.seconds())
        };
        steps(first, last, |before, now| match (times(before), times(now)) {
            (Some(before), Some(now)) => Some(Change::of(before, now)),
            _ => Some(Change::of_medians(seconds(before)?, seconds(now)?)),
        })
    }

    /// The card of a version against another.
    ///
    /// # Errors
    /// [`Error::Data`] that names a version that the records lack.
    pub fn card(&self, id: &str, before: Option<&str>) -> Result<Card> {
        let has = self.has();
        if let Some(missing) = [Some(id), before].into_iter().flatten().find(|id| !has.contains(id))
        {
            let what = format!(
                "has no profile of {missing}, but of {}: `gpp profile --version {missing}` makes it",
                has.join(", ")
            );
            return Err(Error::Data { origin: self.from.clone(), what });
        }
        let evidence = Evidence {
            from: &self.from,
            run: self.run.as_ref(),
            profiles: &self.profiles,
            ceilings: self.ceilings.as_ref(),
        };
        card(id, before, evidence).ok_or_else(|| Error::Data {
            origin: self.from.clone(),
            what: format!("has nothing of {id} that passed"),
        })
    }
}
