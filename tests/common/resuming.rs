//! Runs that keep finished slabs, and are stopped meanwhile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// What takes its time: eight slabs of 20 ms and more.
pub const PROBLEM: [&str; 8] =
    ["--version", "v13", "--system", "demo-complex", "--slab", "16", "--device", "cpu"];

/// Slabs of [`PROBLEM`].
pub const SLABS: usize = 8;

/// So that slabs take their time on any machine.
pub const SLOWLY: (&str, &str) = ("RAYON_NUM_THREADS", "1");

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has a process run; none that a test starts is left behind.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts it.
    pub fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap())
    }

    /// Waits until this holds; whether the process was there to see it.
    pub fn until(&mut self, holds: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            if holds() {
                return true;
            }
            assert!(begin.elapsed() < PATIENCE, "waited too long");
            sleep(Duration::from_millis(1));
        }
        false
    }

    /// Its exit code, once it has ended; none where a signal ended it.
    pub fn code(&mut self) -> Option<i32> {
        self.until(|| false);
        self.0.wait().unwrap().code()
    }
}

/// Sends a signal to processes, those of them that are still there.
pub fn send(signal: &str, ids: &[u32]) {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let line = format!("kill -{signal} {} 2>&-", ids.join(" "));
    Command::new("sh").args(["-c", &line]).status().unwrap();
}

/// The files of a checkpoint.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let is_one = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().starts_with(name);
    let entries = std::fs::read_dir(path.parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(is_one).collect()
}

/// Slabs that the files of a checkpoint hold.
pub fn kept(path: &Path) -> usize {
    // One that goes meanwhile has been taken over in another.
    let texts = files(path).into_iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let slabs = texts.flat_map(|text| {
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["groups"].is_u64()).collect::<Vec<_>>()
    });
    slabs.map(|line| line["slab"].as_u64().unwrap()).collect::<BTreeSet<_>>().len()
}

/// The sums of all versions of a run's record, as text: numbers are written so that they are read back with
/// the same bits.
pub fn sums(record: &Value) -> String {
    let results = record["results"].as_array().unwrap();
    assert!(!results.is_empty() && record["complete"] == true, "{record}");
    let of = |result: &Value| format!("{}: {} {}", result["version"], result["asx"], result["ach"]);
    results.iter().map(of).collect::<Vec<_>>().join("\n")
}

/// Slabs that a run of one version took over.
pub fn resumed(record: &Value) -> usize {
    record["results"][0]["work"]["resumed"].as_u64().unwrap() as usize
}

/// The record in a file.
pub fn record(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Starts a run again and again, `kill`s it with each slab that is kept, and gives how often that was.
/// One that would not go on from what was kept would end the first time that it is started again. The last
/// run leaves nothing of the checkpoint.
pub fn kill_with_each_slab(
    path: &Path,
    mut start: impl FnMut(usize) -> Running,
    kill: impl Fn(&Running),
) -> usize {
    for kills in 0.. {
        let before = kept(path);
        let mut run = start(kills);
        let kept_one = run.until(|| kept(path) > before);
        if kept_one {
            kill(&run);
        }
        let code = run.code();
        // With its last slab a run may have come to its end before it was killed.
        if files(path).is_empty() {
            assert!(kept_one || code == Some(0), "{code:?}");
            return kills;
        }
        assert!(kept_one && code != Some(0), "{code:?}");
        // One or two may have been killed while they removed what they no longer needed.
        assert!(kills < 2 * SLABS);
    }
    unreachable!()
}
