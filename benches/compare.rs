//! Our kernels against others on the same arrays, alternately, on a GPU: v0 to v8 against CUDA C++ (`benches/cuda/gpp.cu`),
//! which nvcc compiles here and now. The system `hecbench` is the problem of HeCBench's gpp, whose program is compiled from
//! a checkout and run as well.
//!
//! ```sh
//! cargo bench --bench compare -- --system si214                # GPU 0
//! cargo bench --bench compare -- --system hecbench --hecbench HeCBench/src/gpp-cuda --version v3,v8-v11,v13,v15
//! ```
//!
//! The binary that cargo builds also runs on a machine without cargo.

mod hecbench;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use gpp::catalogue::{self, BackEnd, named};
use gpp::devices::Device;
use gpp::devices::gpu::{Gpu, Ptx};
use gpp::engine::Engine;
use gpp::output::Progress;
use gpp::problem::{Problem, Source as _, Sums, System, synthesis};
use gpp::record::run::Times;
use gpp::reference::{self, Outcome, Reference, ReferenceSource, verify, verify_version};
use gpp::terminal::outcome as words;
use gpp_kernels::versions::PAPER as OF_PAPER;
use num_complex::Complex64;

const QUIET: Progress = Progress { shown: false };

/// How long a side runs before it is timed, so that the clock is steady.
const WARM_UP: Duration = Duration::from_secs(2);

/// Times our kernels and those of another compiler, alternately on the same arrays.
#[derive(Parser)]
struct Arguments {
    /// Built-in systems or hecbench, with commas
    #[arg(short, long, value_delimiter = ',', default_value = "demo")]
    system: Vec<String>,

    /// Versions, as `gpp --version` has them
    #[arg(short, long, default_value = "v0-v8")]
    version: String,

    /// HeCBench's folder src/gpp-cuda: its program is run as well (system hecbench)
    #[arg(long, value_name = "FOLDER")]
    hecbench: Option<PathBuf>,

    /// Timed runs of each side
    #[arg(short, long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// The compiler of the other side
    #[arg(long, default_value = "nvcc")]
    compiler: PathBuf,

    /// Cargo says so.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut passed = true;
    for name in &arguments.system {
        let (problem, reference) = if name == "hecbench" {
            let (problem, sums) = hecbench::problem(32768)?; // its argument `benchmark`
            (problem, Some(Reference::new(sums, ReferenceSource::Serial, QUIET)))
        } else {
            anyhow::ensure!(arguments.hecbench.is_none(), "--hecbench needs --system hecbench");
            let system = System::find(name)?;
            let problem =
                synthesis::Synthesis::new(system, synthesis::DEFAULT_SEED, QUIET).load()?;
            let reference = reference::for_problem(&problem, QUIET)?;
            (problem, reference)
        };
        let rows = timed(&arguments, &problem, reference.as_ref())?;
        println!("{name}, medians of {} runs, alternately", arguments.repeat);
        println!("{:<24} {:>12} {:>10}  sums", "", "time [ms]", "ratio");
        let verdict = |row: &Row| -> Result<(String, bool)> {
            // The other programs' rows are not called by an id.
            let id = row.name.split(' ').next().unwrap_or_default();
            let found = match catalogue::find(id) {
                Some(version) => {
                    verify_version(version, &problem, &row.sums, reference.as_ref())?.1
                }
                None => verify(&problem, &problem.start().plus(&row.sums), reference.as_ref())?,
            };
            let right = matches!(found.outcome, Outcome::Passed | Outcome::NotVerified);
            let error = found.max_rel_error.map(|error| format!(", error {error:.1e}"));
            Ok((words(found.outcome).to_string() + &error.unwrap_or_default(), right))
        };
        let verdicts = rows.iter().map(verdict).collect::<Result<Vec<_>>>()?;
        let others = rows.iter().zip(&verdicts).filter(|(row, (_, right))| row.is_other && *right);
        let fastest = others.map(|(row, _)| row.median()).fold(f64::NAN, f64::min);
        for (row, (said, right)) in rows.iter().zip(&verdicts) {
            // Over the other side's time of the same version, or over its fastest build that is right.
            let ratio = row.median() / row.other.map_or(fastest, |at| rows[at].median());
            passed &= right;
            println!("{:<24} {:>12.4} {ratio:>10.3}  {said}", row.name, 1e3 * row.median());
        }
    }
    Ok(ExitCode::from(u8::from(!passed)))
}

struct Row {
    name: String,
    is_other: bool,
    /// The row that it is compared with, if not the fastest of the other side.
    other: Option<usize>,
    seconds: Vec<f64>,
    sums: Sums,
}

