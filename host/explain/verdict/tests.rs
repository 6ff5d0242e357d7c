use super::*;
use serde_json::json;

use crate::explain::{PublishedStep, Side, Step, Told};
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Measurement, Span, State, Times};

struct Made {
    profile: Option<Profile>,
    measured: Option<Measurement>,
}

/// 100 ms, 150 · 10⁶ cycles at 1500 MHz; HBM is used to 50 %, the FP64 pipe to 70 %.
fn made(change: impl FnOnce(&mut Profile, &mut Measurement)) -> Made {
    let profile = json!({
        "schema": 6, "version": "v1", "system": "si214", "terms": 1_000_000, "device": "H200",
        "source": "made", "time_s": 0.1, "duration_s": 0.1,
        "dadd": 1e11, "dmul": 1e11, "dfma": 2e11, "cycles": 150e6,
        "bytes": { "hbm": 2e11, "l2": 2e11, "l1": 3e11 },
        "fp64_pipe_percent": 70.0, "pipes_percent": { "issue slots": 30.0 },
        "registers": 64, "warps_per_sm": 20.0,
        "stalls": { "selected": 0.1, "not_selected": 0.1, "long_scoreboard": 0.5, "wait": 0.3 },
        "launches": [],
    });
    let measured = json!({
        "version": "v1", "device": "gpu:0", "emulated": false, "time_s": { "median": 0.1, "min": 0.099, "max": 0.101,
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
fn state(mhz: f64, watts: f64) -> State {
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

fn times(median: f64) -> Times {
    Times::of([1.0, 0.99, 1.01, 0.995, 1.005].map(|part| part * median).to_vec())
}

/// Ceilings: 4 TB/s from HBM, 8 from L2, 30 from L1.
fn ceilings() -> Ceilings {
    let none = json!({ "fp64": null, "hbm": null, "l1": null, "shared": null });
    let ceilings = json!({
        "schema": 6, "device": "H200", "fp64": 60e12, "hbm": 4e12, "l2": 8e12, "l1": 30e12, "theoretical": none,
    });
    serde_json::from_value(ceilings).expect("ceilings")
}

/// What is said of a step from `before` to `now`.
fn said(rule: fn(&Step) -> Option<String>, before: &Made, now: &Made) -> Option<String> {
    let ceilings = ceilings();
    rule(&step(before, now, &ceilings))
}

fn step<'a>(before: &'a Made, now: &'a Made, ceilings: &'a Ceilings) -> Step<'a> {
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

/// A version with this time in milliseconds and this clock in MHz.
fn at(ms: f64, mhz: f64) -> Made {
    made(|_, measured| {
        measured.times = times(ms * 1e-3);
        measured.cycles = Some(ms * 1e-3 * mhz * 1e6);
        measured.state = Some(state(mhz, 600.0));
    })
}

#[test]
fn cycles_and_clock_share_the_change() {
    let before = at(100.0, 1500.0);
    let says = |ms, mhz| said(why, &before, &at(ms, mhz)).unwrap();
    assert_eq!(says(80.0, 1500.0), "20 % less time: 20 % fewer cycles.");
    assert_eq!(says(80.0, 1875.0), "20 % less time: the clock rises (1500 → 1875 MHz).");
    assert_eq!(
        says(80.0, 1600.0),
        "20 % less time: 15 % fewer cycles; the clock rises (1500 → 1600 MHz)."
    );
    assert_eq!(
        says(90.0, 1200.0),
        "10 % less time: 28 % fewer cycles; the clock falls (1500 → 1200 MHz)."
    );
    assert_eq!(
        says(110.0, 1200.0),
        "10 % more time: the clock falls (1500 → 1200 MHz); 12 % fewer cycles."
    );
    assert_eq!(says(250.0, 1500.0), "2.5 times the time: 2.5 times the cycles.");
    assert_eq!(says(101.0, 1500.0), "As fast as v0, to within noise.");
    assert_eq!(
        says(100.5, 1600.0),
        "As fast as v0, to within noise: 7 % more cycles cancel a higher clock."
    );
    let unknown = made(|_, measured| {
        measured.times = times(0.08);
        (measured.cycles, measured.state) = (None, None);
    });
    assert_eq!(said(why, &before, &unknown).unwrap(), "20 % less time.");
    let broken = made(|_, measured| measured.times.median = f64::NAN);
    assert_eq!(said(why, &before, &broken), None);
}

#[test]
fn a_cap_is_named() {
    let mut capped = at(100.0, 1200.0);
    let state = capped.measured.as_mut().unwrap().state.as_mut().unwrap();
    state.held_back.insert("power cap".into(), 1.0);
    let says = said(why, &at(90.0, 1500.0), &capped).unwrap();
    assert!(
        says.starts_with("11 % more time: the 700 W cap lowers the clock (1500 → 1200 MHz)"),
        "{says}"
    );
}

#[test]
fn at_the_cap_the_bytes_are_named() {
    let mut before = at(100.0, 1500.0);
    let state = before.measured.as_mut().unwrap().state.as_mut().unwrap();
    state.held_back.insert("power cap".into(), 1.0);
    let mut now = at(80.0, 1875.0);
    now.profile.as_mut().unwrap().bytes.hbm = 6e10;
    let less = "20 % less time: the clock rises (1500 → 1875 MHz) with 70 % fewer bytes from HBM.";
    assert_eq!(said(why, &before, &now).unwrap(), less);
    // More of them would not have raised it, and without a cap they do not matter to the clock.
    now.profile.as_mut().unwrap().bytes.hbm = 6e11;
    assert!(!said(why, &before, &now).unwrap().contains("HBM"));
    now.profile.as_mut().unwrap().bytes.hbm = 6e10;
    assert!(!said(why, &at(100.0, 1500.0), &now).unwrap().contains("HBM"));
}

#[test]
fn the_evidence_that_weighs_most_is_named() {
    let before = at(100.0, 1500.0);
    let now = |change: &dyn Fn(&mut crate::record::profile::Profile)| {
        let mut now = at(80.0, 1500.0);
        change(now.profile.as_mut().unwrap());
        said(why, &before, &now).unwrap()
    };
    // Instructions by a fifth: 150·0.8 cycles of as many warps that wait as long.
    let fewer = now(&|profile| profile.cycles = Some(120e6));
    assert_eq!(fewer, "20 % less time: 20 % fewer cycles, from 20 % fewer instructions.");
    let shorter = now(&|profile| {
        profile.cycles = Some(75e6);
        profile.stalls.insert("selected".into(), 0.2);
        profile.stalls.insert("long_scoreboard".into(), 0.2);
    });
    assert_eq!(
        shorter,
        "20 % less time: 20 % fewer cycles, as warps wait less for loads from L1, L2 or memory \
         (5.0 → 1.0 cycles an instruction)."
    );
    let warps = now(&|profile| {
        profile.cycles = Some(100e6);
        profile.warps_per_sm = Some(30.0);
    });
    assert!(warps.ends_with("cycles, with more warps active (20 → 30)."), "{warps}");
    // What went the other way is no cause.
    let more = now(&|profile| profile.cycles = Some(200e6));
    assert_eq!(more, "20 % less time: 20 % fewer cycles.");
    // On a processor nothing counts instructions.
    let operations = now(&|profile| {
        profile.stalls.clear();
        (profile.cycles, profile.warps_per_sm) = (None, None);
        (profile.dadd, profile.dmul, profile.dfma) = (1e11, 1e11, 1e11);
    });
    assert!(operations.ends_with("from 33 % fewer operations."), "{operations}");
}

#[test]
fn what_bounds_is_of_the_version_alone() {
    let (full, near) = (made(|profile, _| profile.fp64_pipe_percent = Some(95.0)), made(|_, _| {}));
    let waits = " Warps spend 50 % of their time waiting for loads from L1, L2 or memory.";
    let says = |before, now| said(bound, before, now).unwrap();
    assert_eq!(says(&full, &near), format!("The FP64 pipe is busiest, at 70 %.{waits}"));
    assert_eq!(says(&near, &full), format!("The FP64 pipe is full, at 95 %.{waits}"));
    let none = Made { profile: None, measured: None };
    assert_eq!(said(bound, &full, &none), None);
    assert_eq!(said(why, &full, &none), None);
}

#[test]
fn steps_may_go_the_other_way_than_published() {
    let told = |time_s| Told { time_s: Some(time_s), ..Told::default() };
    let says = |here: f64, there: f64| {
        let (before, now) = (made(|_, _| {}), made(|_, own| own.times = times(here)));
        let ceilings = ceilings();
        let mut step = step(&before, &now, &ceilings);
        let by = "the paper, one V100".into();
        step.published = Some(PublishedStep { by, before: Some(told(1.0)), now: told(there) });
        published(&step).unwrap()
    };
    assert_eq!(says(0.08, 0.9), "The paper, one V100: 10 % less time, as here.");
    assert_eq!(says(0.12, 0.9), "The paper, one V100: 10 % less time; here it goes the other way.");
    assert_eq!(says(0.1, 0.9), "The paper, one V100: 10 % less time.");
    assert_eq!(says(0.08, 0.99), "The paper, one V100: 1 % less time.");
    let (before, now) = (made(|_, _| {}), made(|_, _| {}));
    assert_eq!(said(published, &before, &now), None);
}
