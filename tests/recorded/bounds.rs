//! What bounds a version, by profiles made by hand and by the archive's.

use gpp::devices::gpu::Peaks;
use gpp::explain::verdict::{bound, uses};
use gpp::record::run::{Measurement, Run};
use gpp::record::{self, Ceilings, Profile, Span};
use gpp::roofline::{of_own_ceiling, theoretical};

use crate::archive;
use crate::charts::load;
use crate::common::repository;

fn archived() -> (Vec<Profile>, Ceilings) {
    load(&repository("tests/data/records/si214"))
}

fn made() -> (Profile, Ceilings) {
    let (profiles, mut ceilings) = archived();
    let mut profile = profiles.into_iter().find(|profile| profile.version == "v8").unwrap();
    (profile.time_s, profile.duration_s) = (Some(2.0), 1.0);
    (ceilings.fp64, ceilings.fp64_sustained) = (40e12, Some(30e12));
    (ceilings.hbm, ceilings.l2, ceilings.l1) = (4e12, 8e12, 30e12);
    ceilings.theoretical.shared = Some(32e12);
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
    let run: Run = record::read(&archive("si214/run.json")).unwrap();
    let mut measured = run.results.into_iter().find(|result| result.version == "v8").unwrap();
    let state = measured.state.as_mut().unwrap();
    state.held_back = [(reason.to_string(), share)].into();
    (state.sm_mhz, state.highest_mhz) = (Span::of(vec![1545.0]), Some(1980.0));
    (state.power_w, state.power_limit_w) = (Span::of(vec![704.0]), Some(700.0));
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
        measured.state.as_mut().unwrap().highest_mhz = Some(1550.0);
        assert!(!of(&measured).contains("power limit"));
    }
    assert!(!of(&measured("SW_THERMAL_SLOWDOWN", 1.0)).contains("power limit"));
}

#[test]
fn shares_of_their_own_ceilings() {
    let (mut profile, ceilings) = made();
    (profile.dadd, profile.dmul, profile.dfma) = (0.0, 20e12, 20e12);
    // 60 · 10¹² operations in two seconds; half of them fused allow three quarters of 40.
    let own = of_own_ceiling(&profile, &ceilings);
    assert!((own - 1.0).abs() <= 1e-12, "{own}");
    // v8 on an H200, where the paper's V100 reaches 70 %.
    let (archived, ceilings) = archived();
    let v8 = archived.iter().find(|profile| profile.version == "v8").unwrap();
    let own = of_own_ceiling(v8, &ceilings);
    assert!((0.5..0.65).contains(&own), "{own}");
}

#[test]
fn an_h200_by_its_clocks_and_widths() {
    let limits = Peaks {
        fp64: 0.0,
        fp64_sustained: 0.0,
        hbm: 0.0,
        l2: 0.0,
        l1: 0.0,
        capability: (9, 0),
        multiprocessors: 132,
        hertz: 1.98e9,
        memory_hertz: 3.201e9,
        bus_bits: 6016.0,
    };
    let found = theoretical(&limits);
    let near = |value: Option<f64>, archived: f64| (value.unwrap() / archived - 1.0).abs() <= 1e-6;
    assert!(near(found.fp64, 33_454_080_000_000.0) && near(found.hbm, 4_814_304_000_000.0));
    assert!(near(found.shared, 33_454_080_000_000.0), "{found:?}");
}
