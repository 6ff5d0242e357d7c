//! Tables and the page, from the archived run: compared with what was looked at and kept in
//! `tests/data`. With GPP_UPDATE_SNAPSHOTS set the kept ones are written anew.

mod common;

use std::path::{Path, PathBuf};

use gpp::catalogue::order;
use gpp::kernels::plan::Poles;
use gpp::kernels::versions::ALL;
use gpp::profile;
use gpp::record::profile::{Ceilings, Profile, Theoretical};
use gpp::record::run::Run;
use gpp::record::{self, SCHEMA};
use gpp::reference::verify::Outcome;
use gpp::report;
use gpp::table::{self, sections};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let trials = vec![
        Trial::test("table in Markdown", table_in_markdown),
        Trial::test("steps that go the other way are marked", marks),
        Trial::test("registry's operation counts are the archived ones", archived_counts),
        Trial::test("page needs nothing else", page_is_self_contained),
        Trial::test("page of matrices", page_of_matrices),
        Trial::test("commands on stored records", commands),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn archive() -> PathBuf {
    common::repository("data/runs/h200-2026-11-23/si214")
}

fn run() -> Run {
    record::read(&archive().join("run.json")).unwrap()
}

fn profiles() -> Vec<Profile> {
    profile::load(&archive()).unwrap()
}

fn ceilings() -> Ceilings {
    Ceilings {
        schema: SCHEMA,
        device: "made by hand".into(),
        provenance: None,
        state: None,
        fp64_sustained: Some(27e12),
        fp64: 30e12,
        hbm: 4e12,
        l2: 8e12,
        l1: 30e12,
        theoretical: Theoretical {
            fp64: Some(33e12),
            hbm: Some(4.8e12),
            l1: Some(33e12),
            shared: Some(33e12),
        },
    }
}

/// Compares with the text kept under that name.
fn snapshot(name: &str, text: &str) -> Result<(), Failed> {
    let path = common::repository(&format!("tests/data/{name}"));
    if std::env::var_os("GPP_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text)?;
    }
    let kept = std::fs::read_to_string(&path)?;
    if kept != text {
        let line = kept.lines().zip(text.lines()).position(|(a, b)| a != b);
        return Err(format!("{} differs, first in line {line:?}:\n{text}", path.display()).into());
    }
    Ok(())
}

fn table_in_markdown() -> Result<(), Failed> {
    snapshot("table1.md", &table::markdown(&sections(&run(), "")))
}

fn marks() -> Result<(), Failed> {
    let mut run = run();
    let all = run.results.len();
    let of = |run: &Run, id: &str| run.results.iter().position(|r| r.version == id).unwrap();
    // v4 slower than v3 here, faster in the paper.
    let v4 = of(&run, "v4");
    run.results[v4].times.median = 9.0;
    // What did not pass has no row.
    let v8 = of(&run, "v8");
    run.results[v8].verification.outcome = Outcome::Incorrect;
    let section = &sections(&run, "")[0];
    assert_eq!((section.rows.len(), section.baseline), (all - 1, "v0"));
    let row = |id: &str| section.rows.iter().find(|row| row.version == id).unwrap();
    assert!(row("v4").order_differs && !row("v0").order_differs && !row("v3").order_differs);
    assert_eq!(row("v0").over_baseline, Some(1.0));
    // Past the paper alone, speed-ups are over the first of what is past it; what is not counted has no rate.
    run.results.retain(|result| order::place(&result.version) > order::place("v8"));
    run.results.iter_mut().for_each(|result| result.tflops = None);
    let past = &sections(&run, "")[0];
    assert_eq!((past.baseline, past.rows[0].over_baseline), ("v9", Some(1.0)));
    let headings = table::cells(past).headings;
    assert!(headings.contains(&"over v9".to_string()) && !headings.contains(&"TFLOP/s".into()));
    Ok(())
}

fn archived_counts() -> Result<(), Failed> {
    // The blog's and the talk's series are archived in a folder of their own.
    let journeys = common::repository("data/runs/h200-2026-11-23/si214-journeys");
    let mut profiles = profiles();
    profiles.extend(profile::load(&journeys).unwrap());
    assert!(!profiles.is_empty());
    for version in ALL {
        // si214 has real poles. A version may have neither counts nor a profile, but not counts alone.
        let Some(archived) = version.kernel(Poles::Real).flops_per_term else { continue };
        let profile = profiles.iter().find(|profile| profile.version == version.id());
        let profile = profile.ok_or_else(|| format!("no profile of {}", version.id()))?;
        let counted = profile.flops_per_term();
        assert!((archived - counted).abs() < 0.06, "{}: {counted}", version.id());
    }
    Ok(())
}

fn page_is_self_contained() -> Result<(), Failed> {
    let page = report::page(run(), profiles(), ceilings(), None)?;
    for reference in ["src=", "url(", "@import", "<script"] {
        assert!(!page.contains(reference), "the page has {reference}");
    }
    assert!(page.contains("name=\"viewport\"") && page.contains("href=\"https://arxiv.org"));
    for Profile { version, .. } in profiles() {
        let card = format!("<article class=\"card\" id=\"{version}\"");
        assert!(page.contains(&card), "{version} is missing");
    }
    for text in ["What was found", "is synthetic", "fewer cycles, ", "wtilde / wdiff"] {
        assert!(page.contains(text), "{text} is missing");
    }
    assert_eq!(page.matches("No significant difference").count(), 3);
    assert!(!page.contains('`'), "Markdown is shown raw");
    Ok(())
}

fn page_of_matrices() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let page = |matrices: &Path| {
        let output = dir.path().join("page.html");
        let mut command = assert_cmd::Command::cargo_bin("gpp").unwrap();
        command.args(["report", "--from"]).arg(archive()).arg("--offdiag").arg(matrices);
        command.arg("--output").arg(&output).assert().success();
        let page = std::fs::read_to_string(output).unwrap();
        let (_, section) = page.split_once("id=\"matrices\"").unwrap();
        section.split("<details class=\"part\"").next().unwrap().to_string()
    };
    let archived = page(&common::repository("data/runs/h200-2026-11-23/offdiag"));
    for text in ["busiest pipe", "matrix peak 66.9", "si510", "256"] {
        assert!(archived.contains(text), "{text}");
    }
    Ok(())
}

