//! Commands that read records: which they refuse, and what they say of the rest.

use std::fs;

use crate::common;
use crate::{archived, gpp};
use gpp::catalogue::{BackEnd, best};
use gpp::kernels::plan::Poles;
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
        .args(["report", "--dir"])
        .arg(dir.path())
        .assert()
        .code(2)
        .stderr(contains("run.json: is of si510, the profiles beside it are of si214"));
    // Another system's profiles in a folder that has some.
    gpp()
        .args(["profile", "--system", "tiny", "--version", "v0,v5", "--counters"])
        .arg(common::repository("tests/data/ncu-2025.3-details.csv"))
        .arg("--dir")
        .arg(dir.path())
        .assert()
        .code(2)
        .stderr(contains("holds profiles of si214; name another with --output for tiny"));
}

#[test]
fn each_system_has_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let csv = common::repository("tests/data/ncu-2025.3-details.csv");
    let csv = fs::canonicalize(csv).unwrap();
    let profile = |system: &str| {
        let mut command = gpp();
        command.current_dir(dir.path());
        command.args(["profile", "--version", "v0,v5", "--system", system, "--from"]).arg(&csv);
        command.assert().success();
    };
    profile("tiny");
    assert!(dir.path().join("gpp-profile/tiny/profile-v0.json").exists());
    let ceilings = fs::canonicalize(archived("si214/ceilings.json")).unwrap();
    fs::copy(&ceilings, dir.path().join("gpp-profile/tiny/ceilings.json")).unwrap();
    gpp().current_dir(dir.path()).arg("roofline").assert().success();
    profile("tiny-complex");
    gpp()
        .current_dir(dir.path())
        .arg("roofline")
        .assert()
        .code(2)
        .stderr(contains("--from gpp-profile/tiny or --from gpp-profile/tiny-complex"));
}

#[test]
fn counters_of_another_system_or_without_the_version_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let profile = |system: &str, version: &str, csv: &str| {
        let mut command = gpp();
        command.args(["profile", "--system", system, "--version", version, "--counters"]);
        command.arg(common::repository(csv)).arg("--dir").arg(dir.path().join("new"));
        let error = command.assert().code(2).get_output().stderr.clone();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        String::from_utf8(error).unwrap()
    };
    let raw = "tests/data/ncu-2025.3-raw.csv";
    assert!(profile("demo", "v0", raw).contains("FLOP a term of demo, its kernels take"));
    let details = "tests/data/ncu-2025.3-details.csv";
    assert!(profile("demo", "v0", details).contains("name the system that the counters are of"));
    assert!(profile("tiny", "v8", details).contains("has no launch of v8"));
    // tiny has real poles.
    let best = best(BackEnd::Gpu).gpu().unwrap();
    let [of_real, of_any] =
        [Poles::Real, Poles::Any].map(|p| best.kernel(p).entry(2).unwrap().symbol);
    let counters = fs::read_to_string(common::repository(details)).unwrap();
    let counters = counters.replace("gpp_v5", of_any);
    let csv = tempfile::NamedTempFile::new().unwrap();
    fs::write(csv.path(), counters).unwrap();
    let error = profile("tiny", best.id(), csv.path().to_str().unwrap());
    let expected = format!("{} runs kernel `{of_real}` on tiny, the counters are of", best.id());
    assert!(error.contains(&expected) && error.contains(of_any), "{error}");
    // A table that is none is bad input, not a device that failed.
    assert!(profile("tiny", "v0", "tests/data/table1.md").contains("no header row"));
}

#[test]
fn records_of_another_schema_or_without_results_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let run: Value =
        serde_json::from_str(&fs::read_to_string(archived("si214/run.json")).unwrap()).unwrap();
    let table = |run: &Value, format: &str| {
        fs::write(&path, run.to_string()).unwrap();
        gpp().args(["table", "--format", format, "--from"]).arg(&path).assert()
    };
    let mut other = run.clone();
    other["schema"] = 7.into();
    table(&other, "csv").code(2).stderr(contains("run.json: needs schema 1 to 6, has 7"));
    let mut empty = run.clone();
    empty["results"] = Value::Array(Vec::new());
    table(&empty, "csv").code(2).stderr(contains("the run has no results"));
    let mut unverified = run.clone();
    unverified["results"][4]["verification"]["outcome"] = "not_verified".into();
    for format in ["markdown", "json"] {
        table(&unverified, format)
            .success()
            .stdout(contains("v4: not verified"))
            .stderr(contains("left out of si214 on gpu:0").and(contains("v4: not verified")));
    }
    table(&unverified, "text")
        .success()
        .stdout(contains("left out: v4: not verified"))
        .stderr(predicate::str::is_empty());
    let results = unverified["results"].as_array_mut().unwrap();
    results.iter_mut().for_each(|r| r["verification"]["outcome"] = "incorrect".into());
    table(&unverified, "terminal")
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
        gpp().args(["table", "--format", format, "--from"]).arg(&path).assert().success()
    };
    for format in ["terminal", "markdown"] {
        table(format).stdout(contains("the run was interrupted").and(contains("σ")));
    }
    let document: Value =
        serde_json::from_slice(&table("json").get_output().stdout.clone()).unwrap();
    assert_eq!(document["complete"], false);
    assert!(document["rows"][0]["sigma_s"].is_f64());
}

