//! Every PTX entry assembled by `ptxas` for each image, and what it uses. `scripts/test` fetches one and an `nvdisasm`,
//! and names them in GPP_PTXAS and GPP_NVDISASM; else those on the PATH do, and without any the tests are ignored.

#[path = "../examples/cards.rs"]
mod cards;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use assert_cmd::output::OutputOkExt;
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
#[allow(dead_code, reason = "registers are printed")]
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
    let spills = |symbol: &'static str| {
        let nw = symbol.rsplit_once("_nw").map_or("", |(_, nw)| nw);
        let kernel = versions::find(symbol).map(|(_, kernel, _)| kernel);
        // By the name's begin, so that copies of a version may as much.
        let of = |begin: &str| symbol.starts_with(begin);
        let (in_loop, bytes) = match (symbol, symbol.contains("_real_"), nw) {
            (_, _, "2") if of("gpp_v3") => (8, 192),
            (_, _, "2" | "3") if of("gpp_v4") => (16, 192),
            (_, _, "") if of("gpp_v6") || of("gpp_v7") || of("gpp_v8") => (6, 192),
            (_, true, "3") if of("gpp_v13") || of("gpp_v14") => (6, 512),
            (_, false, "2") if of("gpp_v13") || of("gpp_v14") => (16, 1024),
            (_, false, "3") if of("gpp_v13") || of("gpp_v14") => (96, 3200),
            _ if of("gpp_v15") => (0, 512),
            // What FP64 and the loops of other classes hold, around the loops.
            (_, false, "3") if kernel.is_some_and(|kernel| kernel.is_single()) => (0, 1600),
            _ if kernel.is_some_and(|kernel| kernel.is_single()) => (0, 384),
            // In the loop over pairs near a pole, and once for each stage.
            ("gpp_ch_of_bands", ..) => (6, 384),
            _ if kernel.is_some() => (0, 192),
            // The elements of a complex pole's ssx take more registers than the sums leave.
            // What one lane keeps for the ring's copies, beside sums that take most registers.
            _ if of("gpp_offdiag_wide") => (16, 128),
            ("gpp_offdiag_ring_complex_exchange", ..) => (0, 192),
            ("gpp_offdiag_ring_exchange", ..) => (0, 32),
            ("gpp_offdiag_ring_complex_occupied" | "gpp_offdiag_vector_occupied", ..) => (0, 32),
            // Eight of its 144 sums, in each of two loops.
            ("gpp_offdiag_m16n8k16_complex_occupied", ..) => (0, 448),
            // A register or two, by this compiler or that.
            _ if of("gpp_offdiag") => (0, 16),
            _ => (0, 0),
        };
        (symbol, Spills { in_loop, bytes })
    };
    entries.chain(others).map(spills).collect()
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
    let numbers = |text: &str, directive: &str, part: &str| -> BTreeSet<String> {
        let all = text.lines().filter_map(|line| line.trim().strip_prefix(directive));
        let some = all.filter(|rest| rest.contains(part));
        some.filter_map(|rest| rest.split_whitespace().next()).map(str::to_string).collect()
    };
    let files = numbers(&ptx.module_of([]), ".file", "\"./kernels/src/");
    for symbol in ptx.symbols() {
        let of_places = numbers(&ptx.module_of([symbol]), ".loc", "");
        assert!(!files.is_disjoint(&of_places), "{symbol} has no line of the kernels' sources");
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
    println!("{architecture}: what is used, and the most bytes that are expected");
    let mut failures = Vec::new();
    for (symbol, Spills { bytes: allowed, .. }) in expected() {
        if !is_for(symbol, architecture) {
            continue;
        }
        let used = usage.get(symbol).ok_or(format!("ptxas reported nothing of {symbol}"))?;
        println!("{symbol} {used:?} {allowed}");
        if used.spill_stores.max(used.spill_loads).max(used.stack) > allowed {
            failures.push(format!("{symbol} has or spills more than {allowed} bytes: {used:?}"));
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
            if found.spills > allowed || found.divisions > 0 {
                failures.push(format!("{symbol} divides, or spills over {allowed}: {found:?}"));
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
    let output = command.ok()?;
    Ok(String::from_utf8([output.stderr, output.stdout].concat())?)
}

fn usage(assembled: &[(String, Vec<u8>)]) -> BTreeMap<String, Usage> {
    let (mut all, mut entry) = (BTreeMap::<_, Usage>::new(), String::new());
    for line in assembled.iter().flat_map(|(log, _)| log.lines()) {
        if let Some((name, _)) = line
            .split_once("Compiling entry function '")
            .and_then(|(_, rest)| rest.split_once('\''))
        {
            entry = name.to_string();
        }
        let used = all.entry(entry.clone()).or_default();
        let numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
        match numbers.collect::<Vec<u32>>()[..] {
            [stack, spill_stores, spill_loads] if line.contains(" bytes spill loads") => {
                *used = Usage { stack, spill_stores, spill_loads, ..*used };
            }
            [registers, ..] if line.contains(" registers") => used.registers = registers,
            _ => assert!(!line.contains(" bytes stack frame"), "{line}"),
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
