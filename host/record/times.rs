//! Times of a calculation and how often it runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// How often a version runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// Runs that are not timed.
    pub warmup: usize,
    /// Runs that are, at least.
    pub repeat: usize,
    /// How long runs of a regime go on; none where runs are counted alone.
    pub settle: Duration,
    /// Which regimes are measured, where runs go on.
    pub regimes: Regimes,
}

/// What is measured of a device whose limit of power lowers its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regimes {
    /// Runs before the limit lowers the clock.
    BeforeCap,
    /// These, and then those at the steady state.
    Both,
}

impl Repetition {
    /// So many runs, however long they take.
    pub const fn exactly(warmup: usize, repeat: usize) -> Repetition {
        Repetition { warmup, repeat, settle: Duration::ZERO, regimes: Regimes::Both }
    }

    /// All that were asked for.
    pub fn runs(self) -> usize {
        self.warmup + self.repeat
    }
}

/// Times of the whole calculation in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Middle of the sorted samples.
    pub median: f64,
    /// Shortest.
    pub min: f64,
    /// Longest.
    pub max: f64,
    /// All, in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Times {
    /// From at least one sample.
    pub fn of(samples: Vec<f64>) -> Times {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Times {
            median: f64::midpoint(low, high),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            samples,
        }
    }

    /// Standard deviation of at least two samples.
    pub fn sigma(&self) -> Option<f64> {
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().sum::<f64>() / count;
        let squares: f64 = self.samples.iter().map(|t| (t - mean) * (t - mean)).sum();
        (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
    }

    /// [`Times::sigma`] over the median.
    pub fn relative_sigma(&self) -> Option<f64> {
        self.sigma().map(|sigma| sigma / self.median)
    }

    /// From the shortest to the longest, over the median.
    pub fn relative_spread(&self) -> f64 {
        (self.max - self.min) / self.median
    }

    /// Samples that stand apart: off the median by more than ten times the median deviation, and by
    /// more than a tenth of the median and 0.1 ms.
    pub fn outliers(&self) -> usize {
        let off: Vec<f64> = self.samples.iter().map(|t| (t - self.median).abs()).collect();
        let mut sorted = off.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let limit = (10.0 * middle).max(0.1 * self.median).max(1e-4);
        off.iter().filter(|&&off| off > limit).count()
    }

    /// 95 % interval of the median: the closest pair of samples, as many from either end, between which the
    /// median is in 95 of 100 cases, whatever the samples are distributed like. Fewer than six are too few.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let below = Binomial::new(0.5, sorted.len() as u64).ok()?;
        // So many samples or fewer lie below the median in less than 2.5 of 100 cases.
        let is_rare = |count: &usize| below.cdf(*count as u64) <= 0.025;
        let outside = (0..sorted.len() / 2).take_while(is_rare).last()?;
        Some([sorted[outside], sorted[sorted.len() - 1 - outside]])
    }

    /// What a record tells of them besides.
    pub fn spread(&self) -> Spread {
        let relative = self.relative_spread();
        Spread {
            sigma_s: self.sigma(),
            relative: relative.is_finite().then_some(relative),
            outliers: self.outliers(),
            interval_s: self.interval(),
        }
    }
}

/// Runs before the limit of power lowered the clock: after a rest and a run that is not timed, at the highest
/// clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeforeCap {
    /// Times of the calculation.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// How far they lie apart.
    pub spread: Spread,
    /// Median clock of the multiprocessors in MHz.
    pub sm_mhz: f64,
}

/// Whether a difference of two sides is larger than the noise of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is.
    Differs,
    /// Noise explains it.
    Noise,
}

/// How far times lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// [`Times::sigma`].
    pub sigma_s: Option<f64>,
    /// [`Times::relative_spread`]; null where the median is zero.
    pub relative: Option<f64>,
    /// [`Times::outliers`].
    pub outliers: usize,
    /// 95 % interval of the median in seconds; null of few samples, and in older records.
    pub interval_s: Option<[f64; 2]>,
}
