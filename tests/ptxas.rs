//! Every PTX entry assembled by a real `ptxas` for each image, and what it uses. The test script
//! fetches one and names it in GPP_PTXAS; without that, one on the PATH does, and where there is
//! none the tests are reported as ignored.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use comfy_table::Table;
use gpp::devices::gpu::ptx::Ptx;
use gpp::devices::gpu::{NO_KERNELS, PTX};
use gpp::kernels::registry::VERSIONS;
use gpp::kernels::tiles::candidates::CANDIDATES;
use gpp::kernels::{ceilings, reduce};
use libtest_mimic::{Arguments, Failed, Trial};
use rayon::prelude::*;

const ARCHITECTURES: [&str; 2] = ["sm_70", "sm_90"];

fn main() {
    let named = std::env::var_os("GPP_PTXAS").map(PathBuf::from);
    let required = named.is_some();
    let ptxas = named.unwrap_or("ptxas".into());
    let present = Command::new(&ptxas).arg("--version").output().is_ok();
    let ignored = !required && (!present || NO_KERNELS.is_some());
    let mut trials = vec![
        Trial::test("entries are those of the registry", entries).with_ignored_flag(ignored),
        Trial::test("lines are those of the Rust sources", lines).with_ignored_flag(ignored),
    ];
    for architecture in ARCHITECTURES {
        let ptxas = ptxas.clone();
        let name = format!("all entries assemble for {architecture}");
        let trial = Trial::test(name, move || assembles(&ptxas, architecture));
        trials.push(trial.with_ignored_flag(ignored));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Bytes of spills of a candidate without a register cap: three energies in the larger shapes.
const CANDIDATE_SPILL_BYTES: u32 = 192;

/// What `ptxas -v` says of one entry.
#[derive(Debug, Default)]
struct Usage {
    registers: u32,
    stack: u32,
    spill_stores: u32,
    spill_loads: u32,
}

/// Symbols that the registry knows, with the spills that it expects.
fn expected() -> BTreeMap<&'static str, u32> {
    let bodies = VERSIONS
        .iter()
        .flat_map(|version| version.all_bodies().map(|b| (b.symbol, version.expected_spill_bytes)));
    let candidates = CANDIDATES.iter().flat_map(|candidate| {
        candidate.bodies.iter().map(|body| (body.symbol, CANDIDATE_SPILL_BYTES))
    });
    let bodies = bodies.chain(candidates);
    let others = [reduce::SYMBOL, ceilings::FMA_SYMBOL].into_iter().chain(ceilings::READ_SYMBOLS);
    bodies.chain(others.map(|symbol| (symbol, 0))).collect()
}

fn entries() -> Result<(), Failed> {
    let ptx = Ptx::new(PTX);
    let found: Vec<&str> = ptx.symbols().collect();
    let known: Vec<&str> = expected().into_keys().collect();
    if found != known {
        return Err(format!("the PTX has {found:?}, the registry {known:?}").into());
    }
    Ok(())
}

fn lines() -> Result<(), Failed> {
    let file = |line: &str| -> Option<(String, String)> {
        let (number, path) = line.trim().strip_prefix(".file")?.trim().split_once(' ')?;
        Some((number.to_string(), path.trim_matches('"').to_string()))
    };
    let files: BTreeMap<String, String> = PTX.lines().filter_map(file).collect();
    let located: Vec<&str> = PTX
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".loc")?.split_whitespace().next())
        .filter_map(|number| files.get(number))
        .map(String::as_str)
        .collect();
    if let Some(foreign) = located.iter().find(|path| !path.starts_with("./kernels/src/")) {
        return Err(format!("an instruction is shown at {foreign}").into());
    }
    for version in VERSIONS {
        // These change no line of code that is executed; from v9 on the lines are those of the tiles.
        let changes_lines = ["v0", "v1", "v2", "v3", "v4", "v6"].contains(&version.id);
        let path = format!("./kernels/src/versions/{}.rs", version.id);
        if changes_lines && !located.contains(&path.as_str()) {
            return Err(format!("no instruction is shown at {path}").into());
        }
    }
    Ok(())
}

fn assembles(ptxas: &PathBuf, architecture: &str) -> Result<(), Failed> {
    let ptx = Ptx::new(PTX);
    let modules: Vec<String> =
        ptx.symbols().filter_map(|symbol| ptx.module(symbol, None)).collect();
    let logs: Result<Vec<String>, Failed> =
        modules.par_iter().map(|module| assemble(ptxas, architecture, module)).collect();
    let log = logs?.concat();
    let usage = usage(&log);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header(vec![
        architecture,
        "registers",
        "stack [B]",
        "spill stores [B]",
        "spill loads [B]",
        "expected at most",
    ]);
    let mut failures = Vec::new();
    for (symbol, allowed) in expected() {
        let Some(used) = usage.get(symbol) else {
            failures.push(format!("ptxas reported nothing of {symbol}"));
            continue;
        };
        let numbers = [used.registers, used.stack, used.spill_stores, used.spill_loads, allowed];
        table.add_row([symbol.to_string()].into_iter().chain(numbers.map(|n| n.to_string())));
        if used.spill_stores.max(used.spill_loads) > allowed {
            failures.push(format!("{symbol} spills more than {allowed} bytes: {used:?}"));
        }
        if allowed == 0 && used.stack > 0 {
            failures.push(format!("{symbol} has a stack frame: {used:?}"));
        }
    }
    println!("{table}");
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ").into()) }
}

/// Assembles one module and returns what `ptxas -v` printed.
fn assemble(ptxas: &PathBuf, architecture: &str, ptx: &str) -> Result<String, Failed> {
    let dir = tempfile::tempdir()?;
    let input = dir.path().join("gpp.ptx");
    std::fs::write(&input, ptx)?;
    let output = Command::new(ptxas)
        .args(["-v", "-lineinfo", "-arch", architecture])
        .arg(&input)
        .arg("-o")
        .arg(dir.path().join("gpp.cubin"))
        .output()
        .map_err(|e| format!("{}: {e}", ptxas.display()))?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(log) } else { Err(log.into()) }
}

/// Reads the log of `ptxas -v`.
fn usage(log: &str) -> BTreeMap<String, Usage> {
    let mut all = BTreeMap::new();
    let mut entry: Option<String> = None;
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            entry = rest.split('\'').next().map(str::to_string);
        }
        let Some(entry) = &entry else { continue };
        let used: &mut Usage = all.entry(entry.clone()).or_default();
        let number = |what: &str| -> Option<u32> {
            line.split(what).next().filter(|before| before.len() < line.len()).and_then(|before| {
                before.split_whitespace().next_back().and_then(|word| word.parse().ok())
            })
        };
        if let Some(stack) = number(" bytes stack frame") {
            used.stack = stack;
            used.spill_stores = number(" bytes spill stores").unwrap_or(u32::MAX);
            used.spill_loads = number(" bytes spill loads").unwrap_or(u32::MAX);
        }
        if let Some(registers) = number(" registers") {
            used.registers = registers;
        }
    }
    all
}
