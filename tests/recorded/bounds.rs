//! What bounds a version, by profiles made by hand and by the archive's.

use std::collections::BTreeMap;

use gpp::explain::verdict::{Band, Power, bound_verdict, uses};
use gpp::profile;
use gpp::record;
use gpp::record::profile::{Ceilings, Profile};
use gpp::record::run::{Measurement, Run, Span, State};
use gpp::roofline::of_own_ceiling;

use crate::common::repository;

fn archived() -> (Vec<Profile>, Ceilings, Run) {
    let folder = repository("tests/data/records/si214");
    let ceilings = record::read(&folder.join("ceilings.json")).unwrap();
    let run = record::read(&folder.join("run.json")).unwrap();
    (profile::load(&folder).unwrap(), ceilings, run)
}

/// A profile of which all limits are known: one second, no limit near.
fn made() -> (Profile, Ceilings) {
    let (profiles, mut ceilings, _) = archived();
    let mut profile = profiles.into_iter().find(|profile| profile.version == "v8").unwrap();
    (profile.time_s, profile.duration_s) = (Some(2.0), 1.0);
    (ceilings.fp64, ceilings.fp64_sustained) = (40e12, Some(30e12));
    (ceilings.hbm, ceilings.l2, ceilings.l1) = (4e12, 8e12, 30e12);
    ceilings.theoretical.shared = Some(32e12);
    profile.bytes.hbm = 0.4e12;
    profile.bytes.l2 = Some(1.6e12);
    profile.bytes.l2_fabric = Some(0.8e12);
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

fn measured(held_back: &[(&str, f64)]) -> Measurement {
    let (_, _, run) = archived();
    let mut measured = run.results.into_iter().find(|result| result.version == "v8").unwrap();
    let held_back: BTreeMap<String, f64> =
        held_back.iter().map(|(reason, share)| (reason.to_string(), *share)).collect();
    measured.state = Some(State {
        looks: 20,
        sm_mhz: Span::of(vec![1545.0]),
        memory_mhz: None,
        power_w: Span::of(vec![704.0]),
        power_limit_w: Some(700.0),
        temperature_c: None,
        held_back,
        highest_mhz: Some(1980.0),
        mean_w: None,
    });
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
    for (found, (limit, share)) in found.iter().zip(expected) {
        assert_eq!(found.limit, limit);
        // By the profiler's second, not by the two of the runs.
        assert!((found.share - share).abs() <= 1e-12, "{limit}: {}", found.share);
    }
}

#[test]
fn bands_and_the_stall_that_leads() {
    let (mut profile, ceilings) = made();
    for (busy, band, said) in [
        (80.0, Band::Bound, "Bound by the FP64 pipe, which is busy at 80 %."),
        (79.9, Band::Near, "The busiest unit is the FP64 pipe, at 80 %."),
        (60.0, Band::Near, "The busiest unit is the FP64 pipe, at 60 %."),
        (59.9, Band::Latency, "Latency-bound: the busiest unit is the FP64 pipe, at 60 %."),
    ] {
        profile.fp64_pipe_percent = Some(busy);
        let found = bound_verdict(&profile, &ceilings, None);
        assert_eq!((found.band, found.most.unwrap().limit), (band, "the FP64 pipe"), "{busy}");
        // Eligible warps wait for nothing.
        assert_eq!(found.stall, Some(("barrier".into(), 0.3)));
        assert_eq!(found.power, None);
        let waits = " Warps wait 30 % of the time for other warps of the block.";
        assert_eq!(found.to_string(), format!("{said}{waits}"));
    }
    assert_eq!(Band::of(f64::NAN), Band::Latency);
}

/// By the clock that it cost, not by how often it was seen.
#[test]
fn power_is_told_by_the_clock_that_it_cost() {
    let (profile, ceilings) = made();
    for held_back in [&[("SW_POWER_CAP", 1.0)][..], &[("hw_power_brake_slowdown", 0.1)]] {
        let mut measured = measured(held_back);
        let power = Power::of(measured.state.as_ref().unwrap()).unwrap();
        assert!((power.lost - (1.0 - 1545.0 / 1980.0)).abs() < 1e-12);
        let found = bound_verdict(&profile, &ceilings, Some(&measured));
        // It leaves the rank of the units alone.
        assert_eq!(found.most.unwrap().limit, "instruction issue");
        let text = found.to_string();
        assert!(text.ends_with(" The 700 W power limit lowers the clock by 22 %."), "{text}");
        // A clock that is hardly lower is not told.
        measured.state.as_mut().unwrap().highest_mhz = Some(1550.0);
        let near = bound_verdict(&profile, &ceilings, Some(&measured));
        assert_eq!(near.power, None);
    }
    for held_back in [&[("SW_THERMAL_SLOWDOWN", 1.0)][..], &[("SW_POWER_CAP", 0.0)], &[]] {
        assert_eq!(Power::of(&measured(held_back).state.unwrap()), None);
    }
}

#[test]
fn shares_of_their_own_ceilings() {
    let (mut profile, ceilings) = made();
    (profile.dadd, profile.dmul, profile.dfma) = (0.0, 20e12, 20e12);
    // 60 · 10¹² operations in two seconds; half of them fused allow three quarters of 40 and of 30.
    let own = of_own_ceiling(&profile, &ceilings);
    assert!((own.burst - 1.0).abs() <= 1e-12, "{own:?}");
    assert!((own.sustained.unwrap() - 4.0 / 3.0).abs() <= 1e-12, "{own:?}");
    // v8 on an H200, where the paper's V100 reaches 70 %.
    let (archived, ceilings, _) = archived();
    let v8 = archived.iter().find(|profile| profile.version == "v8").unwrap();
    let own = of_own_ceiling(v8, &ceilings);
    assert!((0.5..0.65).contains(&own.burst), "{own:?}");
    assert_eq!(own.sustained, None);
}
