//! What a reader sees: widths, units, quiet.

use std::collections::HashSet;

use gpp::explain::show::Parts;
use gpp::explain::{Evidence, card};
use gpp::profile::Records;
use predicates::prelude::*;
use predicates::str::contains;

use crate::common::{self, fixture_path};
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

/// What of a text has a digit in it.
fn numbers(text: &str) -> HashSet<&str> {
    let words = text.split([' ', '│', '┆', '\n']);
    words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).collect()
}

#[test]
fn narrow_tables_break_no_number() {
    let list = |width: Option<u16>| {
        let mut text = Vec::new();
        ::gpp::list::list_text(&mut text, width).unwrap();
        String::from_utf8(text).unwrap()
    };
    let folder = "data/runs/h200-2026-11-23/si214";
    let folder = Records::load(&common::repository(folder)).unwrap();
    let run = folder.run().unwrap();
    let evidence = Evidence {
        from: "here",
        run: Some(&run),
        profiles: &folder.profiles,
        ceilings: Some(&folder.ceilings),
    };
    let card = [card("v4", Some("v3"), evidence).unwrap()];
    let explain = |width: Option<u16>| {
        let mut text = Vec::new();
        ::gpp::explain::show::text(&mut text, &card, Parts::Explained, width).unwrap();
        String::from_utf8(text).unwrap()
    };
    let results = |width: Option<u16>| ::gpp::run::results(&run.results, width);
    for (name, text) in [
        ("list", &list as &dyn Fn(Option<u16>) -> String),
        ("explain", &explain),
        ("results", &results),
    ] {
        let wide = text(None);
        for width in [40, 60, 80] {
            let narrow = text(Some(width));
            let cells: Vec<&str> = narrow.lines().filter(|line| line.starts_with('│')).collect();
            let cells = cells.join("\n");
            let broken: Vec<_> = numbers(&cells).difference(&numbers(&wide)).copied().collect();
            assert!(broken.is_empty(), "{name} {width}: {broken:?}\n{narrow}");
        }
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
        .stdout(contains("reference: the sums stored in the input file"))
        .stdout(contains("v0, v3: the reference mini-app's criterion holds: it is absolute, 1e-12"))
        .stdout(contains("TFLOP/s by archived operation counts (hardware counters"))
        .stdout(contains("energies ").and(contains(" eV from the state's")))
        .stdout(contains("median ["));
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
    run.stdout(contains("passed").and(contains("Passed").not()));
}
