//! A process that fails or is killed ends all of them within seconds, and is named.

use std::fs;
use std::process::Stdio;
use std::time::Instant;

use crate::common::running::{Running, send};
use crate::common::stand_in::compiled;
use crate::common::{fixture_path, place};
use crate::launch::{SECONDS, children, ended, ranks, runs, two};

pub fn unreadable() {
    let [good, bad] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let bytes = fs::read(fixture_path("plain")).unwrap();
    fs::write(good.path().join("input.dat"), &bytes).unwrap();
    let run = ["--input", "input.dat", "--version", "best", "--device", "cpu", "--quiet"];
    let options = [&good, &bad].map(|of| ["-wdir", of.path().to_str().unwrap()]);
    let run = || ended(&mut two([0, 1].map(|rank| (&options[rank][..], &run[..]))));
    run().expect(2, &["rank 1 of 2 on ", ": input.dat: cannot read"]);
    fs::write(bad.path().join("input.dat"), &bytes[..bytes.len() - 2000]).unwrap();
    run().expect(2, &["rank 1 of 2 on ", ": input.dat: record "]);
}

const LONG: [&str; 10] =
    ["--version", "v3", "--system", "demo", "--slab", "1", "--device", "cpu", "--repeat", "10000"];

/// The pool of threads that emulates blocks cannot be made, which ends in a panic.
pub fn without_threads() {
    let (_folder, library) = place("no-threads.so");
    compiled("tests/data/no-threads.c", &library, &[]).unwrap();
    let preload = format!("LD_PRELOAD={}", library.display());
    let run = ["--version", "v13", "--system", "demo", "--device", "cpu", "--quiet"];
    let run = ended(&mut two([(&[], &run), (&["env", &preload], &run)]));
    run.expect(2, &["rank 1 of 2 on ", "cannot start threads"]);
}

pub fn without_memory() {
    let limited = "ulimit -v 600000; exec \"$@\"";
    let run = ["--version", "best", "--system", "si214", "--device", "cpu", "--quiet"];
    let run = ended(&mut two([(&[], &run), (&["sh", "-c", limited, "sh"], &run)]));
    run.expect(2, &["rank 1 of 2 on ", "not enough host memory"]);
}

fn under_way() -> (Running, Vec<u32>) {
    let mut command = ranks(3);
    command.args(LONG).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = Running(command.spawn().unwrap());
    let launcher = run.0.id();
    assert!(run.until(|| children(launcher).len() == 3));
    // Until they have all begun.
    let busy = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let ticks = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(11)?.parse().ok());
        ticks.is_some_and(|ticks: u64| ticks > 50)
    };
    assert!(run.until(|| children(launcher).iter().all(busy)));
    (run, children(launcher))
}

fn ends(mut run: Running, ranks: &[u32], signal: i32, says: [&str; 2]) {
    let begin = Instant::now();
    let code = run.code();
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    let errors = std::io::read_to_string(run.0.stderr.take().unwrap()).unwrap();
    assert_eq!(code, Some(128 + signal), "{errors}");
    assert!(says.iter().all(|part| errors.contains(part)), "{errors}");
    wait_for(ranks);
}

pub fn killed() {
    let (run, ranks) = under_way();
    send("KILL", &ranks[1..2]);
    ends(run, &ranks, 9, ["process rank", "signal 9"]);
}

/// They end after the slabs at hand.
pub fn stopped() {
    let (run, ranks) = under_way();
    send("USR1", &[run.0.id()]);
    ends(run, &ranks, 10, ["stopped by SIGUSR1 after ", ""]);
}

pub fn launcher_killed() {
    let (mut run, ranks) = under_way();
    send("KILL", &[run.0.id()]);
    assert_eq!(run.code(), None);
    wait_for(&ranks);
}

fn wait_for(ranks: &[u32]) {
    let begin = Instant::now();
    while ranks.iter().any(|&rank| runs(rank)) {
        assert!(begin.elapsed() < SECONDS, "{ranks:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
