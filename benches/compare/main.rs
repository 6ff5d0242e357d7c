//! Our kernels against others on the same arrays, alternately: v0 to v8 against CUDA C++ (`benches/cuda/gpp.cu`) on a GPU,
//! or versions for CPUs against Fortran (`benches/fortran`). nvcc or gfortran compiles the other side here and now.
//!
//! ```sh
//! cargo bench --bench compare -- --system si214                # GPU 0
//! cargo bench --bench compare -- --cpu --system demo --version cpu:paired
//! ```
//!
//! The binary that cargo builds also runs on a machine without cargo.

mod fortran;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use gpp::catalogue::names::versions;
use gpp::catalogue::{BackEnd, Kernel};
use gpp::devices::Device;
use gpp::devices::gpu::{Gpu, Ptx};
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::output::Progress;
use gpp::problem::{Problem, Sums, synthesis, systems};
use gpp::reference::{self, Outcome, Reference, verify};
use gpp::terminal::outcome as words;
use gpp_cpu::pool::Threads;
use gpp_kernels::versions::PAPER;

const QUIET: Progress = Progress { shown: false };

/// How long a side runs before it is timed, so that the clock is steady.
const WARM_UP: Duration = Duration::from_secs(2);

/// Times our kernels and those of another compiler, alternately on the same arrays.
#[derive(Parser)]
struct Arguments {
    /// Built-in systems, with commas
    #[arg(short, long, value_delimiter = ',', default_value = "demo")]
    system: Vec<String>,

    /// Versions, as `gpp --version` has them; by default v0 to v8, on a CPU the best
    #[arg(short, long)]
    version: Option<String>,

    /// Compare with Fortran on the CPU
    #[arg(long)]
    cpu: bool,

    /// The GPU
    #[arg(long, default_value_t = 0)]
    gpu: usize,

    /// Timed runs of each side
    #[arg(short, long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// The compiler of the other side; by default nvcc, on a CPU gfortran
    #[arg(long)]
    compiler: Option<PathBuf>,

    /// Cargo says so.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut passed = true;
    for name in &arguments.system {
        let system = systems::find(name)?;
        let problem = synthesis::synthesise(system, systems::DEFAULT_SEED, QUIET)?;
        let reference = reference::of(&problem, QUIET)?;
        let rows = match arguments.cpu {
            true => on_cpu(&arguments, &problem)?,
            false => on_gpu(&arguments, &problem)?,
        };
        println!("{name}, medians of {} runs, alternately", arguments.repeat);
        println!("{:<24} {:>12} {:>10}  sums", "", "time [ms]", "ratio");
        let verdicts = rows.iter().map(|row| verdict(&problem, &row.sums, reference.as_ref()));
        let verdicts: Vec<(String, bool)> = verdicts.collect::<Result<_>>()?;
        let others = rows.iter().zip(&verdicts).filter(|(row, (_, right))| row.is_other && *right);
        let fastest = others.map(|(row, _)| row.median()).fold(f64::INFINITY, f64::min);
        for (row, (said, right)) in rows.iter().zip(&verdicts) {
            // Over the other side's time of the same version, or over its fastest build that is right.
            let ratio = row.median() / row.other.map_or(fastest, |at| rows[at].median());
            passed &= right;
            println!("{:<24} {:>12.4} {ratio:>10.3}  {said}", row.name, 1e3 * row.median());
        }
    }
    Ok(ExitCode::from(u8::from(!passed)))
}

/// One side's runs.
struct Row {
    name: String,
    is_other: bool,
    /// The row that it is compared with, if not the fastest of the other side.
    other: Option<usize>,
    seconds: Vec<f64>,
    sums: Sums,
}

