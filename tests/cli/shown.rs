//! What a reader sees: widths, units, quiet.

use predicates::prelude::*;
use predicates::str::contains;

use crate::common::fixture_path;
use crate::gpp;
use crate::outcomes::measured;

#[test]
fn help_fits_a_narrow_terminal() {
    for arguments in [&["--help"][..], &["table", "--help"], &["profile", "-h"]] {
        let output = gpp().args(arguments).env("COLUMNS", "80").assert().success();
        let help = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}

#[test]
fn a_lone_version_is_compared_with_nothing() {
    let records = [measured(&[1.0; 8]).1];
    let table = ::gpp::run::results(&records, None);
    assert!(!table.contains("over") && !table.contains('×'), "{table}");
}

#[test]
fn what_is_printed_can_be_read() {
    gpp()
        .args(["--version", "v0,v3", "--device", "cpu", "--input"])
        .arg(fixture_path("plain"))
        .assert()
        .success()
        .stdout(contains("All 2 results agree with the sums stored in the input file"))
        .stdout(contains("holds for v0, v3.").and(contains("time [")))
        .stdout(contains("energies ").and(contains(" eV from the state's")));
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
    let run = ["--system", "tiny", "-v", "v8"];
    let run = gpp().args(run).args(small).assert().success();
    run.stdout(contains("The result agrees").and(contains("Fastest").not()));
}
