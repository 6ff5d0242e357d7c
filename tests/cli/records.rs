//! Commands that read records: which they refuse, and what they say of the rest.

use std::fs;

use crate::{archived, gpp};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn records_of_two_systems_are_not_mixed() {
    let dir = tempfile::tempdir().unwrap();
    for (system, version) in [("si214", "v0"), ("si510", "v8")] {
        let file = format!("profile-{version}.json");
        fs::copy(archived(system).join(&file), dir.path().join(&file)).unwrap();
    }
    fs::copy(archived("si214").join("ceilings.json"), dir.path().join("ceilings.json")).unwrap();
    for command in ["report", "roofline"] {
        gpp()
            .args([command, "--from"])
            .arg(dir.path())
            .assert()
            .code(2)
            .stderr(contains("holds profiles of si214 and si510"));
    }
    // A run of another system than the profiles beside it.
    fs::remove_file(dir.path().join("profile-v8.json")).unwrap();
    fs::copy(archived("si510").join("run.json"), dir.path().join("run.json")).unwrap();
    gpp()
        .args(["report", "--from"])
        .arg(dir.path())
        .assert()
        .code(2)
        .stderr(contains("run.json: is of si510, the profiles beside it are of si214"));
}

#[test]
fn each_system_has_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let store = |system: &str| {
        let folder = dir.path().join("gpp-profile").join(system);
        fs::create_dir_all(&folder).unwrap();
        for name in ["profile-v0.json", "ceilings.json"] {
            fs::copy(archived(system).join(name), folder.join(name)).unwrap();
        }
    };
    store("si214");
    gpp().current_dir(dir.path()).arg("roofline").assert().success();
    store("si510");
    gpp()
        .current_dir(dir.path())
        .arg("roofline")
        .assert()
        .code(2)
        .stderr(contains("--from gpp-profile/si214 or --from gpp-profile/si510"));
}

#[test]
fn records_of_another_schema_or_without_results_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let run: Value =
        serde_json::from_str(&fs::read_to_string(archived("si214/run.json")).unwrap()).unwrap();
    let table = |run: &Value, format: &str| {
        fs::write(&path, run.to_string()).unwrap();
        gpp().arg("table").args(format.split(' ')).arg("--from").arg(&path).assert()
    };
    let mut other = run.clone();
    other["schema"] = 7.into();
    table(&other, "--csv -").code(2).stderr(contains("run.json: needs schema 6, has 7"));
    let mut empty = run.clone();
    empty["results"] = Value::Array(Vec::new());
    table(&empty, "--csv -").code(2).stderr(contains("the run has no results"));
    let mut unverified = run.clone();
    unverified["results"][4]["verification"]["outcome"] = "not_verified".into();
    for format in ["--format markdown", "--json -"] {
        table(&unverified, format)
            .success()
            .stdout(contains("v4: not verified"))
            .stderr(contains("left out of si214 on gpu:0").and(contains("v4: not verified")));
    }
    table(&unverified, "--format text")
        .success()
        .stdout(contains("left out: v4: not verified"))
        .stderr(predicate::str::is_empty());
    let results = unverified["results"].as_array_mut().unwrap();
    results.iter_mut().for_each(|r| r["verification"]["outcome"] = "incorrect".into());
    table(&unverified, "--format text")
        .code(2)
        .stdout(predicate::str::is_empty())
        .stderr(contains("run.json: has no result that passed: v0: incorrect, "));
}

#[test]
fn a_table_of_an_interrupted_run_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let run = fs::read_to_string(archived("si214/run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&run).unwrap();
    run["complete"] = false.into();
    fs::write(&path, run.to_string()).unwrap();
    let table = |format: &str| {
        gpp().arg("table").args(format.split(' ')).arg("--from").arg(&path).assert().success()
    };
    for format in ["--format text", "--format markdown"] {
        table(format).stdout(contains("the run was interrupted").and(contains("σ")));
    }
    let document: Value =
        serde_json::from_slice(&table("--json -").get_output().stdout.clone()).unwrap();
    assert_eq!(document["complete"], false);
    assert!(document["rows"][0]["sigma_s"].is_f64());
}

#[test]
fn records_without_ceilings_say_where_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let name = "profile-v0.json";
    fs::copy(archived("si214").join(name), dir.path().join(name)).unwrap();
    for command in ["report", "roofline"] {
        gpp()
            .args([command, "--from"])
            .arg(dir.path())
            .assert()
            .code(2)
            .stderr(contains("ceilings.json: cannot read").and(contains("`gpp profile` measures")));
    }
}