#[test]
fn tables_name_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archived("si214/run.json");
    let other = dir.path().join("other.json");
    fs::write(&other, fs::read_to_string(&archive).unwrap().replace("H200", "B200")).unwrap();
    for format in ["terminal", "markdown", "csv", "json"] {
        gpp()
            .args(["table", "--format", format, "--from"])
            .arg(format!("{},{}", archive.display(), other.display()))
            .assert()
            .success()
            .stdout(
                contains("NVIDIA H200").and(contains("NVIDIA B200")).and(contains("other.json")),
            );
    }
}

#[test]
fn records_without_ceilings_say_where_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    gpp()
        .args(["profile", "--version", "v0,v5", "--system", "tiny", "--from"])
        .arg(common::repository("tests/data/ncu-2025.3-details.csv"))
        .arg("--dir")
        .arg(dir.path())
        .assert()
        .success()
        .stderr(contains("`gpp roofline` and `gpp report` need ceilings.json"));
    for command in ["report", "roofline"] {
        gpp()
            .args([command, "--from"])
            .arg(dir.path())
            .assert()
            .code(2)
            .stderr(contains("ceilings.json: cannot read").and(contains("`gpp profile` measures")));
    }
}

#[test]
fn a_processor_is_profiled_without_a_profiler() {
    let dir = tempfile::tempdir().unwrap();
    let in_dir = |arguments: &[&str]| {
        let mut command = gpp();
        command.current_dir(dir.path()).args(arguments);
        command
    };
    let profile = ["profile", "--device", "cpu", "--system", "tiny"];
    in_dir(&profile)
        .args(["--version", "v3"])
        .assert()
        .code(2)
        .stderr(contains("--version v3: is made for GPUs"));
    in_dir(&profile)
        .arg("--no-lines")
        .assert()
        .code(2)
        .stderr(contains("--no-lines: has no effect on a CPU"));
    in_dir(&profile)
        .args(["--version", "cpu:threads,cpu:best"])
        .assert()
        .success()
        .stdout(contains("2 profiles in gpp-profile/tiny"));
    let ceilings = fs::read_to_string(dir.path().join("gpp-profile/tiny/ceilings.json")).unwrap();
    let ceilings: Value = serde_json::from_str(&ceilings).unwrap();
    assert!(ceilings["fp64_by_level"]["scalar"].as_f64().unwrap() > 0.0);
    assert!(ceilings["hbm"].as_f64().unwrap() > 0.0 && ceilings["theoretical"]["hbm"].is_null());
    for command in ["roofline", "report"] {
        in_dir(&[command]).assert().success();
    }
    let chart = fs::read_to_string(dir.path().join("roofline-cpu.svg")).unwrap();
    for part in ["cpu:threads memory: ", "GB/s", " GFLOP/s"] {
        assert!(chart.contains(part), "{part}");
    }
}

#[test]
fn the_number_of_energies_is_the_knob_of_a_roofline() {
    let dir = tempfile::tempdir().unwrap();
    let in_dir = |arguments: &[&str]| {
        let mut command = gpp();
        command.current_dir(dir.path()).args(arguments).assert()
    };
    let profile = |nw: &str, more: &[&str]| {
        let measured = ["profile", "-d", "cpu", "-v", "sigma:cells", "-s", "tiny", "--nw", nw];
        in_dir(&[&measured[..], more].concat())
    };
    let [one, three] = ["1", "3"].map(|nw| {
        let folder = format!("gpp-profile/tiny-nw{nw}");
        profile(nw, &[]).success().stdout(contains(format!("1 profiles in {folder}")));
        folder
    });
    in_dir(&["roofline", "--from", &one, "--with", &three])
        .success()
        .stdout(contains("nw 1").and(contains("nw 3")));
    let chart = dir.path().join("roofline-energies-sigma-cells");
    let svg = fs::read_to_string(chart.with_extension("svg")).unwrap();
    for part in ["sigma:cells, 1, 3 energies", "data-version=\"nw 1\"", "data-version=\"nw 3\""] {
        assert!(svg.contains(part), "{part}");
    }
    let csv = fs::read_to_string(chart.with_extension("csv")).unwrap();
    assert!(csv.contains("\nnw 1,") && csv.contains("\nnw 3,"), "{csv}");
    assert!(chart.with_extension("png").exists());

    let refused = |with: &str, why: &str| {
        in_dir(&["roofline", "--from", &one, "--with", with]).code(2).stderr(contains(why));
    };
    refused(&one, "has sigma:cells at 1 energies, which another has");
    let other = fs::canonicalize(archived("si214")).unwrap();
    refused(other.to_str().unwrap(), "is of si214 on NVIDIA H200, --from of tiny on ");
    profile("3", &["--dir", &one])
        .code(2)
        .stderr(contains("holds profiles of tiny at 1 energies").and(contains("tiny at 3")));
}
