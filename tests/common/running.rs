//! Programs that are stopped while they run, and the threads of this one.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Waits until this holds; whether the process was there to see it.
    pub fn until(&mut self, holds: impl Fn() -> bool) -> bool {
        let begin = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            if holds() {
                return true;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "waited too long");
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    pub fn code(&mut self) -> Option<i32> {
        self.until(|| false);
        self.0.wait().unwrap().code()
    }
}

pub fn send(signal: &str, ids: &[u32]) {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let line = format!("kill -{signal} {} 2>&-", ids.join(" "));
    Command::new("sh").args(["-c", &line]).status().unwrap();
}

/// The sums of all versions of a run's record, as text, which has every bit.
pub fn sums(record: &Value) -> String {
    let results = record["results"].as_array().unwrap();
    assert!(!results.is_empty() && record["complete"] == true, "{record}");
    let of = |result: &Value| format!("{}: {} {}", result["version"], result["asx"], result["ach"]);
    results.iter().map(of).collect::<Vec<_>>().join("\n")
}

/// The threads of this process by their numbers: the name of each, and this field of its status.
pub fn threads(field: &str) -> std::collections::BTreeMap<String, (String, String)> {
    let of = |thread: std::fs::DirEntry| {
        let status = std::fs::read_to_string(thread.path().join("status")).ok()?;
        let value = |name: &str| {
            Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_string())
        };
        Some((thread.file_name().into_string().ok()?, (value("Name:")?, value(field)?)))
    };
    std::fs::read_dir("/proc/self/task").unwrap().filter_map(|entry| of(entry.unwrap())).collect()
}
