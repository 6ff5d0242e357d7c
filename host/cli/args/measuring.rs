//! Arguments of the commands that measure.

use clap::Args;

use super::measure::{DeviceArgs, MeasureArgs, OutputArgs, at_least_one};
use super::names::{BUILT_IN, STORIES, VERSIONS};
use super::problem::ProblemArgs;
use super::slabs::{MemoryArgs, SlabArgs};
use crate::catalogue::names::{MAIN, require_journeys};
use crate::catalogue::tuned::Overrides;
use crate::problem::systems::DEFAULT_SEED;
use crate::process::files::Files;
use crate::record::scale::Line;

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

    /// Whether nothing less than whole journeys was asked for.
    pub fn is_whole(&self) -> bool {
        self.version.as_deref().is_none_or(|names| names == "all")
    }
}

/// Whether sums are compared.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VerifyArgs {
    /// Compare the sums with nothing: results are marked not verified
    #[arg(long, alias = "unverified")]
    pub no_verify: bool,
}

/// The shape of a version's tiles, where it has others.
#[derive(Args, Default)]
pub struct ShapeArgs {
    /// G′ of a thread in a version that has other shapes, instead of the tuned number
    #[arg(long, value_name = "N")]
    pub tile: Option<u32>,

    /// Warps of a block in such a version
    #[arg(long, value_name = "N")]
    pub warps: Option<u32>,

    /// Most registers of a thread in such a version
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(32..=255))]
    pub registers: Option<u32>,
}

impl From<&ShapeArgs> for Overrides {
    fn from(args: &ShapeArgs) -> Overrides {
        let &ShapeArgs { tile, warps, registers } = args;
        Overrides { tile, warps, registers }
    }
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
    pub overrides: ShapeArgs,

    #[command(flatten)]
    pub verify: VerifyArgs,

    /// Whether the static CH is summed too, which `sigma` has a flag for.
    #[arg(skip)]
    pub static_ch: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl RunArgs {
    /// The files that it names; who does not report writes none but a checkpoint.
    pub fn files(&self, reports: bool) -> Files {
        let files = Files::new().reads("--input", &self.problem.input);
        let files = files.keeps("--checkpoint", &self.slabs.checkpoint);
        files.writes_or_prints("--json", self.output.json.iter().filter(|_| reports))
    }
}

/// Arguments of `tune`.
#[derive(Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `scale`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp scale -s si510 -d gpu:all          over the GPUs of this host
  mpirun -n 4 gpp scale -s si510         over ranks with a GPU each
  gpp scale -d cpu -s demo               over the cores of the processor
  gpp scale --over nbands,nw             over extents of the problem, on one device
  gpp scale --over                       over all of them; also as `gpp scaling`")]
pub struct ScaleArgs {
    /// Kernel version, one, made for the devices
    #[arg(
        short = 'v',
        long,
        value_name = "V",
        default_value = "best",
        value_parser = VERSIONS,
        hide_possible_values = true
    )]
    pub version: String,

    /// Time it over these extents instead, on one device and systems of its own: nbands, ngpown, ncouls, nw,
    /// and all for the first three at once. By default each of these
    #[arg(
        long,
        value_name = "EXTENT[,EXTENT…]",
        value_delimiter = ',',
        value_parser = extent,
        num_args = 0..=1,
        default_missing_values = Line::EXTENTS.map(Line::name),
        conflicts_with_all = ["system", "strong", "weak", "device_memory", "host_memory"]
    )]
    pub over: Vec<Line>,

    /// Over extents: complex modes instead of real ones
    #[arg(long, requires = "over")]
    pub complex: bool,

    /// Built-in system, see `gpp list`; by default si214, on a CPU demo
    #[arg(short, long, value_name = "NAME", value_parser = BUILT_IN, hide_possible_values = true)]
    pub system: Option<String>,

    /// Seed of the system
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Strong scaling only: the system as it is
    #[arg(long)]
    pub strong: bool,

    /// Weak scaling only: each member with the same part of the system's G′
    #[arg(long, conflicts_with = "strong")]
    pub weak: bool,

    /// One, two and all members only, and of extents the smallest
    #[arg(long)]
    pub quick: bool,

    #[command(flatten)]
    pub place: DeviceArgs,

    /// Timed runs of each point, by default 5, with --quick 1
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    pub repeat: Option<usize>,

    #[command(flatten)]
    pub memory: MemoryArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// The line of an extent.
fn extent(name: &str) -> Result<Line, String> {
    let known = Line::EXTENTS.into_iter().find(|line| line.name() == name);
    known.ok_or_else(|| format!("needs {}", Line::EXTENTS.map(Line::name).join(", ")))
}
