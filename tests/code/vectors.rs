//! The machine code of the CPU's kernels: no hot loop has lost its vectors.
//!
//! A function that is not inlined into what an instruction set is switched on for is compiled without it,
//! and its vectors are handed over in memory: the sums stay right and the time is ten times as long.

use std::collections::BTreeMap;

use gpp_cpu::versions::{CPU, SIGMA};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

struct Function<'a> {
    name: String,
    address: u64,
    code: &'a [u8],
}

fn functions<'a>(file: &object::File<'a>) -> BTreeMap<u64, Function<'a>> {
    let of_symbol = |symbol: object::Symbol<'a, '_>| {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let code = section.data_range(symbol.address(), symbol.size()).ok()??;
        let name = rustc_demangle::demangle(symbol.name().ok()?).to_string();
        (symbol.kind() == SymbolKind::Text && !code.is_empty())
            .then_some((symbol.address(), Function { name, address: symbol.address(), code }))
    };
    file.symbols().filter_map(of_symbol).collect()
}

fn instructions(code: &[u8], address: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter().collect()
}

/// Where an instruction goes, if it jumps or calls directly.
fn target(instruction: &Instruction) -> Option<u64> {
    let near = matches!(instruction.op0_kind(), OpKind::NearBranch64 | OpKind::NearBranch32);
    near.then(|| instruction.near_branch_target())
}

/// The innermost loops of a function: from where a branch goes back to up to the last one that does.
fn innermost(code: &[Instruction]) -> Vec<&[Instruction]> {
    let at = |address: u64| code.binary_search_by_key(&address, Instruction::ip).ok();
    let mut ends = BTreeMap::new();
    for (end, one) in code.iter().enumerate() {
        let jumps = [FlowControl::ConditionalBranch, FlowControl::UnconditionalBranch];
        let begin = target(one).filter(|_| jumps.contains(&one.flow_control())).and_then(at);
        if let Some(begin) = begin.filter(|begin| *begin <= end) {
            ends.insert(begin, end);
        }
    }
    let holds_another = |begin: usize, end: usize| {
        ends.iter().any(|(&b, &e)| (b, e) != (begin, end) && begin <= b && e <= end)
    };
    let innermost = ends.iter().filter(|&(&begin, &end)| !holds_another(begin, end));
    innermost.map(|(&begin, &end)| &code[begin..=end]).collect()
}

/// Multiplications of FP64 numbers: of all lanes (`pd`), or of one (`sd`).
fn multiplications(code: &[Instruction], ending: &str) -> usize {
    let multiplies = |instruction: &&Instruction| {
        let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let name = name.trim_start_matches('v');
        // What adds alone gathers what vectors have summed.
        let kinds = ["mul", "div", "fmadd", "fmsub", "fnmadd", "fnmsub", "sqrt"];
        kinds.iter().any(|kind| name.starts_with(kind)) && name.ends_with(ending)
    };
    code.iter().filter(multiplies).count()
}

/// What is wrong with a function of vectors of so many numbers, whose callees are named by `called`.
fn faults(
    code: &[Instruction],
    lanes: usize,
    called: impl Fn(u64) -> Option<String>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let calls = code.iter().filter(|one| one.flow_control() == FlowControl::Call);
    for name in calls.filter_map(target).filter_map(called) {
        if name.starts_with("core::ptr::drop_in_place") {
            continue;
        }
        // Closures and adapters of the library among them.
        let strayed = "fearless_simd gpp_cpu::definition gpp_cpu::expansion gpp_cpu::simd \
                       gpp_cpu::planned::AnyPoles gpp_cpu::planned::RealPole gpp_cpu::planned::Split \
                       gpp_cpu::planned::static_sums gpp_cpu::planned::PairVector gpp_cpu::planned::PairSums \
                       gpp_cpu::planned::BandSums gpp_cpu::planned::PerBand core::array core::iter";
        if strayed.split(' ').any(|path| name.contains(path)) || name.contains("{{closure}}") {
            faults.push(format!("calls {name}"));
        }
    }
    for body in innermost(code) {
        let [packed, single] = ["pd", "sd"].map(|ending| multiplications(body, ending));
        // A vector taken apart is an operation for each of its numbers; what is of a band alone, and
        // handed to all of them, is one.
        if single >= lanes {
            let at = body[0].ip();
            faults.push(format!("loop at {at:#x}: {single} of one number, {packed} of vectors"));
        }
    }
    faults
}

#[test]
fn hot_loops_keep_their_vectors() {
    let program = std::fs::read(assert_cmd::cargo::cargo_bin("gpp")).unwrap();
    let file = object::File::parse(&*program).unwrap();
    let functions = functions(&file);
    let called = |address: u64| functions.get(&address).map(|function| function.name.clone());
    // Some are for real poles or for any, and for 1 to 3 energies each.
    let in_vectors = [CPU, SIGMA].concat().into_iter().filter(|version| version.in_vectors);
    let kernels = in_vectors.map(|version| version.kernels.len()).sum::<usize>();
    assert!(kernels >= 5, "{kernels}");
    let mut strayed = Vec::new();
    for (level, registers, lanes) in [("avx2", "ymm", 4), ("avx512", "zmm", 8)] {
        let mut with_vectors = 0;
        let marked = format!("vectorize_{level}");
        for function in functions.values().filter(|function| function.name.contains(&marked)) {
            let code = instructions(function.code, function.address);
            let found = faults(&code, lanes, called);
            strayed.extend(found.iter().map(|fault| format!("{}: {fault}", function.name)));
            let is_hot = |body: &&[Instruction]| {
                let fused = |one: &&Instruction| {
                    let name = format!("{:?}", one.mnemonic());
                    let register = format!("{:?}", one.op0_register()).to_lowercase();
                    name.starts_with("Vf")
                        && name.ends_with("pd")
                        && register.starts_with(registers)
                };
                body.iter().filter(fused).count() >= 4
            };
            with_vectors += usize::from(innermost(&code).iter().any(is_hot));
        }
        // The kernels, and the static CH.
        assert!(with_vectors > kernels, "{level}: {with_vectors} of {kernels} kernels and one");
    }
    assert!(strayed.is_empty(), "{strayed:#?}");
}
