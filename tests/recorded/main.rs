//! What is made of recorded runs and profiles.

mod bounds;
mod charts;
#[path = "../common/mod.rs"]
mod common;
mod profile;
mod records;
mod report;
mod sigma;

/// A folder of the archived runs on an H200.
fn archive(name: &str) -> std::path::PathBuf {
    common::repository(&format!("data/runs/h200-2026-11-28/{name}"))
}
