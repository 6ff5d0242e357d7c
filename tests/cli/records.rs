//! Commands that read records: which they refuse, and what they say of the rest.

use std::fs;

use crate::common::place;
use crate::{archived, gpp};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn records_of_two_systems_are_not_mixed() {
    let dir = tempfile::tempdir().unwrap();
    for (system, version) in [("si214", "v0"), ("si214-complex", "v8")] {
        let file = format!("profile-{version}.json");
        fs::copy(archived(system).join(&file), dir.path().join(&file)).unwrap();
    }
    fs::copy(archived("si214").join("ceilings.json"), dir.path().join("ceilings.json")).unwrap();
    let refused = |command: &str, part: &'static str| {
        gpp().args([command, "--from"]).arg(dir.path()).assert().code(2).stderr(contains(part));
    };
    refused("report", "holds profiles of si214 and si214-complex");
    refused("roofline", "holds profiles of si214 and si214-complex");
    fs::remove_file(dir.path().join("profile-v8.json")).unwrap();
    fs::copy(archived("si214-complex").join("run.json"), dir.path().join("run.json")).unwrap();
    refused("report", "run.json: is a run of si214-complex, but its folder has profiles of si214");
}

#[test]
fn what_a_table_leaves_out_is_said() {
    let (_dir, path) = place("run.json");
    let run = fs::read_to_string(archived("si214/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    let table = |run: &Value| {
        fs::write(&path, run.to_string()).unwrap();
        gpp().args(["table", "--from"]).arg(&path).assert()
    };
    let mut empty = run.clone();
    empty["results"] = Value::Array(Vec::new());
    table(&empty).code(2).stderr(contains("has no verified result"));
    let mut unverified = run.clone();
    unverified["results"][4]["verification"]["outcome"] = "not_verified".into();
    unverified["complete"] = false.into();
    let said = contains("left out: v4: not verified").and(contains("the run was interrupted"));
    table(&unverified).success().stdout(said).stderr("");
    let results = unverified["results"].as_array_mut().unwrap();
    results.iter_mut().for_each(|r| r["verification"]["outcome"] = "incorrect".into());
    let refused = table(&unverified).code(2).stdout("");
    refused.stderr(contains("run.json: has no verified result: v0: INCORRECT, "));
}

#[test]
fn records_without_ceilings_say_where_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |part: &'static str| {
        for command in ["report", "roofline"] {
            let run = gpp().args([command, "--from"]).arg(dir.path()).assert().code(2);
            run.stderr(contains(part).and(contains("`gpp profile` m")));
        }
    };
    refused("holds no profile-*.json");
    let name = "profile-v0.json";
    fs::copy(archived("si214").join(name), dir.path().join(name)).unwrap();
    refused("ceilings.json: cannot read");
}

#[test]
fn what_is_read_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let archive = fs::canonicalize(archived("si214")).unwrap();
    let before = fs::read_dir(&archive).unwrap().count();
    for command in ["report", "roofline"] {
        let mut run = gpp();
        run.current_dir(dir.path()).args([command, "--from"]).arg(&archive).assert().success();
    }
    for file in ["report.html", "roofline.svg", "roofline-l1.svg"] {
        assert!(dir.path().join(file).metadata().unwrap().len() > 500, "{file}");
    }
    assert_eq!(fs::read_dir(&archive).unwrap().count(), before);
    let table = gpp().args(["table", "--from"]).arg(archive).assert().success();
    table.stdout(contains("si214/run.json"));
}