fn commands() -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let gpp = || assert_cmd::Command::cargo_bin("gpp").unwrap();
    let archive = archive();
    gpp()
        .args(["roofline", "--from"])
        .arg(&archive)
        .arg("--output")
        .arg(dir.path())
        .assert()
        .success();
    for file in ["roofline.svg", "roofline.png", "roofline.csv", "roofline-l1.svg"] {
        assert!(dir.path().join(file).metadata()?.len() > 500, "{file}");
    }
    let page = dir.path().join("page.html");
    gpp().args(["report", "--from"]).arg(&archive).arg("--output").arg(&page).assert().success();
    assert!(page.exists());
    for format in ["text", "markdown"] {
        let run = archive.join("run.json");
        let mut command = gpp();
        command.arg("table").args(format.split(' ')).arg("--from").arg(run);
        command.assert().success().stdout(predicates::str::contains("si214"));
    }
    // And what goes wrong.
    let empty = tempfile::tempdir()?;
    for command in ["roofline", "report"] {
        let output = gpp().args([command, "--from"]).arg(empty.path()).assert().code(2);
        output.stderr(predicates::str::contains("holds no profile-*.json"));
    }
    gpp()
        .args(["profile", "--system", "tiny", "--ncu", "no-such-profiler", "--output"])
        .arg(empty.path())
        .assert()
        .code(3)
        .stderr(predicates::str::contains("install Nsight Compute"));
    Ok(())
}
