//! The machine code of the processor's kernels: no hot loop has lost its vectors.
//!
//! A function that is not inlined into what an instruction set is switched on for is compiled without it,
//! and its vectors are handed over in memory: the sums stay right and the time is ten times as long.
#![cfg(target_arch = "x86_64")]

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::code_asm::{CodeAssembler, registers as reg};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use petgraph::Direction;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use petgraph::visit::NodeFiltered;

/// A function of the program.
struct Function<'a> {
    name: String,
    address: u64,
    code: &'a [u8],
}

/// The functions of a program, by address.
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

/// Where the code may go on from each instruction, by address.
fn paths(code: &[Instruction]) -> DiGraphMap<u64, ()> {
    let within = |at: u64| code.binary_search_by_key(&at, Instruction::ip).is_ok();
    let mut paths = DiGraphMap::new();
    for one in code {
        let (jumps, goes_on) = match one.flow_control() {
            FlowControl::ConditionalBranch => (true, true),
            FlowControl::UnconditionalBranch => (true, false),
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => (false, true),
            _ => (false, false),
        };
        let to = target(one).filter(|_| jumps);
        let next = goes_on.then_some(one.next_ip());
        for to in to.into_iter().chain(next).filter(|&at| within(at)) {
            paths.add_edge(one.ip(), to, ());
        }
    }
    paths
}

/// The innermost loops of some instructions: those without a cycle once their entry is taken away.
fn innermost_of(paths: &DiGraphMap<u64, ()>, among: &BTreeSet<u64>) -> Vec<BTreeSet<u64>> {
    let mut innermost = Vec::new();
    for cycle in tarjan_scc(&NodeFiltered::from_fn(paths, |at| among.contains(&at))) {
        let mut body: BTreeSet<u64> = cycle.into_iter().collect();
        let lowest = *body.first().expect("a component has a node");
        if body.len() == 1 && !paths.contains_edge(lowest, lowest) {
            continue;
        }
        let is_entered = |&&at: &&u64| {
            paths.neighbors_directed(at, Direction::Incoming).any(|from| !body.contains(&from))
        };
        let entry = *body.iter().find(is_entered).unwrap_or(&lowest);
        body.remove(&entry);
        let inner = innermost_of(paths, &body);
        if inner.is_empty() {
            body.insert(entry);
            innermost.push(body);
        } else {
            innermost.extend(inner);
        }
    }
    innermost
}

/// The innermost loops of a function.
fn innermost(code: &[Instruction]) -> Vec<Vec<Instruction>> {
    let paths = paths(code);
    let of = |body: BTreeSet<u64>| code.iter().filter(move |one| body.contains(&one.ip())).copied();
    let loops = innermost_of(&paths, &paths.nodes().collect());
    loops.into_iter().map(|body| of(body).collect()).collect()
}

/// Multiplications of FP64 numbers: all lanes, or one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Arithmetic {
    packed: usize,
    single: usize,
}

fn arithmetic(code: &[Instruction]) -> Arithmetic {
    let mut found = Arithmetic::default();
    for instruction in code {
        let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let name = name.trim_start_matches('v');
        // What adds alone gathers what vectors have summed.
        let multiplies = ["mul", "div", "fmadd", "fmsub", "fnmadd", "fnmsub", "sqrt"];
        if multiplies.iter().any(|kind| name.starts_with(kind)) {
            found.packed += usize::from(name.ends_with("pd"));
            found.single += usize::from(name.ends_with("sd"));
        }
    }
    found
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
        // Closures and adapters of the library among them.
        let strayed = [
            "fearless_simd",
            "gpp_cpu::definition",
            "gpp_cpu::fractions",
            "gpp_cpu::lanes",
            "gpp_cpu::planned::Place",
            "gpp_cpu::planned::Running",
            "gpp_cpu::planned::reciprocals",
            "core::array",
            "core::iter",
        ];
        if strayed.iter().any(|path| name.contains(path)) || name.contains("{{closure}}") {
            faults.push(format!("calls {name}"));
        }
    }
    for body in innermost(code) {
        let Arithmetic { packed, single } = arithmetic(&body);
        // A vector taken apart is an operation for each of its numbers; what is of a band alone, and
        // handed to all of them, is one.
        if single >= lanes {
            faults.push(format!(
                "the loop at {:#x} multiplies {single} times one number, {packed} times vectors",
                body[0].ip()
            ));
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
    // Real and any poles, with each way to write the terms: see cpu/src/versions.
    let kernels = {
        let mut kernels: Vec<usize> = gpp_cpu::versions::CPU
            .iter()
            .flat_map(|version| version.kernels)
            .filter(|kernel| kernel.in_vectors)
            .map(gpp_cpu::version::Kernel::address)
            .collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels.len()
    };
    assert!(kernels >= 8, "{kernels}");
    let mut strayed = Vec::new();
    for (level, registers, lanes) in [("avx2", "ymm", 4), ("avx512", "zmm", 8)] {
        let mut with_vectors = 0;
        for function in functions.values() {
            if !function.name.contains(&format!("vectorize_{level}")) {
                continue;
            }
            let code = instructions(function.code, function.address);
            let found = faults(&code, lanes, called);
            strayed.extend(found.iter().map(|fault| format!("{}: {fault}", function.name)));
            let is_hot = |body: &Vec<Instruction>| {
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
        // The kernels, and the chains of operations that measure the processor's peak.
        assert!(with_vectors > kernels, "{level}: {with_vectors} of {kernels} kernels and one");
    }
    assert!(strayed.is_empty(), "{strayed:#?}");
}

/// A loop of four multiplications, and a call.
fn made(vectors: bool) -> Vec<Instruction> {
    let mut assembler = CodeAssembler::new(64).unwrap();
    let mut begin = assembler.create_label();
    assembler.set_label(&mut begin).unwrap();
    for _ in 0..4 {
        if vectors {
            assembler.vmulpd(reg::zmm0, reg::zmm1, reg::zmm2).unwrap();
        } else {
            assembler.vmulsd(reg::xmm0, reg::xmm1, reg::xmm2).unwrap();
        }
    }
    assembler.dec(reg::eax).unwrap();
    assembler.jne(begin).unwrap();
    assembler.call(0x9000).unwrap();
    instructions(&assembler.assemble(0x1000).unwrap(), 0x1000)
}

#[test]
fn what_strayed_is_found() {
    assert!(made(true).iter().any(|one| one.mnemonic() == Mnemonic::Vmulpd));
    assert_eq!(faults(&made(true), 4, |_| Some("memcpy".into())), [""; 0]);
    assert_eq!(faults(&made(false), 4, |_| None).len(), 1);
    let strayed = |_| Some("<fearless_simd::Avx512 as Simd>::mul_f64x8".into());
    assert_eq!(faults(&made(true), 4, strayed).len(), 1);
}
