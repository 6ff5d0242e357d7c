//! The program end to end: what it prints, writes and exits with.

#[cfg(unix)]
#[path = "../common/mod.rs"]
mod common;
mod cpu;
mod energies;
mod explain;
mod interrupts;
mod offdiag;
mod outputs;
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

fn printed(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn parsed(command: &mut Command) -> Value {
    serde_json::from_str(&printed(command)).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let run = ["--device", "cpu", "--repeat", "2", "--warmup", "0", "--json", "-"];
    parsed(gpp().args(run).args(arguments))
}

fn archived(name: &str) -> std::path::PathBuf {
    common::repository(&format!("data/runs/h200-2026-11-28/{name}"))
}

fn text(path: std::path::PathBuf) -> String {
    path.to_str().unwrap().to_string()
}
