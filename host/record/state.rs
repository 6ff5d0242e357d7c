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
