//! Where a record comes from: when, where and by what it was made.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use super::times::{Regimes, Repetition};
use crate::devices::{DeviceInfo, gpu};
use crate::problem::Origin;

/// The program's commit, where the build knew it; `-dirty` at its end tells of changes.
pub const COMMIT: Option<&str> = option_env!("GPP_COMMIT");

/// The compiler of the program and its LLVM.
pub const PROGRAM_BY: Option<&str> = gpp_core::BUILT_BY;

/// The program's name and version.
pub const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// The program that made something: name and version, commit and compiler. Where the commit does not tell
/// its sources, a digest of the executable does.
pub fn program() -> &'static str {
    static TOLD: LazyLock<String> = LazyLock::new(|| {
        let commit = COMMIT.unwrap_or("an unknown commit");
        let told =
            format!("{PROGRAM} at {commit} by {}", PROGRAM_BY.unwrap_or("an unknown compiler"));
        if COMMIT.is_some_and(|commit| !commit.ends_with("-dirty")) {
            return told;
        }
        let own = std::env::current_exe().and_then(std::fs::read);
        let digest = own.map(|bytes| format!("{:016x}", XxHash64::oneshot(0, &bytes)));
        format!("{told}, executable {}", digest.unwrap_or("unknown".into()))
    });
    &TOLD
}

/// The compiler of the kernels and its LLVM; unknown of PTX that `GPP_PTX` names.
pub fn kernels_by() -> Option<String> {
    let named = std::env::var_os("GPP_PTX").is_some();
    gpu::KERNELS_BY.filter(|_| !named).map(str::to_string)
}

/// Where a record comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it was begun, RFC 3339, UTC.
    pub date: String,
    /// The host's name.
    pub host: Option<String>,
    /// [`COMMIT`].
    pub commit: Option<String>,
    /// The compiler of the kernels and its LLVM.
    pub kernels_by: Option<String>,
    /// The file that `GPP_PTX` names in place of the program's own kernels.
    pub ptx: Option<String>,
    /// [`PROGRAM_BY`].
    pub program_by: Option<String>,
    /// The GPU's driver.
    pub driver: Option<String>,
    /// Seed of a synthetic system.
    pub seed: Option<u64>,
    /// The input file.
    pub input: Option<String>,
    /// Runs of each version before the timed ones; null where emulated ones beside others had another number.
    pub warmup: Option<usize>,
    /// Timed runs of each version, as asked for; null where `warmup` is: the samples are counted.
    pub repeat: Option<usize>,
    /// Seconds that runs of a regime went on for; null in older records.
    pub settle_s: Option<f64>,
    /// What `time_s` is of, where there are such: see [`Regime`]. Null where runs were counted alone, and in
    /// older records, whose timed runs are of both regimes.
    pub regime: Option<Regime>,
}

/// What runs are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// After a rest, before the limit of power lowers the clock.
    BeforeCap,
    /// At the steady state.
    Sustained,
}

impl Regime {
    /// That of runs which are repeated so.
    pub fn of(repetition: Repetition) -> Option<Regime> {
        (!repetition.settle.is_zero()).then_some(match repetition.regimes {
            Regimes::BeforeCap => Regime::BeforeCap,
            Regimes::Both => Regime::Sustained,
        })
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Regime::BeforeCap => "before the cap",
            Regime::Sustained => "sustained",
        }
    }
}

impl Provenance {
    /// Of what begins now.
    pub fn now(device: &DeviceInfo) -> Provenance {
        let now = jiff::Timestamp::now();
        Provenance {
            date: now.round(jiff::Unit::Second).unwrap_or(now).to_string(),
            host: sysinfo::System::host_name().ok(),
            commit: COMMIT.map(str::to_string),
            kernels_by: kernels_by(),
            ptx: std::env::var("GPP_PTX").ok(),
            program_by: PROGRAM_BY.map(str::to_string),
            driver: device.driver.clone(),
            seed: None,
            input: None,
            warmup: None,
            repeat: None,
            settle_s: None,
            regime: None,
        }
    }

    /// Adds the problem's seed or file, and how often it ran.
    #[must_use]
    pub fn of(self, origin: &Origin, repetition: Repetition) -> Provenance {
        let (seed, input) = match origin {
            Origin::System(_, seed) => (Some(*seed), None),
            Origin::File(path) => (None, Some(path.display().to_string())),
            Origin::Made => (None, None),
        };
        let (warmup, repeat) = (Some(repetition.warmup), Some(repetition.repeat));
        let settle_s = Some(repetition.settle.as_secs_f64());
        let regime = Regime::of(repetition);
        Provenance { seed, input, warmup, repeat, settle_s, regime, ..self }
    }
}
