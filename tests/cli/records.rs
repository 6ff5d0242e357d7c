//! Commands that read records: which they refuse, and what they say of the rest.

use std::fs;

use crate::common::place;
use crate::{archived, gpp};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn a_table_has_what_did_not_pass_too() {
    let (_dir, path) = place("run.json");
    let run = fs::read_to_string(archived("si214/run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&run).unwrap();
    run["results"][4]["verification"]["outcome"] = "not_verified".into();
    run["complete"] = false.into();
    fs::write(&path, run.to_string()).unwrap();
    let said = contains("┆ not verified ┆").count(1).and(contains("The run was interrupted"));
    gpp().args(["table", "--from"]).arg(&path).assert().success().stdout(said).stderr("");
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
