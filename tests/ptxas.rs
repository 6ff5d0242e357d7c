//! Every PTX entry assembled by `ptxas` for each image, and what it uses. `scripts/test` fetches one and an `nvdisasm`,
//! and names them in GPP_PTXAS and GPP_NVDISASM; else those on the PATH do, and without any the tests are ignored.

#[path = "../examples/cards.rs"]
mod cards;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use cards::{all_loops, operation};
use gpp::devices::gpu::{KERNELS_BY, NO_KERNELS, own};
use gpp::kernels::arrays::REPACK_SYMBOL;
use gpp::kernels::offdiag::MatrixVersion;
use gpp::kernels::single::COPY_SYMBOL;
use gpp::kernels::versions::{self, ALL, OTHERS};
use gpp::kernels::{offdiag, peaks, reduction};
use libtest_mimic::{Arguments, Failed, Trial};
use rayon::prelude::*;

/// For which only kernels are assembled that need it.
const SM_80: &str = "sm_80";

/// Where loops are looked into: no `nvdisasm` that is to be had knows sm_70.
const LOOKED_INTO: &str = "sm_90";

/// Tools, and whether to do without.
static PTXAS: LazyLock<(PathBuf, bool)> = LazyLock::new(|| tool("GPP_PTXAS", "ptxas"));
static NVDISASM: LazyLock<(PathBuf, bool)> = LazyLock::new(|| tool("GPP_NVDISASM", "nvdisasm"));

fn main() {
    println!("kernels by {}", KERNELS_BY.unwrap_or("no compiler"));
    let (no_ptxas, no_nvdisasm) = (PTXAS.1, PTXAS.1 || NVDISASM.1);
    let times = "the times in docs/precision.md are computed from loops";
    let mut trials = vec![
        Trial::test("entries are those of the versions", entries).with_ignored_flag(no_ptxas),
        Trial::test("lines are those of the Rust sources", lines).with_ignored_flag(no_ptxas),
        Trial::test("all lanes of a warp meet in one place", lanes).with_ignored_flag(no_ptxas),
        Trial::test("hot loops neither spill nor divide", hot).with_ignored_flag(no_nvdisasm),
        Trial::test("loops of s4 have no FP64", without_fp64).with_ignored_flag(no_nvdisasm),
        Trial::test(times, computed_times).with_ignored_flag(no_nvdisasm),
    ];
    for architecture in ["sm_70", SM_80, "sm_90"] {
        let name = format!("entries assemble for {architecture}");
        trials.push(Trial::test(name, move || assembles(architecture)).with_ignored_flag(no_ptxas));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The tool that a variable names, or the one of this name.
fn tool(variable: &str, name: &str) -> (PathBuf, bool) {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let required = named.is_some();
    let tool = named.unwrap_or(name.into());
    let present = Command::new(&tool).arg("--version").output().is_ok();
    (tool, !required && (!present || NO_KERNELS.is_some()))
}

#[derive(Debug, Default)]
struct Usage {
    registers: u32,
    stack: u32,
    spill_stores: u32,
    spill_loads: u32,
}

/// Register spills that are allowed, with a margin for other compilers.
#[derive(Clone, Copy)]
struct Spills {
    /// Loads and stores of local memory in one pass of an innermost loop of FP64 arithmetic: these cost time.
    in_loop: u32,
    /// Bytes in the whole entry, most of which run once: more means that it has changed.
    bytes: u32,
}

fn expected() -> BTreeMap<&'static str, Spills> {
    let kernels = ALL.iter().copied().chain(OTHERS).flat_map(|version| version.kernels);
    let entries = kernels.flat_map(|kernel| kernel.entries).map(|entry| entry.symbol);
    let others = [reduction::SYMBOL, REPACK_SYMBOL, COPY_SYMBOL, peaks::FMA_SYMBOL];
    let others = others.into_iter().chain(peaks::READ_SYMBOLS);
    let others = others.chain(offdiag::symbols().map(|(symbol, _)| symbol));
    // By the name's begin, so that copies of a version may as much.
    let spills = |symbol: &str| match (symbol, symbol.rsplit_once("_nw").map_or("", |(_, nw)| nw)) {
        (name, "2") if name.starts_with("gpp_v3") => Spills { in_loop: 8, bytes: 192 },
        (name, "2" | "3") if name.starts_with("gpp_v4") => Spills { in_loop: 16, bytes: 192 },
        (name, "") if ["6", "7", "8"].iter().any(|v| name.starts_with(&format!("gpp_v{v}"))) => {
            Spills { in_loop: 6, bytes: 192 }
        }
        (name, nw) if name.starts_with("gpp_v13") || name.starts_with("gpp_v14") => {
            match (name.contains("_real_"), nw) {
                (true, "3") => Spills { in_loop: 6, bytes: 512 },
                (false, "2") => Spills { in_loop: 16, bytes: 1024 },
                (false, "3") => Spills { in_loop: 96, bytes: 3200 },
                _ => Spills { in_loop: 0, bytes: 192 },
            }
        }
        (name, "3") if name.starts_with("gpp_v15") && !name.contains("_real_") => {
            Spills { in_loop: 96, bytes: 3200 }
        }
        (name, _) if name.starts_with("gpp_v15") => Spills { in_loop: 6, bytes: 1024 },
        // What FP64 and the loops of other classes hold, around the loops.
        (_, nw) if single(symbol) => {
            let is_large = nw == "3" && !symbol.contains("_real_");
            Spills { in_loop: 0, bytes: if is_large { 1600 } else { 384 } }
        }
        // In the loop over pairs near a pole, and once for each stage.
        ("gpp_ch_of_bands", _) => Spills { in_loop: 6, bytes: 384 },
        _ if versions::find(symbol).is_some() => Spills { in_loop: 0, bytes: 192 },
        // The elements of a complex pole's ssx take more registers than the sums leave.
        // What one lane keeps for the ring's copies, beside sums that take most registers.
        _ if symbol.starts_with("gpp_offdiag_wide") => Spills { in_loop: 16, bytes: 128 },
        ("gpp_offdiag_ring_complex_exchange", _) => Spills { in_loop: 0, bytes: 192 },
        ("gpp_offdiag_ring_exchange", _) => Spills { in_loop: 0, bytes: 32 },
        ("gpp_offdiag_ring_complex_occupied", _) => Spills { in_loop: 0, bytes: 32 },
        ("gpp_offdiag_vector_occupied", _) => Spills { in_loop: 0, bytes: 32 },
        // Eight of its 144 sums, in each of two loops.
        ("gpp_offdiag_m16n8k16_complex_occupied", _) => Spills { in_loop: 0, bytes: 448 },
        // A register or two, by this compiler or that.
        _ if symbol.starts_with("gpp_offdiag") => Spills { in_loop: 0, bytes: 16 },
        _ => Spills { in_loop: 0, bytes: 0 },
    };
    entries.chain(others).map(|symbol| (symbol, spills(symbol))).collect()
}

fn single(symbol: &str) -> bool {
    versions::find(symbol).is_some_and(|(_, kernel, _)| kernel.is_single())
}

/// The version of matrix products that a kernel is of: those of matrix instructions have no FP64 loop but waits.
fn of_products(symbol: &str) -> Option<&'static MatrixVersion> {
    offdiag::ALL.into_iter().find(|version| version.kernels().any(|(own, _)| own == symbol))
}

