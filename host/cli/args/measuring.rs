//! Arguments of the commands that measure.

use clap::Args;

use super::measure::{MeasureArgs, OutputArgs};
use super::names::{STORIES, VERSIONS};
use super::problem::ProblemArgs;
use super::slabs::SlabArgs;
use crate::catalogue::names::{MAIN, require_journeys};
use crate::process::files::Files;

/// Which versions.
#[derive(Args, Clone, Debug)]
pub struct VersionArgs {
    /// Kernel versions: ids, ranges (v0-v8, talk:V1-V9), best or all, with commas; also journeys
    /// (paper, talk) and the best of one (talk:best). By default paper,past; on a CPU, or with --energies,
    /// best. best is the fastest for the problem. all is every version that the device runs; a CPU runs its
    /// own, then emulates the others
    #[arg(
        short = 'v',
        long,
        value_name = "V[,V…]",
        value_parser = VERSIONS,
        hide_possible_values = true
    )]
    pub version: Option<String>,

    /// Journeys, see `gpp list`: all versions of each, as --version NAME has them
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_parser = STORIES,
        hide_possible_values = true,
        conflicts_with = "version"
    )]
    pub journey: Option<String>,
}

impl VersionArgs {
    /// The names given, or the journeys that run without any.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] for a journey that is none.
    pub fn names(&self) -> crate::Result<&str> {
        Ok(self.given()?.unwrap_or(MAIN))
    }

    /// The names given.
    ///
    /// # Errors
    /// As [`VersionArgs::names`].
    pub fn given(&self) -> crate::Result<Option<&str>> {
        if let Some(journeys) = &self.journey {
            require_journeys(journeys)?;
        }
        Ok(self.version.as_deref().or(self.journey.as_deref()))
    }
}

/// Whether sums are compared.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VerifyArgs {
    /// Compare the sums with nothing: results are marked not verified
    #[arg(long, alias = "unverified")]
    pub no_verify: bool,
}

/// Arguments of a run.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub slabs: SlabArgs,

    #[command(flatten)]
    pub verify: VerifyArgs,

    /// Whether the static CH is summed too, which `sigma` has a flag for.
    #[arg(skip)]
    pub static_ch: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl RunArgs {
    /// The files that it names; who does not report writes none.
    pub fn files(&self, reports: bool) -> Files {
        let files = Files::new().reads("--input", &self.problem.input);
        files.writes_or_prints("--json", self.output.json.iter().filter(|_| reports))
    }
}
