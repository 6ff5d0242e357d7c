//! What a reader sees: widths, units, quiet.

use crate::common::fixture_path;
use crate::gpp;
use crate::outcomes::measured;
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn help_and_tables_fit_a_narrow_terminal() {
    for arguments in [&["--help"][..], &["table", "--help"], &["profile", "-h"]] {
        let output = gpp().args(arguments).env("COLUMNS", "80").assert().success();
        let help = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
    let records = [measured(&[1.0; 8]).1];
    for width in [80, 60, 40] {
        let table = gpp::render::results::results(&records, Some(width));
        assert!(table.contains("median"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
    let table = gpp::render::results::results(&records, Some(80));
    assert!(table.contains("not shown in this width: registers"), "{table}");
    let wide = gpp::render::results::results(&records, None);
    assert!(wide.contains("registers") && !wide.contains("not shown"), "{wide}");
}

#[test]
fn what_is_printed_can_be_read() {
    gpp()
        .args(["--version", "v0,v3", "--device", "cpu", "--input"])
        .arg(fixture_path("plain"))
        .assert()
        .success()
        .stdout(contains("reference: the sums stored in the input file"))
        .stdout(contains("v0, v3: the reference mini-app's criterion holds: it is absolute, 1e-12"))
        .stdout(contains("TFLOP/s by archived operation counts (hardware counters"))
        .stdout(contains("median [ms]"));
    let quiet = |arguments: &[&str]| {
        let output = gpp().args(arguments).arg("--quiet").assert().success();
        let output = output.get_output().clone();
        assert!(output.stderr.is_empty());
        String::from_utf8(output.stdout).unwrap()
    };
    let small = ["--device", "cpu", "--repeat", "1", "--warmup", "0"];
    let table = ["table", "--system", "tiny", "--version", "v8"];
    assert_eq!(quiet(&[&table[..], &small[..]].concat()), "");
    assert_eq!(quiet(&[&["--system", "tiny", "-v", "v8"][..], &small[..]].concat()), "");
    assert_eq!(quiet(&[&["tune", "--system", "tiny"][..], &small].concat()), "");
    let tune = gpp().args(["tune", "--system", "tiny"]).args(small).assert().success();
    tune.stdout(contains("passed").and(contains("Passed").not()));
}