fn is_for(symbol: &str, architecture: &str) -> bool {
    let number: u32 = architecture[3..].parse().expect("as in sm_90");
    let capability = (number / 10, number % 10);
    match of_products(symbol) {
        Some(version) => version.capability <= capability,
        None => {
            let needed = versions::find(symbol).map_or((7, 0), |(gpu, ..)| gpu.capability);
            let runs_on_sm_70 = architecture == SM_80 && needed < (8, 0);
            needed <= capability && !runs_on_sm_70
        }
    }
}

fn entries() -> Result<(), Failed> {
    let ptx = own();
    let found: Vec<&str> = ptx.symbols().collect();
    let known: Vec<&str> = expected().into_keys().collect();
    assert_eq!(found, known, "symbols of the PTX and of the versions");
    Ok(())
}

fn lines() -> Result<(), Failed> {
    let ptx = own();
    let numbers = |text: &str| -> BTreeSet<String> {
        let files = text.lines().filter_map(|line| line.trim().strip_prefix(".file"));
        let own = files.filter(|file| file.contains("\"./kernels/src/"));
        own.filter_map(|file| file.split_whitespace().next()).map(str::to_string).collect()
    };
    let files = numbers(&ptx.module_of([]));
    for symbol in ptx.symbols() {
        let text = ptx.module_of([symbol]);
        let places = text.lines().filter_map(|line| line.trim().strip_prefix(".loc"));
        let mut files_of_places = places.filter_map(|place| place.split_whitespace().next());
        let has_line = files_of_places.any(|file| files.contains(file));
        assert!(has_line, "{symbol} has no line of the kernels' sources");
    }
    Ok(())
}

