//! What bounds a version and why its time changed, by profiles made by hand and by the archive's.

use gpp::explain::{bound, uses};
use gpp::record::run::{Measurement, RunRecord};
use gpp::record::{self, Ceilings, Profile, Span};

use crate::archive;
use crate::charts::load;

fn made() -> (Profile, Ceilings) {
    let (profiles, mut ceilings) = load(&crate::common::repository("tests/data/records/si214"));
    let mut profile = profiles.into_iter().find(|profile| profile.version == "v8").unwrap();
    (profile.time_s, profile.duration_s) = (Some(2.0), 1.0);
    ceilings.fp64 = 40e12;
    (ceilings.hbm, ceilings.l2, ceilings.l1) = (4e12, 8e12, 30e12);
    ceilings.shared = Some(32e12);
    profile.bytes.hbm = 0.4e12;
    profile.bytes.l2 = Some(1.6e12);
    profile.bytes.l1 = Some(9e12);
    profile.bytes.shared = Some(12.8e12);
    profile.fp64_pipe_percent = Some(50.0);
    profile.pipes_percent =
        [("issue slots", 55.0), ("ALU", 25.0), ("MUFU", 35.0), ("load/store", 15.0)]
            .map(|(name, share)| (name.to_string(), share))
            .into();
    profile.stalls = [("selected", 0.2), ("not_selected", 0.4), ("wait", 0.1), ("barrier", 0.3)]
        .map(|(name, share)| (name.to_string(), share))
        .into();
    (profile, ceilings)
}

fn measured(reason: &str, share: f64) -> Measurement {
    let run: RunRecord = record::read(&archive("si214/run.json")).unwrap();
    let mut measured = run.results.into_iter().find(|result| result.version == "v8").unwrap();
    let state = measured.clock_and_power.as_mut().unwrap();
    state.clock_limited_by = [(reason.to_string(), share)].into();
    (state.sm_mhz, state.highest_mhz) = (Span::from_values(vec![1545.0]), Some(1980.0));
    (state.power_w, state.power_limit_w) = (Span::from_values(vec![704.0]), Some(700.0));
    measured
}

#[test]
fn all_limits_by_one_clock() {
    let (profile, ceilings) = made();
    let found = uses(&profile, &ceilings);
    let expected = [
        ("instruction issue", 0.55),
        ("the FP64 pipe", 0.5),
        ("shared memory’s bandwidth", 0.4),
        ("the MUFU pipe", 0.35),
        ("L1 bandwidth", 0.3),
        ("the ALU pipe", 0.25),
        ("L2 bandwidth", 0.2),
        ("the load/store pipe", 0.15),
        ("HBM bandwidth", 0.1),
    ];
    assert_eq!(found.len(), expected.len());
    for ((unit, busy), (expected, share)) in found.into_iter().zip(expected) {
        assert_eq!(unit, expected);
        // By the profiler's second, not by the two of the runs.
        assert!((busy - share).abs() <= 1e-12, "{unit}: {busy}");
    }
}

#[test]
fn the_busiest_unit_and_the_leading_stall() {
    let (mut profile, ceilings) = made();
    for (busy, first) in [
        (80.0, "Bound by the FP64 pipe, which is busy at 80 %."),
        (79.9, "The busiest unit is the FP64 pipe, at 80 %."),
        (60.0, "The busiest unit is the FP64 pipe, at 60 %."),
        (59.9, "Latency-bound: the busiest unit is the FP64 pipe, at 60 %."),
    ] {
        profile.fp64_pipe_percent = Some(busy);
        // Eligible warps wait for nothing.
        let waits = "Warps wait 30 % of the time for other warps of the block.";
        assert_eq!(bound(&profile, &ceilings, None), format!("{first} {waits}"));
    }
}

#[test]
fn the_power_limit_is_reported_by_the_clock_that_it_takes() {
    let (profile, ceilings) = made();
    let of = |measured: &Measurement| bound(&profile, &ceilings, Some(measured));
    for (reason, share) in [("SW_POWER_CAP", 1.0), ("hw_power_brake_slowdown", 0.1)] {
        let mut measured = measured(reason, share);
        let text = of(&measured);
        assert!(text.ends_with(" The 700 W power limit lowers the clock by 22 %."), "{text}");
        measured.clock_and_power.as_mut().unwrap().highest_mhz = Some(1550.0);
        assert!(!of(&measured).contains("power limit"));
    }
    assert!(!of(&measured("SW_THERMAL_SLOWDOWN", 1.0)).contains("power limit"));
}

/// Cycles and clock, the larger change first, and the factor behind the cycles, by the numbers of the archive.
#[test]
fn why_the_time_changed() {
    let measured = gpp::profile::Measured::in_folder(&archive("si214")).unwrap();
    for (id, before, why) in [
        ("v1", "v0", "58 % less time: 58 % fewer cycles, from 69 % fewer instructions."),
        ("v2", "v1", "Not significantly different from v1."),
        (
            "v4",
            "v3",
            "28 % less time: the clock rises (1620 → 1935 MHz); 14 % fewer cycles, from 14 % fewer instructions.",
        ),
        (
            "v5",
            "v4",
            "23 % more time: 17 % more cycles, as warps wait more for loads from L1, L2 or memory (3.8 → 6.7 cycles \
             an instruction); the 700 W power limit lowers the clock (1935 → 1838 MHz).",
        ),
        ("v9", "v8", "34 % less time: 34 % fewer cycles, from half as many instructions."),
    ] {
        assert_eq!(measured.card(id, Some(before)).unwrap().verdict[1], why);
    }
}
