//! The machine code of the processor's kernels: no hot loop has lost its vectors.
//!
//! A function that is not inlined into what an instruction set is switched on for is compiled without it,
//! and its vectors are handed over in memory: the sums stay right and the time is ten times as long.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeMap;

use iced_x86::code_asm::{CodeAssembler, registers as reg};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

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

/// The innermost loops: from the target of a jump backwards to the jump, without another in between.
fn innermost(code: &[Instruction]) -> Vec<&[Instruction]> {
    let first = code.first().map_or(0, Instruction::ip);
    let at = |address: u64| code.binary_search_by_key(&address, Instruction::ip).ok();
    let jumps_back = |end: usize| {
        let jump = &code[end];
        let jumps = matches!(
            jump.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        let to = target(jump).filter(|&to| jumps && first <= to && to <= jump.ip())?;
        Some((at(to)?, end))
    };
    let loops: Vec<(usize, usize)> = (0..code.len()).filter_map(jumps_back).collect();
    let holds = |outer: &(usize, usize), inner: &(usize, usize)| {
        outer != inner && outer.0 <= inner.0 && inner.1 <= outer.1
    };
    let is_innermost = |one: &&(usize, usize)| !loops.iter().any(|other| holds(one, other));
    loops.iter().filter(is_innermost).map(|&(begin, end)| &code[begin..=end]).collect()
}

/// Arithmetic of FP64 numbers: all lanes, or one.
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
        let computes = ["add", "sub", "mul", "div", "fmadd", "fmsub", "fnmadd", "fnmsub", "sqrt"];
        if computes.iter().any(|kind| name.starts_with(kind)) {
            found.packed += usize::from(name.ends_with("pd"));
            found.single += usize::from(name.ends_with("sd"));
        }
    }
    found
}

/// What is wrong with a function of vectors, whose callees are named by `called`.
fn faults(code: &[Instruction], called: impl Fn(u64) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let calls = code.iter().filter(|one| one.flow_control() == FlowControl::Call);
    for name in calls.filter_map(target).filter_map(called) {
        // Closures and adapters of the library among them.
        let strayed =
            ["fearless_simd", "gpp_cpu::lanes", "gpp_cpu::fractions", "core::array", "core::iter"];
        if strayed.iter().any(|path| name.contains(path)) || name.contains("{{closure}}") {
            faults.push(format!("calls {name}"));
        }
    }
    for body in innermost(code) {
        let Arithmetic { packed, single } = arithmetic(body);
        if packed + single >= 4 && single > 0 {
            faults.push(format!(
                "the loop at {:#x} computes {single} times with one number, {packed} with vectors",
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
    for (level, registers) in [("avx2", "ymm"), ("avx512", "zmm")] {
        let mut with_vectors = 0;
        for function in functions.values() {
            if !function.name.contains(&format!("vectorize_{level}")) {
                continue;
            }
            let code = instructions(function.code, function.address);
            let faults = faults(&code, called);
            assert!(faults.is_empty(), "{} at {:#x}: {faults:#?}", function.name, function.address);
            let hot = innermost(&code).into_iter().filter(|body| {
                let fused = |one: &&Instruction| {
                    let name = format!("{:?}", one.mnemonic());
                    let register = format!("{:?}", one.op0_register()).to_lowercase();
                    name.starts_with("Vf")
                        && name.ends_with("pd")
                        && register.starts_with(registers)
                };
                body.iter().filter(fused).count() >= 4
            });
            // A loop for each number of energies.
            with_vectors += usize::from(hot.count() >= 3);
        }
        assert!(with_vectors >= kernels, "{level}: {with_vectors} of {kernels} kernels");
    }
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
    assert_eq!(faults(&made(true), |_| Some("memcpy".into())), [""; 0]);
    assert_eq!(faults(&made(false), |_| None).len(), 1);
    let strayed = |_| Some("<fearless_simd::Avx512 as Simd>::mul_f64x8".into());
    assert_eq!(faults(&made(true), strayed).len(), 1);
}
