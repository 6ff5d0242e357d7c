//! Comparisons are rated and shown; older ones keep what they tell.

use std::fs;
use std::path::Path;

use gpp::record;
use gpp::record::comparison::{Comparison, Heat, Racer, Side};
use gpp::record::run::Run;
use gpp::record::system::Poles;
use gpp::record::times::Times;
use gpp::reference::verify::Outcome;
use serde_json::Value;

use crate::common::repository;

#[test]
fn a_comparison_is_read_as_it_was_written_and_rated_by_the_fastest_build_that_passed() {
    let run: Run = record::read(&repository("tests/data/older/schema-1/run.json")).unwrap();
    let racer = |side: Side, name: &str, seconds: f64, outcome: Outcome| Racer {
        side,
        name: name.into(),
        flags: (side == Side::Fortran).then(|| "-O3".into()),
        simd: (side == Side::Rust).then(|| "avx2".into()),
        threads: Some(2),
        kernel: None,
        kernel_hash: None,
        source_hash: None,
        times: Times::of(vec![seconds]),
        before_cap: None,
        state: None,
        held_back: None,
        fp64_pipe_percent: None,
        hbm_bytes: None,
        over_yardstick: None,
        over_before_cap: None,
        verdict: None,
        max_rel_error: (outcome == Outcome::Passed).then_some(1e-15),
        outcome,
    };
    let heat = Heat {
        system: "demo".into(),
        poles: Some(Poles::Real),
        terms: Some(1000),
        racers: vec![
            racer(Side::Fortran, "paper", 8.0, Outcome::Passed),
            racer(Side::Fortran, "talk", 4.0, Outcome::Passed),
            // The fastest is no yardstick where it is wrong.
            racer(Side::Fortran, "talk -ffast-math", 1.0, Outcome::Incorrect),
            racer(Side::Rust, "cpu:best", 0.5, Outcome::Passed),
        ],
        v3_error: None,
    };
    let (head, yardstick) = (run.head, "GNU Fortran".into());
    let found = Comparison { head, yardstick, repeat: Some(1), heats: vec![heat] };
    assert!(!found.passed());
    let rated = gpp::analysis::comparison::rated(&found);
    let ratios: Vec<_> = rated.racers().map(|(_, racer)| racer.over_yardstick).collect();
    assert_eq!(ratios, [Some(0.5), Some(1.0), Some(4.0), Some(8.0)]);
    let path = Path::new("race.json");
    let text = record::text(&rated);
    assert_eq!(record::parse::<Comparison>(&text, path).unwrap(), rated);
    assert!(record::text(&found).contains("\"over_yardstick\": null"));
    let other = record::parse::<Run>(&text, path).unwrap_err().to_string();
    assert!(other.contains("it holds a comparison"), "{other}");
    let mut shown = Vec::new();
    gpp::render::comparison::comparison(&mut shown, &rated).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("8.00×") && shown.contains("INCORRECT"), "{shown}");
    assert!(!shown.contains("CUDA"), "{shown}");
    let lines: Vec<String> = gpp::render::comparison::lines(&rated.heats[0]).collect();
    assert_eq!(lines, ["cpu:best Rust 500.0 ms, Fortran 4.000 s, 0.125"]);
}

/// Older forms tell what the present one has, but for what they never recorded.
#[test]
fn older_comparisons_keep_what_they_tell() {
    let read = |path: &str| -> (Value, std::path::PathBuf) {
        let path = repository(path);
        (serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap(), path)
    };
    let (told, path) = read("tests/data/older/schema-5/race-cpu.json");
    let found: Comparison = record::read(&path).unwrap();
    let rows = told["racers"].as_array().unwrap();
    assert_eq!(found.racers().count(), rows.len());
    let rated = gpp::analysis::comparison::rated(&found);
    for ((heat, racer), row) in rated.racers().zip(rows) {
        assert_eq!(
            (&row["system"], &row["name"]),
            (&heat.system.clone().into(), &racer.name.clone().into())
        );
        assert_eq!(row["over_fortran"].as_f64(), racer.over_yardstick);
        assert_eq!(row["ns_per_term"].as_f64(), heat.ns_per_term(racer));
        assert_eq!(row["time_s"], serde_json::to_value(&racer.times).unwrap());
        assert_eq!(row["flags"], serde_json::to_value(&racer.flags).unwrap());
    }
}

/// The text of an older comparison says what it said.
#[test]
fn an_older_comparison_is_shown_in_pairs() {
    let path = repository("data/runs/h200-2026-11-23/compare.json");
    let found = gpp::analysis::comparison::rated(&record::read(&path).unwrap());
    let mut shown = Vec::new();
    gpp::render::comparison::comparison(&mut shown, &found).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    for part in [
        "on gpu:0: NVIDIA H200, nvcc 13.0",
        "335.9 ┆     349.3 ┆     0.962 ┆      0.938 ┆        yes ┆  1890, 4.5 % lost",
        "si214: geometric mean of Rust over CUDA 0.960",
        "si214-complex: geometric mean of Rust over CUDA 0.951",
        "7.02× ┆      7.18× ┆        yes ┆    3.2e-15 ┆       2.8e-15 ┆      73 % ┆     0.76",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("Fortran"), "{shown}");
}
