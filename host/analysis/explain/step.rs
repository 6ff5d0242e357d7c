//! A step: a version and the one that it is compared with, as records tell of them.

use crate::analysis::bounds::{self, Power};
use crate::analysis::published::{self, BESIDE_SYSTEM};
use crate::catalogue::{journey_of, order};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::{Measurement, Run};

/// The records that cards are made from: of one system and device.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// Where they are from.
    pub from: &'a str,
    /// Times of the versions.
    pub run: Option<&'a Run>,
    /// Counters; none where nothing was profiled.
    pub profiles: &'a [Profile],
    /// What the device can do.
    pub ceilings: Option<&'a Ceilings>,
}

/// What is known of one version.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its result in the run, where it passed and was not emulated.
    pub measured: Option<&'a Measurement>,
    /// Its counters.
    pub profile: Option<&'a Profile>,
    /// The baseline's time over its own.
    pub over_baseline: Option<f64>,
}

/// A version against another.
pub struct Step<'a> {
    /// The version that it is compared with, where there is one.
    pub before: Option<Side<'a>>,
    /// The version.
    pub now: Side<'a>,
    /// What the device can do.
    pub ceilings: Option<&'a Ceilings>,
    /// The highest clock of the device, in MHz, where the run tells.
    pub highest_mhz: Option<f64>,
    /// What was published of the same step.
    pub published: Option<PublishedStep>,
    /// The system's name.
    pub system: &'a str,
    /// The device's name.
    pub device: &'a str,
}

/// What was published of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedStep {
    /// Who published it, and on what.
    pub by: String,
    /// Of the version before, where it is of the same source.
    pub before: Option<Told>,
    /// Of the version.
    pub now: Told,
}

/// What was published of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Seconds.
    pub time_s: Option<f64>,
    /// 10¹² operations a second.
    pub tflops: Option<f64>,
    /// The baseline's time over its own.
    pub over_baseline: Option<f64>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Warps on a multiprocessor.
    pub warps: Option<u32>,
    /// FLOP/byte on HBM.
    pub intensity: Option<f64>,
}

impl<'a> Side<'a> {
    fn of(id: &'a str, evidence: Evidence<'a>) -> Option<Side<'a>> {
        let result = |id: &str| {
            let result = evidence.run?.passed_result(id)?;
            (!result.is_emulated()).then_some(result)
        };
        let measured = result(id);
        let profile = evidence.profiles.iter().find(|profile| profile.version == id);
        let baseline = baseline(id).and_then(result);
        let over_baseline =
            baseline.zip(measured).map(|(from, own)| from.times.median / own.times.median);
        (measured.is_some() || profile.is_some()).then_some(Side {
            id,
            measured,
            profile,
            over_baseline,
        })
    }

    /// Time of a calculation without a profiler, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        self.measured.map(|own| own.times.median).or(self.profile.and_then(|own| own.time_s))
    }

    /// Clock of the multiprocessors in the timed runs, in MHz.
    pub fn clock_mhz(&self) -> Option<f64> {
        Some(self.measured?.state.as_ref()?.sm_mhz?.median)
    }

    /// Cycles of the timed runs: time × clock.
    pub fn cycles(&self) -> Option<f64> {
        self.measured?.cycles
    }

    /// Power of the board in the timed runs, in watts.
    pub fn watts(&self) -> Option<f64> {
        self.measured?.state.as_ref()?.watts()
    }

    /// Registers of a thread.
    pub fn registers(&self) -> Option<u32> {
        self.measured.and_then(|own| own.registers).or(self.profile.and_then(|own| own.registers))
    }

    /// Cycles between two instructions of a warp: it issues in `selected` of them.
    pub fn cycles_an_instruction(&self) -> Option<f64> {
        let issuing = *self.profile?.stalls.get("selected")?;
        (issuing > 0.0).then(|| issuing.recip())
    }

    /// Instructions of all warps on a multiprocessor, by its cycles, warps and how often one issues.
    pub fn instructions(&self) -> Option<f64> {
        let own = self.profile?;
        Some(own.cycles? * own.warps_per_sm? / self.cycles_an_instruction()?)
    }
}

impl<'a> Step<'a> {
    /// Of a version against another, or by itself; `None` where the records lack one.
    pub fn of(
        version: &'a str,
        before: Option<&'a str>,
        evidence: Evidence<'a>,
    ) -> Option<Step<'a>> {
        let now = Side::of(version, evidence)?;
        let before = match before {
            Some(before) => Some(Side::of(before, evidence)?),
            None => None,
        };
        let (system, device) = match (evidence.run, evidence.profiles.first()) {
            (Some(run), _) => (run.system.name.as_str(), run.head.device.name.as_str()),
            (None, Some(profile)) => (profile.system.as_str(), profile.device.as_str()),
            (None, None) => return None,
        };
        let published = published(before.map(|side| side.id), version, system);
        let highest_mhz = evidence.run.and_then(bounds::highest_mhz);
        let ceilings = evidence.ceilings;
        Some(Step { before, now, ceilings, highest_mhz, published, system, device })
    }

    /// A quantity of both versions.
    pub fn both(&self, of: impl Fn(&Side<'a>) -> Option<f64>) -> Option<(f64, f64)> {
        of(self.before.as_ref()?).zip(of(&self.now))
    }

    /// What the power cap did to the clock of one of them.
    pub fn power(&self, side: &Side) -> Option<Power> {
        Power::of(side.measured?, self.highest_mhz?)
    }
}

/// What speed-ups of a version are over: the baseline of the journey that its own goes on from.
pub fn baseline(id: &str) -> Option<&'static str> {
    Some(order::story(id)?.baseline)
}

/// What was published of a step on such a system.
fn published(before: Option<&str>, version: &str, system: &str) -> Option<PublishedStep> {
    let journey = journey_of(version)?.id;
    let told =
        |id: &str| if journey == "paper" { paper(id, system) } else { other(journey, id, system) };
    let by = match journey {
        "paper" => "the paper, one V100".to_string(),
        other => format!("the {other}, one V100, system not named"),
    };
    Some(PublishedStep { by, now: told(version)?, before: before.and_then(told) })
}

/// What the paper's Table I says.
fn paper(id: &str, system: &str) -> Option<Told> {
    let rows = published::paper();
    let of = |id: &str| rows.iter().find(|row| row.version == id);
    let (row, first) = (of(id)?, of(baseline(id)?)?);
    let time_s = row.time_s(system)?;
    Some(Told {
        time_s: Some(time_s),
        tflops: row.tflops(system),
        over_baseline: first.time_s(system).map(|first| first / time_s),
        registers: Some(row.registers_per_thread),
        warps: Some(row.warps_per_sm),
        intensity: None,
    })
}

/// What the talk or the blog says.
fn other(journey: &str, id: &str, system: &str) -> Option<Told> {
    if system != BESIDE_SYSTEM {
        return None;
    }
    let rows = published::told(journey);
    let of = |id: &str| rows.iter().find(|row| row.version == id);
    let (row, first) = (of(id)?, of(baseline(id)?));
    let over = |first: &published::Told| Some(first.time_s? / row.time_s?);
    Some(Told {
        time_s: row.time_s,
        tflops: row.tflops,
        over_baseline: first.and_then(over),
        registers: None,
        warps: None,
        intensity: row.intensity,
    })
}
