//! Every archived record is read as its type, and reads the same once written anew; what is none says so.

use std::collections::BTreeSet;
use std::fs;

use gpp::record::run::{Offdiag, RunRecord};
use gpp::record::{self, Ceilings, JsonRecord, Profile};
use gpp::reference::Outcome;
use serde_json::Value;

use crate::common::{json, repository};

fn both_ways<R: JsonRecord + PartialEq + std::fmt::Debug>(path: &std::path::Path) -> R {
    let read: R = record::read(path).unwrap();
    let written = record::text(&read);
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap()["kind"], R::KIND);
    assert_eq!(record::parse::<R>(&written, path).unwrap(), read, "{}", path.display());
    read
}

#[test]
fn every_archived_record_is_read_and_written() {
    let mut kinds = BTreeSet::new();
    let early = json(&repository("tests/data/records"));
    for path in json(&repository("data/runs")).into_iter().chain(early) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let kind = name.split(['-', '.']).next().unwrap();
        match kind {
            "run" => {
                let run: RunRecord = both_ways(&path);
                let outcomes = run.results.iter().map(|result| result.verification.outcome);
                let is_right = |of| matches!(of, Outcome::Passed | Outcome::NotVerified);
                assert!(outcomes.map(is_right).reduce(|a, b| a && b).unwrap());
            }
            "profile" => {
                let profile: Profile = both_ways(&path);
                let version = profile.version.replace(':', "-");
                assert_eq!(name, format!("profile-{version}.json"));
            }
            // A GPU's, or a CPU of two cores.
            "ceilings" => assert!(both_ways::<Ceilings>(&path).fp64 > 1e10),
            system if system.starts_with("si") || system == "demo" => {
                assert!(both_ways::<Offdiag>(&path).head.complete);
            }
            _ => panic!("{}: of no known kind", path.display()),
        }
        kinds.insert(kind.to_string());
    }
    assert!(["run", "profile", "ceilings"].iter().all(|&kind| kinds.contains(kind)), "{kinds:?}");
}

/// A text that links to a record without a verdict says so, of the folder after the link, or of the file in its own line.
#[test]
fn what_texts_quote_is_verified_or_said_not_to_be() {
    let docs = fs::read_dir(repository("docs")).unwrap().map(|file| file.unwrap().path());
    let (mut passed, mut named) = (0, 0);
    for page in docs.filter(|path| path.is_file()).chain([repository("README.md")]) {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let folder = page.parent().unwrap().join(link.0);
            if !link.0.contains("data/runs/") || !folder.is_dir() {
                continue;
            }
            for path in json(&folder) {
                let record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                let verdicts = record["results"].as_array().into_iter().flatten();
                if verdicts.clone().all(|result| result["verification"]["outcome"] == "passed") {
                    passed += verdicts.count();
                    continue;
                }
                let name = path.file_name().unwrap().to_str().unwrap();
                let names = |line: &str| line.contains("not verified") && line.contains(name);
                let is_said = link.1.starts_with("; not verified)") || text.lines().any(names);
                assert!(is_said, "{}: {}", page.display(), path.display());
                named += 1;
            }
        }
    }
    assert!(passed > 0 && named > 0, "{passed}, {named}");
}

#[test]
fn fields_that_do_not_apply_are_null_and_numbers_that_are_none_too() {
    let path = repository("tests/data/records/si214/run.json");
    let mut run: RunRecord = record::read(&path).unwrap();
    let result = &mut run.results[0];
    (result.flops, result.tflops) = (None, None);
    result.sums.asx[0].re = f64::NAN;
    let text = record::text(&run);
    for field in ["flops", "tflops"] {
        assert!(text.contains(&format!("\"{field}\": null")), "{field}");
    }
    let again: RunRecord = record::parse(&text, &path).unwrap();
    assert_eq!((again.results[0].flops, again.results[0].tflops), (None, None));
    assert!(again.results[0].sums.asx[0].re.is_nan());
    assert_eq!(record::text(&again), text);
}

#[test]
fn what_is_no_such_record_says_what_it_is() {
    let path = repository("tests/data/records/si214/run.json");
    let text = fs::read_to_string(&path).unwrap();
    let parsed = |text: String| record::parse::<RunRecord>(&text, &path).unwrap_err().to_string();
    let schema = |to: &str| parsed(text.replace("\"schema\": 7", &format!("\"schema\": {to}")));
    assert!(schema("5").ends_with("needs schema 7, has 5"));
    let said = |kind: &str| parsed(text.replacen("\"run\"", &format!("\"{kind}\""), 1));
    assert!(said("profile").contains("needs a record of kind run, has profile; `gpp --json"));
    let missing = parsed(text.replace("\"results\"", "\"other\""));
    assert!(missing.contains("run.json"), "{missing}");
}