impl Row {
    fn new(name: String, is_other: bool, other: Option<usize>, nw: usize) -> Row {
        Row { name, is_other, other, seconds: Vec::new(), sums: Sums::zero(nw) }
    }

    fn median(&self) -> f64 {
        Times::from_samples(self.seconds.clone()).median
    }
}

/// What a compiler or another program prints.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command
        .output()
        .with_context(|| format!("{name} cannot be run: install it or name it with --compiler"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn timed(
    arguments: &Arguments,
    problem: &Problem,
    reference: Option<&Reference>,
) -> Result<Vec<Row>> {
    let nvcc = &arguments.compiler;
    let rust = Gpu::limited(0, None)?;
    let capability = rust.info().compute_capability.unwrap_or_default();
    let capability = format!("{}{}", capability.major, capability.minor);
    let (kernels, compiler) = in_cuda(nvcc, &capability)?;
    let cuda = Gpu::with_kernels(0, None, kernels)?;
    println!("{}, {compiler}", rust.info().name);
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("hecbench");
    if let Some(source) = &arguments.hecbench {
        let arch = format!("-arch=sm_{capability}");
        let mut compile = Command::new(nvcc);
        compile.args(["-O3", "-std=c++17", &arch, "main.cu", "-o"]).arg(&program);
        run(compile.current_dir(source))?;
    }
    let mut engines = [Engine::whole(&cuda, problem)?, Engine::whole(&rust, problem)?];
    let mut rows = Vec::new();
    let mut theirs = Row::new("HeCBench, CH".into(), true, None, problem.nw());
    for listed in named(&arguments.version, BackEnd::Gpu)? {
        // CUDA C++ has v0 to v8 alone, and does not run with HeCBench's program.
        let is_ported = arguments.hecbench.is_none()
            && OF_PAPER.iter().any(|version| version.id() == listed.id());
        let sides = usize::from(!is_ported)..2;
        let first = rows.len();
        rows.extend(sides.clone().map(|at| {
            let name = format!("{} {}", listed.id(), ["CUDA C++", "Rust"][at]);
            Row::new(name, at == 0, is_ported.then_some(first), problem.nw())
        }));
        // Each side alone until its clock is steady, and twice: at the power limit every kernel has a clock of its own.
        for (row, at) in (first..).zip(sides.clone()).chain((first..).zip(sides)) {
            let begin = Instant::now();
            while begin.elapsed() < WARM_UP {
                engines[at].run(listed)?;
            }
            for _ in 0..arguments.repeat {
                let found = engines[at].run(listed)?;
                rows[row].seconds.push(found.seconds);
                rows[row].sums = found.sums;
            }
        }
        if arguments.hecbench.is_some()
            && let Some(reference) = reference
        {
            // It prints CH at the first energy; the other sums are the reference's.
            let (seconds, ch) = hecbench_s(&program)?;
            theirs.seconds.push(seconds);
            theirs.sums = reference.sums.clone();
            theirs.sums.ach[0] = ch;
        }
    }
    rows.extend(Some(theirs).filter(|row| !row.seconds.is_empty()));
    Ok(rows)
}

/// Mean seconds of ten launches by HeCBench's program, and CH at the first energy.
fn hecbench_s(program: &Path) -> Result<(f64, Complex64)> {
    let text = run(Command::new(program).arg("benchmark"))?;
    let numbers = |after: &str| -> Vec<f64> {
        let (_, rest) = text.split_once(after).unwrap_or_default();
        rest.split([' ', '\n', '(', ',', ')']).filter_map(|word| word.parse().ok()).collect()
    };
    match (&numbers("execution time")[..], &numbers("Final achtemp")[..]) {
        ([seconds, ..], [re, im, ..]) => Ok((*seconds, Complex64::new(*re, *im))),
        _ => anyhow::bail!("HeCBench's program prints no time and CH, but {text}"),
    }
}

/// The kernels in CUDA C++, which nvcc compiles for a GPU as far as rustc compiles ours, to PTX; and nvcc's version.
fn in_cuda(nvcc: &Path, capability: &str) -> Result<(Ptx, String)> {
    let folder = tempfile::tempdir()?;
    let version = run(Command::new(nvcc).arg("--version"))?;
    let release = version.lines().find_map(|line| line.split("release ").nth(1)).unwrap_or("?");
    std::fs::write(folder.path().join("gpp.cu"), include_str!("cuda/gpp.cu"))?;
    let arch = format!("-arch=compute_{capability}");
    let mut compile = Command::new(nvcc);
    compile.args(["-O3", "-ptx", &arch, "-o", "gpp.ptx", "gpp.cu"]);
    run(compile.current_dir(&folder))?;
    let ptx = std::fs::read_to_string(folder.path().join("gpp.ptx"))?;
    Ok((Ptx::new(ptx), format!("nvcc {release}")))
}
