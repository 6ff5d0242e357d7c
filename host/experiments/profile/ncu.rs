//! Running the profiler on this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::lines::{self, KernelLines};
use super::metrics::{self, Launch};
use crate::error::{Error, Result};
use crate::process::interrupt;

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
    /// [`Error::Profiler`] that says how to get one.
    pub fn find(program: &Path) -> Result<Ncu> {
        let missing = |why: String| Error::Profiler {
            what: format!(
                "{} cannot be run ({why}): install Nsight Compute, name it with --ncu, or read \
                 CSV recorded elsewhere with --from",
                program.display()
            ),
        };
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

    /// Counters of every launch, those of FP64 operations if wanted. Returns the profiler's CSV and
    /// what it holds.
    ///
    /// # Errors
    /// [`Error::Profiler`].
    pub fn counters(&self, target: &Target, operations: bool) -> Result<(String, Vec<Launch>)> {
        let metrics = metrics::list(operations);
        let mut command = self.on_this_program(
            ["--csv", "--page", "raw", "--print-units", "base", "--metrics", &metrics],
            target,
        )?;
        let text = run(&mut command)?;
        let launches = metrics::parse(&text).map_err(|what| Error::Profiler { what })?;
        Ok((text, launches))
    }

    /// Warp samples of every source line.
    ///
    /// # Errors
    /// [`Error::Profiler`].
    pub fn source_lines(&self, target: &Target) -> Result<Vec<KernelLines>> {
        let (_guard, folder) = interrupt::scratch()
            .map_err(|e| Error::Profiler { what: format!("no room for its report: {e}") })?;
        let report = folder.path().join("samples.ncu-rep");
        let report = report.to_string_lossy();
        let samples = "group:smsp__pcsamp_warp_stall_reasons,\
                       group:smsp__pcsamp_warp_stall_reasons_not_issued";
        let record = ["--metrics", samples, "--import-source", "yes", "--export", &report];
        run(&mut self.on_this_program(record, target)?)?;
        let text = run(Command::new(&self.program).args([
            "--import",
            &report,
            "--page",
            "source",
            "--print-source",
            "cuda,sass",
            "--csv",
        ]))?;
        lines::parse(&text).map_err(|what| Error::Profiler { what })
    }

    fn on_this_program<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        target: &Target,
    ) -> Result<Command> {
        let program = std::env::current_exe()
            .map_err(|e| Error::Profiler { what: format!("cannot find this program: {e}") })?;
        let mut command = Command::new(&self.program);
        command
            .args(["--clock-control", "none", "--kernel-name", "regex:^gpp_(v|tile|second)"])
            .args(arguments)
            .arg(program)
            .args(["--version", &target.versions, "--device", &target.device])
            .args(&target.problem)
            .args(["--repeat", "1", "--warmup", "0", "--quiet"]);
        Ok(command)
    }
}

/// What a command printed, or why it failed.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|e| Error::Profiler { what: format!("cannot run {command:?}: {e}") })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    if all.contains("ERR_NVGPUCTRPERM") {
        return Err(Error::Profiler {
            what: "the driver does not let this user read the performance counters \
                   (ERR_NVGPUCTRPERM): run as root, or load the driver's module with \
                   NVreg_RestrictProfilingToAdminUsers=0"
                .into(),
        });
    }
    if !output.status.success() {
        let last = all.lines().rfind(|line| line.contains("ERROR")).or(all.lines().last());
        return Err(Error::Profiler {
            what: format!("{} ({})", last.unwrap_or("it said nothing"), output.status),
        });
    }
    Ok(text)
}
