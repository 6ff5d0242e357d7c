//! Where commands read and write, and what their flags were called before.

use std::fs;

use crate::common;
use crate::{archived, gpp};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn what_is_read_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let archive = fs::canonicalize(archived("si214")).unwrap();
    let here = |command: &str, at: &std::path::Path| {
        let mut run = gpp();
        run.current_dir(at).args([command, "--from"]).arg(&archive).assert()
    };
    let before = fs::read_dir(&archive).unwrap().count();
    here("report", dir.path()).success().stdout(contains("report.html"));
    here("roofline", dir.path()).success();
    for file in ["report.html", "roofline.svg", "roofline.csv"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    // Whoever stands in an archive says where things go.
    for command in ["report", "roofline"] {
        here(command, &archive)
            .code(2)
            .stderr(contains("these runs are archived: --output names another place"));
    }
    assert_eq!(fs::read_dir(&archive).unwrap().count(), before);
}

/// As they were called before.
#[test]
fn old_names_of_flags_work() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archived("si214").to_str().unwrap().to_string();
    let run = archived("si214/run.json").to_str().unwrap().to_string();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let csv = common::repository("tests/data/ncu-2025.3-details.csv");
    let (csv, page, charts, stored) =
        (csv.to_str().unwrap(), at("page.html"), at("charts"), at("stored"));
    let counted = ["--version", "v0,v5", "--system", "tiny"];
    for arguments in [
        &["report", "--dir", &archive, "-o", &page][..],
        &["roofline", "--dir", &archive, "--output", &charts],
        &[&["profile", "--from", csv, "--dir", &stored][..], &counted].concat(),
        &["explain", "v4", "--from", &archive, "--format", "json"],
        &["list", "-j"],
    ] {
        gpp().args(arguments).assert().success();
    }
    let table = |arguments: &[&str]| {
        let output = gpp().args(["table", "--from", &run]).args(arguments).assert().success();
        output.get_output().stdout.clone()
    };
    assert_eq!(table(&["--format", "terminal"]), table(&[]));
    assert_eq!(table(&["--format", "csv"]), table(&["--csv", "-"]));
    assert_eq!(table(&["--format", "json"]), table(&["-j", "-"]));
    for hidden in ["--dir", "--format json"] {
        for command in ["report", "roofline", "profile", "table", "explain"] {
            gpp().args([command, "--help"]).assert().success().stdout(contains(hidden).not());
        }
    }
}

#[test]
fn folders_stand_for_the_run_in_them() {
    let folder = archived("si214").to_str().unwrap().to_string();
    gpp().args(["table", "--from", &folder]).assert().success().stdout(contains("si214/run.json"));
    gpp()
        .args(["sigma", "--from", &folder])
        .assert()
        .code(2)
        .stderr(contains("si214/run.json: holds v0, v1"));
}
