//! The program end to end: what it prints, writes and exits with.

#[cfg(unix)]
#[path = "../common/mod.rs"]
mod common;
mod cpu;
mod energies;
mod explain;
mod interrupts;
mod limits;
mod offdiag;
mod outputs;
mod records;
mod runs;
mod sigma;
mod usage;

use assert_cmd::Command;
use serde_json::Value;

/// The commands of `tests/commands` print what stands there. `TRYCMD=overwrite` writes it anew.
#[test]
fn commands_print_what_was_recorded() {
    trycmd::TestCases::new()
        .register_bin("gpp", assert_cmd::cargo::cargo_bin("gpp"))
        .case("tests/commands/*.trycmd");
}

fn gpp() -> Command {
    let mut command = Command::cargo_bin("gpp").unwrap();
    command.env_remove("GPP_PTX");
    command
}

fn json(arguments: &[&str]) -> Value {
    let output = gpp()
        .args(["--device", "cpu", "--repeat", "2", "--warmup", "0", "--json", "-"])
        .args(arguments)
        .assert()
        .success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

fn archived(name: &str) -> std::path::PathBuf {
    common::repository(&format!("data/runs/h100-2026-11-27/{name}"))
}

fn text(path: std::path::PathBuf) -> String {
    path.to_str().unwrap().to_string()
}
