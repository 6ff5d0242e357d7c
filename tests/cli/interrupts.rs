//! What is left of a run or a file when the program is asked to stop.

use std::fs;

use gpp::catalogue::BackEnd;
use gpp::catalogue::names::{self, MAIN};
use serde_json::Value;

/// A write that never ends, where the tests below start it in a process of its own.
#[test]
fn write_until_interrupted() {
    let Some(path) = std::env::var_os("GPP_TEST_WRITE") else { return };
    gpp::interrupt::watch(true).unwrap();
    let _deferred = std::env::var_os("GPP_TEST_DEFERRED")
        .map(|_| gpp::interrupt::Deferred::new("the end of time"));
    let _ = gpp::output::replace(std::path::Path::new(&path), |file| {
        use std::io::Write;
        file.write_all(b"half")?;
        println!("writing");
        loop {
            std::thread::park();
        }
    });
}

/// Starts [`write_until_interrupted`], and waits until it writes.
#[cfg(unix)]
fn writing(dir: &std::path::Path, variables: &[(&str, &str)]) -> std::process::Child {
    use std::io::BufRead;
    let mut child = std::process::Command::new("sh")
        .args(["-c", "trap '' WINCH $GPP_TEST_IGNORED; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "interrupts::write_until_interrupted", "--nocapture"])
        .env("GPP_TEST_WRITE", dir.join("file"))
        .envs(variables.iter().copied())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("writing")));
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
    child
}

#[cfg(unix)]
#[test]
fn an_interrupted_write_leaves_nothing() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        if ignores(code - 128) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut child = writing(dir.path(), &[]);
        kill(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// As under nohup, and in the background of a script.
#[cfg(unix)]
#[test]
fn signals_that_are_ignored_stay_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = writing(dir.path(), &[("GPP_TEST_IGNORED", "HUP INT TERM")]);
    for signal in ["-HUP", "-INT", "-TERM", "-USR1"] {
        kill(signal, child.id());
    }
    assert_eq!(child.wait().unwrap().code(), Some(138));
}

/// Where the first signal is left to work that goes on.
#[cfg(unix)]
#[test]
fn so_does_one_that_is_interrupted_a_second_time() {
    use std::io::BufRead;
    for (signal, code) in [("-USR2", 140), ("-TERM", 143)] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = writing(dir.path(), &[("GPP_TEST_DEFERRED", "1")]);
        let mut errors = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
        kill("-USR1", child.id());
        assert!(errors.any(|line| line.unwrap() == "stopping after the end of time; asked again, at once"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        kill(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// A pipe that nobody reads yet holds the program where it writes its record, the table printed.
#[cfg(unix)]
#[test]
fn an_interrupt_while_results_are_written_loses_none() {
    use std::io::BufRead;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"))
        .args(["-v", "best", "--system", "tiny", "--device", "cpu", "--json"])
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut table = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(table.any(|line| line.unwrap().starts_with('└')));
    kill("-TERM", child.id());
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let told = "stopping after what is shown and written; asked again, at once";
    assert!(errors.any(|line| line.unwrap() == told));
    let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((&record["complete"], child.wait().unwrap().code()), (&true.into(), Some(0)));
}

/// Whether this process was started to ignore a signal, as by `nohup`: then so are its children.
#[cfg(unix)]
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|m| m >> (signal - 1) & 1 != 0)
}

#[cfg(unix)]
fn kill(signal: &str, id: u32) {
    let sent = std::process::Command::new("sh")
        .args(["-c", &format!("kill {signal} {id}")])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// Seconds of a run of v0 as below.
#[cfg(unix)]
fn time_of_first() -> f64 {
    let begin = std::time::Instant::now();
    let mut command = crate::gpp();
    command.args(["-v", "v0", "--system", "tiny", "--device", "cpu", "--repeat", "4000", "-q"]);
    command.assert().success();
    begin.elapsed().as_secs_f64()
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_is_done() {
    use std::io::{BufRead, Read};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    // Long enough for the first version on this machine, and not for all.
    let seconds = time_of_first();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"))
        .args(["-v", MAIN, "--system", "tiny", "--device", "cpu", "--repeat", "4000", "--json"])
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let errors = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    std::thread::sleep(std::time::Duration::from_secs_f64(2.0 * seconds));
    kill("-TERM", child.id());
    let errors: Vec<String> = errors.map(Result::unwrap).collect();
    let mut table = String::new();
    child.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let is_said = |line: &String| line == "interrupted" || line.starts_with("stopping after ");
    assert!(errors.iter().any(is_said), "{errors:?}");
    let main = names::versions(MAIN, BackEnd::Cpu).unwrap();
    let ran = format!("of {} versions ran", main.len());
    assert!(errors.iter().any(|line| line.contains(&ran)), "{errors:?}");
    let last = format!("│ {}, emulated ", main[main.len() - 1].id());
    let v0_alone = table.contains("│ v0, emulated ") && !table.contains(&last);
    assert!(v0_alone, "{table}{errors:?}");
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["complete"], false);
    let results = document["results"].as_array().unwrap();
    assert!((1..main.len()).contains(&results.len()));
}