impl Row {
    fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

/// Whether the sums are right, in a word.
fn verdict(
    problem: &Problem,
    sums: &Sums,
    reference: Option<&Reference>,
) -> Result<(String, bool)> {
    let found = verify(problem, &problem.start().plus(sums), reference)?;
    let right = matches!(found.outcome, Outcome::Passed | Outcome::NotVerified);
    let error = found.max_rel_error.map_or(String::new(), |error| format!(", error {error:.1e}"));
    Ok((format!("{}{error}", words(found.outcome)), right))
}

/// What a compiler prints that is run in a folder.
fn run(
    compiler: &Path,
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String> {
    let name = compiler.display();
    let output = Command::new(compiler).args(arguments).current_dir(folder).output();
    let output = output
        .with_context(|| format!("{name} cannot be run: install it or name it with --compiler"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Each version by rustc and by nvcc.
fn on_gpu(arguments: &Arguments, problem: &Problem) -> Result<Vec<Row>> {
    let nvcc = arguments.compiler.clone().unwrap_or("nvcc".into());
    let rust = Gpu::open(arguments.gpu)?;
    let (kernels, compiler) = in_cuda(&nvcc, &rust)?;
    let cuda = Gpu::with_kernels(arguments.gpu, None, kernels)?;
    println!("{}, {compiler}", rust.info().name);
    let mut engines = [Engine::whole(&cuda, problem)?, Engine::whole(&rust, problem)?];
    let mut rows = Vec::new();
    for listed in versions(arguments.version.as_deref().unwrap_or("v0-v8"), BackEnd::Gpu)? {
        let is_paper = PAPER.iter().any(|own| own.id() == listed.id());
        anyhow::ensure!(is_paper, "CUDA C++ has v0 to v8, not {}", listed.id());
        let mut seconds = [Vec::new(), Vec::new()];
        let mut last = [None, None];
        // Each side alone until its clock is steady, and twice: at the power limit every kernel has a clock of its own.
        for at in [0, 1, 0, 1] {
            let begin = Instant::now();
            while begin.elapsed() < WARM_UP {
                engines[at].run(listed.kernel)?;
            }
            for _ in 0..arguments.repeat {
                let found = engines[at].run(listed.kernel)?;
                seconds[at].push(found.seconds);
                last[at] = Some(found.sums);
            }
        }
        let first = rows.len();
        for (at, (seconds, sums)) in seconds.into_iter().zip(last).enumerate() {
            let by = ["CUDA C++", "Rust"][at];
            rows.push(Row {
                name: format!("{} {by}", listed.id()),
                is_other: at == 0,
                other: Some(first),
                seconds,
                sums: sums.expect("at least one run"),
            });
        }
    }
    Ok(rows)
}

/// The kernels in CUDA C++, which nvcc compiles for a GPU as far as rustc compiles ours, to PTX; and nvcc's version.
fn in_cuda(nvcc: &Path, gpu: &Gpu) -> Result<(Ptx, String)> {
    let folder = tempfile::tempdir()?;
    let version = run(nvcc, folder.path(), ["--version"])?;
    let release = version.lines().find_map(|line| line.split("release ").nth(1)).unwrap_or("?");
    std::fs::write(folder.path().join("gpp.cu"), include_str!("../cuda/gpp.cu"))?;
    let capability = gpu.info().compute_capability.as_deref().unwrap_or_default();
    let arch = format!("-arch=compute_{}", capability.replace('.', ""));
    run(nvcc, folder.path(), ["-O3", "-ptx", &arch, "-o", "gpp.ptx", "gpp.cu"])?;
    let ptx = std::fs::read_to_string(folder.path().join("gpp.ptx"))?;
    Ok((Ptx::new(ptx), format!("nvcc {release}")))
}

/// Versions for CPUs and the builds in Fortran, alternately.
fn on_cpu(arguments: &Arguments, problem: &Problem) -> Result<Vec<Row>> {
    let host = Host::new();
    let threads = host.team().count(Threads::All);
    let gfortran = arguments.compiler.clone().unwrap_or("gfortran".into());
    let (mut builds, compiler) = fortran::compile(&gfortran)?;
    println!("{}, {threads} threads, {compiler}", host.info().name);
    let ours = versions(arguments.version.as_deref().unwrap_or("best"), BackEnd::Cpu)?;
    let row = |name: &str, is_other| {
        let sums = Sums::zero(problem.nw());
        Row { name: name.into(), is_other, other: None, seconds: Vec::new(), sums }
    };
    let others = builds.iter().map(|build| row(&build.name, true));
    let mut rows: Vec<Row> =
        others.chain(ours.iter().map(|listed| row(listed.id(), false))).collect();
    let mut engine = Engine::whole(&host, problem)?;
    let begin = Instant::now();
    let (mut rounds, mut timed) = (0, 0);
    while timed < arguments.repeat {
        // The first round is untimed, and all in the first seconds.
        let is_timed = rounds > 0 && begin.elapsed() >= WARM_UP;
        let mut done = |at: usize, seconds: f64, sums: Sums| {
            let row = &mut rows[at];
            if is_timed {
                row.seconds.push(seconds);
            }
            row.sums = sums;
        };
        for (at, build) in builds.iter_mut().enumerate() {
            let (seconds, sums) = build.sum(problem, threads)?;
            done(at, seconds, sums);
        }
        for (at, listed) in ours.iter().enumerate() {
            let Kernel::Cpu(_) = listed.kernel else {
                anyhow::bail!("{} is not made for CPUs", listed.id());
            };
            let found = engine.run(listed.kernel)?;
            done(builds.len() + at, found.seconds, found.sums);
        }
        rounds += 1;
        timed += u32::from(is_timed);
    }
    Ok(rows)
}
