//! Which values the numbers of a record may have.
//!
//! What is shown divides by times and ceilings, multiplies them, and draws them on scales of powers of ten.
//! Numbers that no measurement gives are refused where a record is read, by the name of their field.

use serde_json::Value;

/// From the least to the most, ends included; zero beside them where it is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limits {
    least: f64,
    most: f64,
    zero: bool,
}

const fn above_zero(least: f64, most: f64) -> Limits {
    Limits { least, most, zero: false }
}

const fn from_zero(most: f64) -> Limits {
    Limits { least: 0.0, most, zero: true }
}

/// Seconds that something is divided by.
const TIMES: Limits = above_zero(1e-12, 1e12);

/// The same that may be none.
const DURATIONS: Limits = from_zero(1e12);

/// Operations, bytes and cycles.
const COUNTS: Limits = from_zero(1e27);

/// Operations and bytes a second.
const RATES: Limits = above_zero(1.0, 1e24);

/// Clocks, watts and joules.
const READINGS: Limits = from_zero(1e12);

/// Percent, and shares.
const PERCENT: Limits = from_zero(1e4);

/// Sums, and errors of them.
const ANY: Limits = Limits { least: -f64::MAX, most: f64::MAX, zero: true };

/// All others: extents, numbers of something, energies in eV.
const OTHERS: Limits = Limits { least: -1e30, most: 1e30, zero: true };

/// The limits of a field and of all that is in it, unless a field around it has others.
const FIELDS: [(Limits, &[&str]); 8] = [
    (TIMES, &["time_s", "duration_s"]),
    (
        DURATIONS,
        &[
            "sigma_s",
            "interval_s",
            "startup_s",
            "settle_s",
            "seconds",
            "first_s",
            "busy_s",
            "kernels_s",
            "uploads_s",
            "source_s",
        ],
    ),
    (COUNTS, &["dadd", "dmul", "dfma", "flops", "bytes", "l2_bytes", "cycles", "uploaded"]),
    (above_zero(1.0, 1e27), &["terms"]),
    (RATES, &["fp64", "fp64_sustained", "hbm", "l2", "l1", "theoretical", "bandwidth"]),
    (
        READINGS,
        &["sm_mhz", "memory_mhz", "power_w", "power_limit_w", "energy_j", "tflops", "warps_per_sm"],
    ),
    (
        PERCENT,
        &[
            "l1_hit_percent",
            "l2_hit_percent",
            "fp64_pipe_percent",
            "pipes_percent",
            "stalls",
            "held_back",
        ],
    ),
    (ANY, &["asx", "ach", "max_rel_error", "undecided", "matrices", "map", "static_ch"]),
];

/// A number that its field cannot have.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The field, as `results[3].time_s.median`.
    pub field: String,
    /// What it needs.
    pub needed: String,
    /// What it has.
    pub found: f64,
}

/// The first number of a record, if there is one, that its field cannot have.
pub fn wrong(record: &Value) -> Option<Wrong> {
    within(record, "", None)
}

fn within(value: &Value, field: &str, limits: Option<Limits>) -> Option<Wrong> {
    match value {
        Value::Number(number) => {
            let Limits { least, most, zero } = limits.unwrap_or(OTHERS);
            let found = number.as_f64().unwrap_or(f64::INFINITY);
            let fits = (least..=most).contains(&found) && (zero || found != 0.0);
            let needed = format!("a number from {least:e} to {most:e}");
            (!fits).then(|| Wrong { field: field.into(), needed, found })
        }
        Value::Array(all) => all
            .iter()
            .enumerate()
            .find_map(|(at, value)| within(value, &format!("{field}[{at}]"), limits)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let of_name = || {
                let known = FIELDS.iter().find(|(_, names)| names.contains(&name.as_str()));
                known.map(|(limits, _)| *limits)
            };
            let place = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            within(value, &place, limits.or_else(of_name))
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_wrong_number_is_named() {
        let of = |record: Value| wrong(&record).map(|wrong| (wrong.field, wrong.found));
        let run = |median: f64, asx: f64| {
            let times = json!({"median": median, "samples": [1.0, median]});
            json!({"results": [{"time_s": times, "asx": [[asx, 0.0]], "flops": null}]})
        };
        assert_eq!(of(run(0.5, -1e300)), None);
        assert_eq!(of(run(0.0, 1.0)), Some(("results[0].time_s.median".into(), 0.0)));
        assert_eq!(of(run(1e308, 1.0)), Some(("results[0].time_s.median".into(), 1e308)));
        assert_eq!(of(json!({"fp64": -1.0})), Some(("fp64".into(), -1.0)));
        // Bytes at a level may be none, the ceiling may not.
        assert_eq!(of(json!({"bytes": {"l1": 0.0}})), None);
        assert_eq!(of(json!({"l1": 0.0})), Some(("l1".into(), 0.0)));
        assert_eq!(of(json!({"nbands": 1e200})), Some(("nbands".into(), 1e200)));
        let text = wrong(&json!({"l1": 0.0})).unwrap().needed;
        assert_eq!(text, "a number from 1e0 to 1e24");
    }
}
