//! Runs under MPI's launcher.

#[path = "../common/mpirun.rs"]
mod mpirun;

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use mpirun::mpirun;
use serde_json::Value;

/// Time in which a run that fails has to be at its end, launcher included.
pub const SECONDS: Duration = Duration::from_secs(10);

pub const GPP: &str = env!("CARGO_BIN_EXE_gpp");

pub fn ranks(count: usize) -> Command {
    let mut command = mpirun();
    command.args(["-n", &count.to_string(), GPP]);
    command
}

/// Two ranks, each with its own options of the launcher or program that starts gpp, and arguments.
pub fn two([first, second]: [(&[&str], &[&str]); 2]) -> Command {
    let mut command = mpirun();
    command.args(["-n", "1"]).args(first.0).arg(GPP).args(first.1);
    command.args([":", "-n", "1"]).args(second.0).arg(GPP).args(second.1);
    command
}

pub fn alone() -> Command {
    let mut command = Command::new(GPP);
    command.env_remove("GPP_PTX");
    command
}

pub struct Ended {
    output: Output,
    pub took: Duration,
}

pub fn ended(command: &mut Command) -> Ended {
    let begin = Instant::now();
    Ended { output: command.output().unwrap(), took: begin.elapsed() }
}

impl Ended {
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn record(&self) -> Value {
        assert_eq!(self.output.status.code(), Some(0), "{}", self.errors());
        serde_json::from_slice(&self.output.stdout).unwrap()
    }

    /// Fails unless it ended soon, with this exit code and one message, which has these parts.
    pub fn expect(&self, code: i32, parts: &[&str]) {
        let errors = self.errors();
        assert_eq!(self.output.status.code(), Some(code), "{errors}");
        assert!(self.took < SECONDS, "{:?}: {errors}", self.took);
        let messages = errors.lines().filter(|line| line.starts_with("error: "));
        let [message] = messages.collect::<Vec<_>>()[..] else { panic!("{errors}") };
        assert!(parts.iter().all(|part| message.contains(part)), "not {parts:?}: {errors}");
        assert!(!errors.contains("interrupted"), "{errors}");
        assert!(self.output.stdout.trim_ascii().is_empty(), "{:?}", self.output);
    }
}

pub fn children(launcher: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{launcher}/task")).into_iter().flatten();
    let lists =
        threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("children")));
    let lists: String = lists.map(Result::unwrap_or_default).collect();
    lists.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// Whether a process runs; one that has ended may wait for its parent to look at it.
pub fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z'))
}
