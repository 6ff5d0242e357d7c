//! What is made of recorded runs and profiles.

mod bounds;
mod charts;
#[path = "../common/mod.rs"]
mod common;
mod profile;
mod records;
mod report;
mod sigma;

use std::path::PathBuf;

/// What an element of an SVG has for an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

/// A folder of the archived runs on an H200.
fn archive(name: &str) -> PathBuf {
    common::repository(&format!("data/runs/h200-2026-11-28/{name}"))
}
