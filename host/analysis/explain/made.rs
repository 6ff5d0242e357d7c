//! Made records, for the tests of the verdict.

use serde_json::json;

use super::step::{Side, Step};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Measurement;
use crate::record::state::{Span, State};
use crate::record::times::Times;

/// Records of one version.
pub struct Made {
    pub profile: Option<Profile>,
    pub measured: Option<Measurement>,
}

/// 100 ms, 150 · 10⁶ cycles at 1500 MHz; HBM is used to 50 %, the FP64 pipe to 70 %.
pub fn made(change: impl FnOnce(&mut Profile, &mut Measurement)) -> Made {
    let profile = json!({
        "schema": 4, "version": "v1", "system": "si214", "terms": 1_000_000, "device": "H200",
        "source": "made", "time_s": 0.1, "duration_s": 0.1,
        "dadd": 1e11, "dmul": 1e11, "dfma": 2e11, "cycles": 150e6,
        "bytes": { "hbm": 2e11, "l2": 2e11, "l1": 3e11 },
        "fp64_pipe_percent": 70.0, "pipes_percent": { "issue slots": 30.0 },
        "registers": 64, "warps_per_sm": 20.0,
        "stalls": { "selected": 0.1, "not_selected": 0.1, "long_scoreboard": 0.5, "wait": 0.3 },
        "lines": [], "launches": [],
    });
    let measured = json!({
        "version": "v1", "device": "gpu:0", "time_s": { "median": 0.1, "min": 0.099, "max": 0.101,
        "samples": [0.1, 0.099, 0.101] }, "flops_source": "made", "cycles": 150e6, "energy_j": 60.0,
        "registers": 64, "local_bytes": 0, "warps_per_sm": 24,
        "asx": [], "ach": [], "deterministic": true,
        "verification": { "outcome": "passed", "tolerance": 1e-10, "reference": "golden" },
    });
    let mut profile = serde_json::from_value(profile).expect("a profile");
    let mut measured: Measurement = serde_json::from_value(measured).expect("a measurement");
    measured.state = Some(state(1500.0, 600.0));
    change(&mut profile, &mut measured);
    Made { profile: Some(profile), measured: Some(measured) }
}

/// A clock in MHz and a power in watts.
pub fn state(mhz: f64, watts: f64) -> State {
    State {
        looks: 9,
        sm_mhz: Span::of(vec![mhz]),
        memory_mhz: None,
        power_w: Span::of(vec![watts]),
        power_limit_w: Some(700.0),
        temperature_c: None,
        held_back: Default::default(),
        highest_mhz: None,
        mean_w: None,
    }
}

/// Times within a hundredth of a median.
pub fn times(median: f64) -> Times {
    Times::of([1.0, 0.99, 1.01, 0.995, 1.005].map(|part| part * median).to_vec())
}

/// Ceilings: 4 TB/s from HBM, 8 from L2, 30 from L1.
pub fn ceilings() -> Ceilings {
    let none = json!({ "fp64": null, "hbm": null, "l1": null, "shared": null });
    let ceilings = json!({
        "device": "H200", "fp64": 60e12, "hbm": 4e12, "l2": 8e12, "l1": 30e12, "theoretical": none,
    });
    serde_json::from_value(ceilings).expect("ceilings")
}

/// What is said of a step from `before` to `now`.
pub fn said(rule: fn(&Step) -> Option<String>, before: &Made, now: &Made) -> Option<String> {
    let ceilings = ceilings();
    rule(&step(before, now, &ceilings))
}

/// The step from one version to another.
pub fn step<'a>(before: &'a Made, now: &'a Made, ceilings: &'a Ceilings) -> Step<'a> {
    let side = |id, made: &'a Made| Side {
        id,
        measured: made.measured.as_ref(),
        profile: made.profile.as_ref(),
        over_baseline: None,
    };
    Step {
        before: Some(side("v0", before)),
        now: side("v1", now),
        ceilings: Some(ceilings),
        highest_mhz: Some(1980.0),
        published: None,
        system: "si214",
        device: "H200",
    }
}
