//! Where commands read and write.

use std::fs;

use crate::{archived, gpp};
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
    assert_eq!(fs::read_dir(&archive).unwrap().count(), before);
}

#[test]
fn folders_stand_for_the_run_in_them() {
    let folder = archived("si214").to_str().unwrap().to_string();
    gpp().args(["table", "--from", &folder]).assert().success().stdout(contains("si214/run.json"));
}
