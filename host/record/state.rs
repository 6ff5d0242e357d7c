//! The state of a GPU while it calculated: clocks, power, temperature, what held the clock back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was seen of a GPU during the timed runs of a version, by looking at it again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// How often it was looked at during these runs.
    pub looks: usize,
    /// Clock of the multiprocessors in MHz.
    pub sm_mhz: Option<Span>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<Span>,
    /// Power of the board in watts.
    pub power_w: Option<Span>,
    /// Its limit in watts.
    pub power_limit_w: Option<f64>,
    /// Temperature of the chip in °C.
    pub temperature_c: Option<Span>,
    /// What held the clock back, by its name in NVML, and the share of the looks at which it did; empty
    /// where nothing did.
    pub held_back: BTreeMap<String, f64>,
    /// Highest clock at which this version was seen to run, in MHz, before the runs that are timed as well; of
    /// older records the device's.
    pub highest_mhz: Option<f64>,
    /// Mean power in watts by the counter of energy; null of short runs, and in older records.
    pub mean_w: Option<f64>,
}

impl State {
    /// What the limit of power took of the clock, as a share of [`State::highest_mhz`]: `None` where either is not
    /// known, 0 where all that held it back was something else.
    pub fn clock_lost(&self) -> Option<f64> {
        let lost = 1.0 - self.sm_mhz?.median / self.highest_mhz?;
        // The clock falls some looks before NVML names the reason.
        let by_another = !self.held_back.is_empty() && !self.is_at_the_cap();
        Some(if by_another { 0.0 } else { lost.max(0.0) })
    }

    /// Power of the board in watts: the mean by the counter of energy or, of short runs, the median of the looks.
    pub fn watts(&self) -> Option<f64> {
        self.mean_w.or(self.power_w.map(|seen| seen.median))
    }

    /// Whether power held the clock back at any of the looks.
    pub fn is_at_the_cap(&self) -> bool {
        self.held_back.keys().any(|reason| reason.to_lowercase().contains("power"))
    }
}

/// What was seen of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Middle.
    pub median: f64,
    /// Lowest.
    pub min: f64,
    /// Highest.
    pub max: f64,
}

impl Span {
    /// Of all values; `None` of none.
    pub fn of(mut values: Vec<f64>) -> Option<Span> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Span { median: f64::midpoint(low, high), min, max })
    }
}
