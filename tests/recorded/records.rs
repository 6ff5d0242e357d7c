//! Every archived record is read as its type, and reads the same once it is written anew; what is no
//! such record says so.

use std::fs;
use std::path::Path;

use gpp::record::run::{Offdiag, Run};
use gpp::record::{self, Ceilings, Profile, Record};
use gpp::reference::Outcome;
use serde_json::Value;

use crate::common::{json, repository};

fn both_ways<R: Record + PartialEq + std::fmt::Debug>(path: &Path) -> R {
    let read: R = record::read(path).unwrap();
    let written = record::text(&read);
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap()["kind"], R::KIND);
    assert_eq!(record::parse::<R>(&written, path).unwrap(), read, "{}", path.display());
    read
}

#[test]
fn every_archived_record_is_read_and_written() {
    let mut kinds = [0; 3];
    let early = json(&repository("tests/data/records"));
    for path in json(&repository("data/runs")).into_iter().chain(early) {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let kind = match name.split(['-', '.']).next().unwrap() {
            "run" => {
                let run: Run = both_ways(&path);
                let outcomes = run.results.iter().map(|result| result.verification.outcome);
                let is_right = |of| matches!(of, Outcome::Passed | Outcome::NotVerified);
                assert!(outcomes.map(is_right).reduce(|a, b| a && b).unwrap());
                0
            }
            "profile" => {
                let profile: Profile = both_ways(&path);
                let version = profile.version.replace(':', "-");
                assert_eq!(name, format!("profile-{version}.json"));
                1
            }
            "ceilings" => {
                // A GPU's, or a CPU of two cores.
                assert!(both_ways::<Ceilings>(&path).fp64 > 1e10);
                2
            }
            name if name.starts_with("si") || name == "demo" => {
                assert!(both_ways::<Offdiag>(&path).head.complete);
                continue;
            }
            _ => panic!("{}: of no known kind", path.display()),
        };
        kinds[kind] += 1;
    }
    assert!(kinds.iter().all(|&count| count > 0), "{kinds:?}");
}

#[test]
fn fields_that_do_not_apply_are_null_and_numbers_that_are_none_too() {
    let path = repository("tests/data/records/si214/run.json");
    let mut run: Run = record::read(&path).unwrap();
    let result = &mut run.results[0];
    (result.flops, result.tflops) = (None, None);
    result.sums.asx[0].re = f64::NAN;
    let text = record::text(&run);
    for field in ["flops", "tflops"] {
        assert!(text.contains(&format!("\"{field}\": null")), "{field}");
    }
    let again: Run = record::parse(&text, &path).unwrap();
    assert_eq!((again.results[0].flops, again.results[0].tflops), (None, None));
    assert!(again.results[0].sums.asx[0].re.is_nan());
    assert_eq!(record::text(&again), text);
}

#[test]
fn what_is_no_such_record_says_what_it_is() {
    let path = repository("tests/data/records/si214/run.json");
    let text = fs::read_to_string(&path).unwrap();
    let parsed = |text: String| record::parse::<Run>(&text, &path).unwrap_err().to_string();
    let schema = |to: &str| parsed(text.replace("\"schema\": 6", &format!("\"schema\": {to}")));
    assert!(schema("5").ends_with("needs schema 6, has 5"));
    let said = |kind: &str| parsed(text.replacen("\"run\"", &format!("\"{kind}\""), 1));
    assert!(said("profile").ends_with("needs a record of kind run, has profile"));
    let missing = parsed(text.replace("\"results\"", "\"other\""));
    assert!(missing.contains("run.json"), "{missing}");
}
