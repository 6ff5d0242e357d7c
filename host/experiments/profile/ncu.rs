//! Running the profiler on this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpp_kernels::reduction::SYMBOL as SECOND_STAGE;
use gpp_kernels::versions::ALL;

use super::counters;
use super::metrics::{self, Launch};
use crate::error::ProfileError;

/// What the symbols begin with that are profiled: those of the versions, of every journey, and the
/// second stage. Kernels that measure ceilings are not.
pub fn profiled() -> Vec<&'static str> {
    let symbols = ALL.iter().flat_map(|gpu| gpu.kernels).flat_map(|kernel| kernel.entries);
    let mut beginnings: Vec<&str> = symbols.map(|entry| beginning(entry.symbol)).collect();
    beginnings.push(beginning(SECOND_STAGE));
    beginnings.dedup();
    beginnings
}

/// `gpp_` and the letters after it.
fn beginning(symbol: &str) -> &str {
    let family = symbol.trim_start_matches("gpp_");
    let letters = family.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(family.len());
    &symbol[..symbol.len() - family.len() + letters]
}

type Result<T> = std::result::Result<T, ProfileError>;

/// The profiler, found on the PATH or named.
pub struct Ncu {
    program: PathBuf,
    /// What it says of its version.
    pub version: String,
}

/// What the profiled program runs.
#[derive(Clone, Debug)]
pub struct Target {
    /// Versions, with commas.
    pub versions: String,
    /// `--system NAME --seed N` or `--input FILE`.
    pub problem: Vec<OsString>,
    /// Device.
    pub device: String,
}

impl Ncu {
    /// Looks for the profiler.
    ///
    /// # Errors
    /// [`ProfileError::NoProfiler`] that says how to get one.
    pub fn find(program: &Path) -> Result<Ncu> {
        let missing = |why: String| ProfileError::NoProfiler { program: program.into(), why };
        let output =
            Command::new(program).arg("--version").output().map_err(|e| missing(e.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Version "))
            .ok_or_else(|| missing("it is no Nsight Compute".into()))?;
        let version = version.split_whitespace().next().unwrap_or_default().to_string();
        Ok(Ncu { program: program.to_path_buf(), version })
    }

    /// Counters of every launch. Returns the profiler's CSV and
    /// what it holds.
    ///
    /// # Errors
    /// [`ProfileError`].
    pub fn counters(&self, target: &Target) -> Result<(String, Vec<Launch>)> {
        let metrics = metrics::list();
        let mut command = self.on_this_program(
            ["--csv", "--page", "raw", "--print-units", "base", "--metrics", &metrics],
            target,
        )?;
        let text = run(&mut command)?;
        let launches = counters::parse(&text)?;
        // What it says of its processes names folders of the machine.
        let kept = text.lines().filter(|line| !line.starts_with("==PROF=="));
        Ok((kept.map(|line| line.to_owned() + "\n").collect(), launches))
    }

    fn on_this_program<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        target: &Target,
    ) -> Result<Command> {
        let program = std::env::current_exe().map_err(|e| ProfileError::Start {
            program: "this program".into(),
            why: e.to_string(),
        })?;
        let kernels = format!("regex:^({})", profiled().join("|"));
        let mut command = Command::new(&self.program);
        command
            .args(["--clock-control", "none", "--kernel-name", &kernels])
            .args(arguments)
            .arg(program)
            .args(["--version", &target.versions, "--device", &target.device])
            .args(&target.problem)
            .args(["--repeat", "1", "--warmup", "0", "--quiet", "--no-verify"]);
        Ok(command)
    }
}

/// What a command printed, or why it failed.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|e| ProfileError::Start { program: format!("{command:?}"), why: e.to_string() })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    if all.contains("ERR_NVGPUCTRPERM") {
        return Err(ProfileError::NoPermission);
    }
    if !output.status.success() {
        let last = all.lines().rfind(|line| line.contains("ERROR")).or(all.lines().last());
        let said = last.unwrap_or("it said nothing");
        return Err(ProfileError::Said(format!("{said} ({})", output.status)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_every_journey_are_profiled_and_ceilings_are_not() {
        assert_eq!(profiled(), ["gpp_v", "gpp_blog", "gpp_talk", "gpp_sigma", "gpp_second"]);
    }
}
