//! Arguments of `explain` and `diff`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use gpp_core::offdiag::versions::{self as matrices, Version};

use super::format::Format;
use super::measure::AUTO;
use super::names::{BUILT_IN, DEVICES, EXPLAINED, EXPLAINED_STORIES, VERSIONS};
use crate::analysis::explain::matrices::JOURNEY;
use crate::catalogue::names::require_journeys;
use crate::catalogue::{BackEnd, Listed, names};
use crate::devices::choice::Choice;

/// Why versions of Σ as a matrix take neither system nor device.
const NOT_RUN: &str = "versions of Σ as a matrix do not run here: --from FOLDER has their records";

/// Arguments of `explain`.
#[derive(Args)]
#[command(after_help = "Examples:\n  gpp explain v4\n  \
    gpp explain --journey paper --from data/runs/h200-2026-11-23/si214\n  \
    gpp explain offdiag --from data/runs/h200-2026-11-23/offdiag")]
pub struct ExplainArgs {
    /// Versions, as --version of a run names them; or those of Σ as a matrix: vector, m8n8k4, m16n8k8, ring
    /// and wide, offdiag for all
    #[arg(
        value_name = "VERSION",
        value_parser = EXPLAINED,
        hide_possible_values = true,
        required_unless_present = "journey"
    )]
    pub versions: Vec<String>,

    /// Journeys, all versions of each; offdiag is that of Σ as a matrix
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_parser = EXPLAINED_STORIES,
        hide_possible_values = true,
        conflicts_with = "versions"
    )]
    pub journey: Option<String>,

    #[command(flatten)]
    pub cards: CardArgs,
}

/// Arguments of `diff`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp diff v3 v4                sources, counters and why
  gpp diff v3 v8                the same, and the steps between
  gpp diff old.json new.json    two runs of your own, version by version")]
pub struct DiffArgs {
    /// The version to compare with, or the JSON of a run
    #[arg(value_name = "VERSION|RUN", value_parser = VERSIONS, hide_possible_values = true)]
    pub before: String,

    /// The version, or the JSON of another run
    #[arg(value_name = "VERSION|RUN", value_parser = VERSIONS, hide_possible_values = true)]
    pub version: String,

    #[command(flatten)]
    pub cards: CardArgs,
}

/// Where figures come from, and how they are shown.
#[derive(Args)]
pub struct CardArgs {
    /// Folder with the profiles of one system; by default the system's in gpp-profile/, and where there is
    /// none the versions run now, without counters. Of Σ as a matrix a folder of what gpp offdiag --json
    /// wrote, with ncu's counters in counters.csv; without it versions have no figures
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,

    /// Built-in system; by default si214, of versions for a CPU demo
    #[arg(
        short,
        long,
        value_name = "NAME",
        value_parser = BUILT_IN,
        hide_possible_values = true,
        conflicts_with = "from"
    )]
    pub system: Option<String>,

    /// Where to run: gpu, gpu:N or cpu; by default what the versions are made for
    #[arg(
        short,
        long,
        default_value = AUTO,
        value_parser = DEVICES,
        hide_possible_values = true,
        conflicts_with = "from"
    )]
    pub device: String,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write it as JSON to a file, or to standard output for -
    #[arg(short, long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// No progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
}

impl ExplainArgs {
    /// The versions of Σ as a matrix, each once; none where others are named.
    ///
    /// # Errors
    /// [`crate::Error::Data`] for both kinds, and for what only the others take.
    pub fn matrices(&self) -> crate::Result<Vec<&'static Version>> {
        let given = self.journey.clone().unwrap_or_else(|| self.versions.join(","));
        let (mut found, mut other) = (Vec::new(), None);
        for name in given.split(',').map(str::trim) {
            let version = matrices::find(name).filter(|_| self.journey.is_none());
            match version {
                _ if name == JOURNEY => found.extend(matrices::ALL),
                Some(version) => found.push(version),
                None => other = Some(name),
            }
        }
        let mut ids = BTreeSet::new();
        found.retain(|version| ids.insert(version.id));
        let wrong = |origin: String, what: String| Err(crate::Error::Data { origin, what });
        match (found.first(), other, &self.cards) {
            (None, ..) => Ok(found),
            (Some(first), Some(other), _) => wrong(
                format!("explain {given}"),
                format!("{} is of Σ as a matrix, {other} is not", first.id),
            ),
            (_, _, CardArgs { system: Some(system), .. }) => {
                wrong(format!("--system {system}"), NOT_RUN.into())
            }
            (_, _, CardArgs { device, .. }) if device != AUTO => {
                wrong(format!("--device {device}"), NOT_RUN.into())
            }
            _ => Ok(found),
        }
    }

    /// The versions named.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`].
    pub fn named(&self) -> crate::Result<Vec<Listed>> {
        if let Some(journeys) = &self.journey {
            require_journeys(journeys)?;
        }
        let given = self.journey.clone().unwrap_or_else(|| self.versions.join(","));
        names::versions(&given, self.cards.back_end()?)
    }
}

impl DiffArgs {
    /// The files of two runs, where that is what is named.
    ///
    /// # Errors
    /// [`crate::Error::Data`] for a file and a version.
    pub fn files(&self) -> crate::Result<Option<[&Path; 2]>> {
        let named = [&self.before, &self.version].map(Path::new);
        let is_run = |path: &Path| path.exists() || path.extension() == Some("json".as_ref());
        match named.map(is_run) {
            [true, true] => Ok(Some(named)),
            [false, false] => Ok(None),
            _ => Err(crate::Error::Data {
                origin: format!("diff {} {}", self.before, self.version),
                what: "takes two versions or two runs".into(),
            }),
        }
    }

    /// The two versions, the one to compare with first.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`]; [`crate::Error::Data`] for a name of several.
    pub fn named(&self) -> crate::Result<[Listed; 2]> {
        let back_end = self.cards.back_end()?;
        let one = |name: &str| names::single("diff", name, back_end);
        Ok([one(&self.before)?, one(&self.version)?])
    }
}

impl CardArgs {
    /// Where `best` is meant to be.
    fn back_end(&self) -> crate::Result<BackEnd> {
        let is_cpu = self.device.parse::<Choice>()? == Choice::Cpu;
        Ok(if is_cpu { BackEnd::Cpu } else { BackEnd::Gpu })
    }
}
