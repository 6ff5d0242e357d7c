//! `gpp roofline --offdiag`: what it draws and what it refuses.

use std::fs;

use crate::{archived, common, gpp, text};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn the_chart_is_beside_the_others_or_refused_by_flag_and_file() {
    let dir = tempfile::tempdir().unwrap();
    let [matrices, charts] = ["matrices", "charts"].map(|name| dir.path().join(name));
    fs::create_dir(&matrices).unwrap();
    let drawn = |from: &str| {
        let mut command = gpp();
        command.args(["roofline", "--from", from, "--offdiag"]).arg(&matrices);
        command.arg("--output").arg(&charts).assert()
    };
    let from = text(archived("si214"));
    let refused = |from: &str, file: &str, why: &str| {
        let said =
            contains(format!("--offdiag {}{file}", text(matrices.clone()))).and(contains(why));
        drawn(from).code(2).stderr(said);
        assert!(!charts.exists(), "{why}");
    };
    refused(&from, "", "holds no *.json");
    fs::copy(archived("offdiag/si214-128.json"), matrices.join("run.json")).unwrap();
    refused(&from, "", "has no counters.csv");
    let counters = fs::read_to_string(archived("offdiag/counters.csv")).unwrap();
    let (duration, rate) = ("Duration,ns,7061088", "Memory Throughput,byte/s,1095751943043.34");
    for (row, other) in [
        (duration, "Duration,ns,0"),
        (duration, "Duration,ns,NaN"),
        (duration, "Duration,ms,9.2"),
        (rate, "Memory Throughput,byte/s,-1"),
        (rate, "Memory Throughput,byte/s,inf"),
    ] {
        assert_eq!(counters.matches(row).count(), 1);
        fs::write(matrices.join("counters.csv"), counters.replace(row, other)).unwrap();
        let (metric, rest) = row.split_once(',').unwrap();
        let unit = rest.split(',').next().unwrap();
        let why = format!("has no {metric} of ring in {unit} above 0");
        refused(&from, "/counters.csv", &why);
    }
    fs::write(matrices.join("counters.csv"), counters).unwrap();
    let of_processor = common::repository("data/runs/cpu-2026-11-25/offdiag/demo-32.json");
    fs::copy(of_processor, matrices.join("run.json")).unwrap();
    refused(&from, "", "is of ");
    fs::copy(archived("offdiag/si214-128.json"), matrices.join("run.json")).unwrap();

    drawn(&from).success();
    for file in ["roofline.svg", "roofline-offdiag.svg", "roofline-offdiag.png"] {
        assert!(charts.join(file).exists(), "{file}");
    }
    let csv = fs::read_to_string(charts.join("roofline-offdiag.csv")).unwrap();
    assert_eq!(csv.lines().count(), 13);
    assert!(csv.contains("\nring,HBM,counted,48.7") && csv.contains("\nring,HBM,executed,36.5"));
}
