//! Arguments of `explain` and `diff`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use gpp_core::offdiag::versions::{self as matrices, Version};

use super::format::Format;
use super::measure::{AUTO, ThreadsArgs};
use super::names::{BUILT_IN, DEVICES, EXPLAINED, EXPLAINED_STORIES};
use crate::analysis::explain::matrices::JOURNEY;
use crate::catalogue::names::require_journeys;
use crate::catalogue::{BackEnd, Listed, names};
use crate::devices::Choice;

/// Why versions of Σ as a matrix take neither system nor device.
const NOT_RUN: &str = "has no effect on versions of Σ as a matrix, which do not run for a card: \
    `gpp offdiag --version all --json FILE` runs them, and --from FILE shows what it wrote";

/// Arguments of `explain`.
#[derive(Args)]
#[command(after_help = "Examples:\n  gpp explain v4\n  \
    gpp explain --journey paper --from data/runs/h200-2026-11-23/si214\n  \
    gpp explain offdiag --from data/runs/h200-2026-11-23/offdiag")]
pub struct ExplainArgs {
    /// Versions, as --version of a run names them; or those of Σ as a matrix: vector, m8n8k4, m16n8k8, ring,
    /// m16n8k16 and wide, offdiag for all
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
  gpp diff vector wide          of Σ as a matrix; --from FOLDER has its records
  gpp diff old.json new.json    two runs of your own, version by version")]
pub struct DiffArgs {
    /// The version to compare with, or the JSON of a run
    #[arg(value_name = "VERSION|RUN", value_parser = EXPLAINED, hide_possible_values = true)]
    pub before: String,

    /// The version, or the JSON of another run
    #[arg(value_name = "VERSION|RUN", value_parser = EXPLAINED, hide_possible_values = true)]
    pub version: String,

    #[command(flatten)]
    pub cards: CardArgs,
}

/// Where figures come from, and how they are shown.
#[derive(Args)]
pub struct CardArgs {
    /// Folder with the profiles of one system; by default the system's in gpp-profile/, and where there is
    /// none the versions run now, without counters. Of Σ as a matrix a folder of what gpp offdiag --json
    /// wrote, with ncu's counters of the record with most versions in counters.csv; without it versions have no
    /// figures
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

    #[command(flatten)]
    pub threads: ThreadsArgs,

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
    /// Those of [`CardArgs::matrices`].
    pub fn matrices(&self) -> crate::Result<Vec<&'static Version>> {
        let mut found = self.cards.matrices(&self.given(), self.journey.is_some())?;
        let mut ids = BTreeSet::new();
        found.retain(|version| ids.insert(version.id));
        Ok(found)
    }

    /// The versions named.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`].
    pub fn named(&self) -> crate::Result<Vec<Listed>> {
        self.cards.others(&self.given(), self.journey.is_some())
    }

    fn given(&self) -> String {
        self.journey.clone().unwrap_or_else(|| self.versions.join(","))
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
        let one = |name: &str| {
            names::single("diff", name, back_end).map_err(|error| EXPLAINED.among(error))
        };
        Ok([one(&self.before)?, one(&self.version)?])
    }

    /// The same of Σ as a matrix; `None` where others are named.
    ///
    /// # Errors
    /// Those of [`CardArgs::matrices`]; [`crate::Error::Data`] for a name of several.
    pub fn matrices(&self) -> crate::Result<Option<[&'static Version; 2]>> {
        let given = [self.before.as_str(), &self.version];
        match self.cards.matrices(&given.join(","), false)?[..] {
            [] => Ok(None),
            [before, version] => Ok(Some([before, version])),
            ref several => Err(crate::Error::Data {
                origin: format!("diff {}", given.join(" ")),
                what: format!("takes two versions, not {}", several.len()),
            }),
        }
    }
}

impl CardArgs {
    /// The versions of Σ as a matrix that these names are of, or these journeys; none where others are named.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`]; [`crate::Error::Data`] for both kinds, and for what only the others take.
    fn matrices(&self, given: &str, are_journeys: bool) -> crate::Result<Vec<&'static Version>> {
        let of = |name: &str| match matrices::find(name) {
            _ if name == JOURNEY => matrices::ALL.to_vec(),
            version => version.filter(|_| !are_journeys).into_iter().collect(),
        };
        let (own, others): (Vec<&str>, Vec<&str>) =
            given.split(',').map(str::trim).partition(|name| !of(name).is_empty());
        let wrong = |origin: String, what: String| Err(crate::Error::Data { origin, what });
        let device = Some(&self.device).filter(|device| *device != AUTO);
        let without_effect = [("--system", self.system.as_ref()), ("--device", device)];
        match (own.first(), others.first()) {
            (None, _) => Ok(Vec::new()),
            (Some(own), Some(other)) => {
                self.others(&others.join(","), are_journeys)?;
                let what = format!(
                    "{own} is of Σ as a matrix, {other} is not, and cards are of one kind: give \
                     each a command of its own"
                );
                wrong(format!("{own} and {other}"), what)
            }
            _ => match without_effect.into_iter().find_map(|(flag, value)| Some((flag, value?))) {
                Some((flag, value)) => wrong(format!("{flag} {value}"), NOT_RUN.into()),
                None => Ok(own.into_iter().flat_map(of).collect()),
            },
        }
    }

    /// The other versions that names are of.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`].
    fn others(&self, given: &str, are_journeys: bool) -> crate::Result<Vec<Listed>> {
        if are_journeys {
            require_journeys(given).map_err(|error| EXPLAINED_STORIES.among(error))?;
        }
        names::versions(given, self.back_end()?).map_err(|error| EXPLAINED.among(error))
    }

    /// Where `best` is meant to be.
    fn back_end(&self) -> crate::Result<BackEnd> {
        let is_cpu = self.device.parse::<Choice>()? == Choice::Cpu;
        Ok(if is_cpu { BackEnd::Cpu } else { BackEnd::Gpu })
    }
}