/// `thread_in_register` asks all lanes of the warp. The compiler does not know it, and could write the question once for each
/// branch that uses the answer: then lanes would wait for others that are not coming.
fn lanes() -> Result<(), Failed> {
    let ptx = own();
    for version in offdiag::ALL.into_iter().filter(|version| version.is_pipelined) {
        for (symbol, _) in version.kernels() {
            let asked = ptx.module_of([symbol]).matches("shfl.sync.").count();
            assert_eq!(asked, 1, "places where {symbol} asks all lanes");
        }
    }
    Ok(())
}

fn assembles(architecture: &str) -> Result<(), Failed> {
    let usage = match architecture {
        LOOKED_INTO => usage(looked_into()?),
        _ => usage(&assemble(architecture)?),
    };
    println!("{architecture}: registers, stack, spill stores and loads, expected at most in bytes");
    let mut failures = Vec::new();
    for (symbol, Spills { bytes: allowed, .. }) in expected() {
        if !is_for(symbol, architecture) {
            continue;
        }
        let Some(used) = usage.get(symbol) else {
            failures.push(format!("ptxas reported nothing of {symbol}"));
            continue;
        };
        let Usage { registers, stack, spill_stores, spill_loads } = used;
        println!("{symbol} {registers} {stack} {spill_stores} {spill_loads} {allowed}");
        if used.spill_stores.max(used.spill_loads) > allowed {
            failures.push(format!("{symbol} spills more than {allowed} bytes: {used:?}"));
        }
        if used.stack > allowed {
            failures.push(format!("{symbol} has a stack frame: {used:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    Ok(())
}

fn hot() -> Result<(), Failed> {
    let sections = disassembly()?.split("\n.text.").skip(1);
    let kernels: BTreeMap<_, _> = sections.filter_map(|section| section.split_once(':')).collect();
    let mut failures = Vec::new();
    for (symbol, Spills { in_loop: allowed, .. }) in expected() {
        let is_hot = |one: &&Loop| one.fp64 > 0 || one.single_reciprocals > 0;
        let all = kernels.get(symbol).map_or(Vec::new(), |code| innermost(code));
        let hot: Vec<_> = all.iter().filter(is_hot).collect();
        // Nothing is summed where arrays are laid out.
        let lays_out = [offdiag::pack::PackV::SYMBOL, REPACK_SYMBOL, COPY_SYMBOL].contains(&symbol);
        if hot.is_empty() && !lays_out && of_products(symbol).is_none() {
            failures.push(format!("{symbol} has no loop of FP64 arithmetic"));
        }
        for found in hot {
            // One for 32 operations is less than what times differ by, and what another compiler may do.
            let allowed = allowed.max(found.fp64 / 32);
            if found.spills > allowed {
                failures.push(format!("{symbol} spills more than {allowed} times: {found:?}"));
            }
            if found.divisions > 0 {
                failures.push(format!("{symbol} divides integers in a loop: {found:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    Ok(())
}

/// What `nvdisasm -c` prints of all kernels, which takes longer than all that is done with it.
fn disassembly() -> Result<&'static str, Failed> {
    static PRINTED: LazyLock<Result<String, Failed>> = LazyLock::new(|| {
        let disassemble = |(_, image): &(String, Vec<u8>)| {
            let file = tempfile::NamedTempFile::new()?;
            std::fs::write(file.path(), image)?;
            run(Command::new(&NVDISASM.0).arg("-c").arg(file.path()))
        };
        looked_into()?.par_iter().map(disassemble).collect()
    });
    PRINTED.as_deref().map_err(Failed::clone)
}

/// Neither the bands' loops nor those around them, in the PTX and in what is made of it.
fn without_fp64() -> Result<(), Failed> {
    let (ptx, disassembly) = (own(), disassembly()?);
    let mut kernels = 0;
    for section in disassembly.split("\n.text.").skip(1) {
        let (name, code) = section.split_once(':').unwrap_or((section, ""));
        if !name.starts_with("gpp_s4_") {
            continue;
        }
        kernels += 1;
        let (instructions, loops) = all_loops(code);
        let of_bands = loops.iter().map(|of| &instructions[of.clone()]);
        let of_bands: Vec<_> = of_bands.filter(|of| counted(of).single_reciprocals > 0).collect();
        assert!(of_bands.len() >= 10, "{name} has {} loops over bands", of_bands.len());
        let is_fp64 = |instruction: &&&str| {
            ["DADD", "DFMA", "DMUL", "DSETP"].contains(&operation(instruction))
                || instruction.contains("F64")
        };
        let found: Vec<_> = of_bands.into_iter().flatten().filter(is_fp64).collect();
        assert!(found.is_empty(), "{name}: {found:#?}");

        let text = ptx.module(name).unwrap_or_default();
        let blocks: Vec<&str> = text.split("\n$L__BB").collect();
        let of_bands = blocks.iter().filter(|block| block.contains("rcp.approx.ftz.f32"));
        let of_bands: Vec<_> = of_bands.collect();
        assert!(of_bands.len() >= 5, "{name} has {} blocks of bands", of_bands.len());
        let found = of_bands.iter().flat_map(|block| block.lines()).find(|l| l.contains(".f64"));
        assert_eq!(found, None, "{name}");
    }
    assert_eq!(kernels, 6, "kernels of s4");
    Ok(())
}

fn computed_times() -> Result<(), Failed> {
    let table = cards::table(disassembly()?);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/precision.md"))?;
    let header = table.lines().next().unwrap_or_default();
    let shown = page.find(header).map(|at| &page[at..]).ok_or("no such table")?;
    for (computed, shown) in table.split_whitespace().zip(shown.split_whitespace()) {
        // Another compiler may take some instructions more.
        let is_near = match (computed.parse::<f64>(), shown.parse::<f64>()) {
            (Ok(computed), Ok(shown)) => (shown / computed - 1.0).abs() < 0.05,
            _ => computed == shown,
        };
        assert!(is_near, "{shown} is {computed} in\n{table}");
    }
    Ok(())
}

/// Logs and images of a few entries each, of one PTX version and target: starting the tools takes longer than most entries.
fn assemble(architecture: &str) -> Result<Vec<(String, Vec<u8>)>, Failed> {
    const TOGETHER: usize = 6;
    let ptx = own();
    let mut alike: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for symbol in ptx.symbols().filter(|symbol| is_for(symbol, architecture)) {
        let module = ptx.module(symbol).unwrap_or_default();
        let is_asked = |line: &&str| line.starts_with(".version") || line.starts_with(".target");
        let asked = module.lines().filter(is_asked).map(str::to_string).collect();
        alike.entry(asked).or_default().push(symbol);
    }
    let groups: Vec<&[&str]> = alike.values().flat_map(|all| all.chunks(TOGETHER)).collect();
    let one = |symbols: &&[&str]| {
        let dir = tempfile::tempdir()?;
        let (input, image) = (dir.path().join("gpp.ptx"), dir.path().join("gpp.cubin"));
        std::fs::write(&input, ptx.module_of(symbols.iter().copied()))?;
        let mut command = Command::new(&PTXAS.0);
        command.args(["-v", "-lineinfo", "-arch", architecture, "-o"]).args([&image, &input]);
        Ok((run(&mut command)?, std::fs::read(&image)?))
    };
    groups.par_iter().map(one).collect()
}

fn looked_into() -> Result<&'static [(String, Vec<u8>)], Failed> {
    static IMAGES: LazyLock<Result<Vec<(String, Vec<u8>)>, Failed>> =
        LazyLock::new(|| assemble(LOOKED_INTO));
    IMAGES.as_deref().map_err(Failed::clone)
}

fn run(command: &mut Command) -> Result<String, Failed> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if output.status.success() { Ok(log) } else { Err(log.into()) }
}

fn usage(assembled: &[(String, Vec<u8>)]) -> BTreeMap<String, Usage> {
    let mut all = BTreeMap::new();
    let mut entry: Option<String> = None;
    for line in assembled.iter().flat_map(|(log, _)| log.lines()) {
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Loop {
    fp64: u32,
    /// Reciprocals of FP32, as no loop in FP64 has.
    single_reciprocals: u32,
    /// Loads and stores of local memory: spills, where there is no stack frame besides.
    spills: u32,
    /// Conversions between integers and numbers: of a division of integers, there is no other.
    divisions: u32,
}

fn innermost(code: &str) -> Vec<Loop> {
    let (instructions, all) = all_loops(code);
    let holds_another = |of: &std::ops::Range<usize>| {
        all.iter().any(|other| other != of && of.start <= other.start && other.end <= of.end)
    };
    let innermost = all.iter().filter(|of| !holds_another(of));
    innermost.map(|of| counted(&instructions[of.clone()])).collect()
}

fn counted(instructions: &[&str]) -> Loop {
    let mut counts = Loop::default();
    for instruction in instructions {
        match operation(instruction) {
            "DFMA" | "DMUL" | "DADD" => counts.fp64 += 1,
            "MUFU" if instruction.contains("MUFU.RCP ") => counts.single_reciprocals += 1,
            "LDL" | "STL" => counts.spills += 1,
            "I2F" | "F2I" => counts.divisions += 1,
            _ => {}
        }
    }
    counts
}
