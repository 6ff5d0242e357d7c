//! What is left of a run or a file when the program is asked to stop.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write, read_to_string};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{park, sleep};
use std::time::{Duration, Instant};
use std::{env, fs};

use gpp::catalogue::{self, BackEnd, MAIN};
use serde_json::Value;

use crate::common::place;
use crate::common::running::send;

/// A write that never ends, where the tests below start it in a process of its own.
#[test]
fn write_until_interrupted() {
    let Some(path) = env::var_os("GPP_TEST_WRITE") else { return };
    gpp::output::listen().unwrap();
    let _polling = env::var_os("GPP_TEST_POLLING").map(|_| gpp::output::polling());
    let _ = gpp::output::replace(Path::new(&path), |file| {
        file.write_all(b"half")?;
        println!("writing");
        loop {
            park();
        }
    });
}

/// What is ignored stays so. While the program polls, only the second signal ends it at once.
#[test]
fn an_interrupted_write_leaves_nothing() {
    // Children ignore what this process was started to ignore, as by `nohup`.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    let (ignoring, polling) = (("GPP_TEST_IGNORED", "HUP INT TERM"), ("GPP_TEST_POLLING", "1"));
    for (set, before, signal, code) in [
        (None, &[][..], "INT", 130),
        (None, &[], "TERM", 143),
        (None, &[], "HUP", 129),
        (Some(ignoring), &["HUP", "INT", "TERM"], "USR1", 138),
        (Some(polling), &["USR1"], "USR2", 140),
        (Some(polling), &["USR1"], "TERM", 143),
    ] {
        if ignored >> (code - 129) & 1 == 1 {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let left = || fs::read_dir(dir.path()).unwrap().count();
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' WINCH $GPP_TEST_IGNORED; exec \"$@\"", "sh"]);
        command.arg(env::current_exe().unwrap());
        command.args(["--exact", "interrupts::write_until_interrupted", "--nocapture"]);
        command.env("GPP_TEST_WRITE", dir.path().join("file")).envs(set);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("writing")));
        before.iter().for_each(|signal| send(signal, &[child.id()]));
        sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none());
        assert_eq!(left(), 1);
        send(signal, &[child.id()]);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(left(), 0);
    }
}

fn started(path: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("gpp"));
    command.args(["--system", "tiny", "--device", "cpu", "--json"]).arg(path).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A pipe that nobody reads yet holds the program where it writes its record, the table printed.
#[test]
fn an_interrupt_while_results_are_written_loses_none() {
    let (_dir, path) = place("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut child = started(&path, &["-v", "best"]);
    let mut table = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(table.any(|line| line.unwrap().starts_with('└')));
    send("TERM", &[child.id()]);
    sleep(Duration::from_millis(300));
    let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((&record["complete"], child.wait().unwrap().code()), (&true.into(), Some(0)));
}

#[test]
fn an_interrupted_run_keeps_what_is_done() {
    let (_dir, path) = place("run.json");
    // Long enough for the first version on this machine, and not for all.
    let begin = Instant::now();
    let first = started(&path, &["-v", "v0", "--repeat", "500"]).wait_with_output();
    assert!(first.unwrap().status.success());
    let seconds = begin.elapsed().as_secs_f64();
    let mut child = started(&path, &["-v", MAIN, "--repeat", "500"]);
    sleep(Duration::from_secs_f64(2.0 * seconds));
    send("TERM", &[child.id()]);
    let errors = read_to_string(child.stderr.take().unwrap()).unwrap();
    let table = read_to_string(child.stdout.take().unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(errors.contains("error: stopped by SIGTERM after "), "{errors}");
    let main = catalogue::named(MAIN, BackEnd::Cpu).unwrap();
    assert!(errors.contains(&format!("of {} versions ran", main.len())), "{errors}");
    let last = format!("│ {}, emulated ", main[main.len() - 1].id());
    assert!(table.contains("│ v0, emulated ") && !table.contains(&last), "{table}{errors}");
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["complete"], false);
    let results = document["results"].as_array().unwrap();
    assert!((1..main.len()).contains(&results.len()));
}
