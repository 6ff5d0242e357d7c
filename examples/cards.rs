//! Computed, not measured: what si214 at two energies takes at the peak rates of GPUs, as docs/precision.md has it.
//!
//! ```sh
//! eval "$(scripts/tools)"; export GPP_PTXAS GPP_NVDISASM
//! cargo run --release --example cards
//! ```
//!
//! Instructions of the loops over bands are counted in what `ptxas` makes for sm_90, those of a heavy pair by the
//! archived profile of v3, whose formula sums them. The time is that of the busiest: issue slots (4 of each multiprocessor and
//! clock, 32 threads each), lanes of FP32 and of FP64, or the 16 of MUFU, which has reciprocals.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use gpp::problem::synthesis::{DEFAULT_SEED, Synthesis};
use gpp::problem::{Batch, Source as _, System};
use gpp::record::run::RunRecord;
use gpp::record::{self, Profile};

/// Name, TFLOP/s of FP32 at the boost clock, lanes of FP32 of a multiprocessor, and how many for one of FP64.
/// From NVIDIA's data sheets of H100 and H200 SXM, A100, L40S, L4 and HGX B300, and its papers "Ada GPU architecture"
/// and "RTX Blackwell GPU architecture"; the last column also from the CUDA programming guide, "Throughput of native arithmetic
/// instructions".
const CARDS: [(&str, f64, f64, f64); 7] = [
    ("H100, H200", 66.9, 128.0, 2.0),
    ("A100", 19.5, 64.0, 2.0),
    ("L40S", 91.6, 128.0, 64.0),
    ("L4", 30.3, 128.0, 64.0),
    ("RTX 4090", 82.6, 128.0, 64.0),
    ("RTX 5090", 104.8, 128.0, 64.0),
    ("B300", 75.0, 128.0, 64.0),
];

/// Names, `igp` of a thread and of a block, bands of a pass of the loop and of a stage, and the heavy pairs' share.
const VERSIONS: [(&str, [f64; 2], [f64; 2], f64); 4] = [
    ("v13", [2.0, 16.0], [2.0, 8.0], 0.0),
    ("v15", [4.0, 16.0], [2.0, 8.0], 0.0),
    ("s2", [4.0, 32.0], [4.0, 8.0], 0.0),
    ("s4", [4.0, 32.0], [4.0, 8.0], 0.01),
];

/// Bands between two additions to the sum of all, of s2 and s4.
const PART: f64 = 64.0;

/// What limits a time, and how many of it an SM has.
const PIPES: [&str; 4] = ["issue", "FP32", "FP64", "MUFU"];

/// Instructions in all, and of each pipe.
type Counts = [f64; 4];

#[allow(dead_code, reason = "a test of the table has the other functions alone")]
fn main() {
    let tool = |variable, name: &str| std::env::var(variable).unwrap_or(name.into());
    let [ptxas, nvdisasm] = [tool("GPP_PTXAS", "ptxas"), tool("GPP_NVDISASM", "nvdisasm")];
    let dir = tempfile::tempdir().expect("a folder for temporary files");
    let [ptx, image] = ["gpp.ptx", "gpp.cubin"].map(|name| dir.path().join(name));
    let symbols = VERSIONS.map(|(id, ..)| symbol(id));
    let module = gpp::devices::gpu::own().module_of(symbols.iter().map(String::as_str));
    std::fs::write(&ptx, module).expect("room for a file");
    let mut assemble = Command::new(ptxas);
    let done = assemble.args(["-arch", "sm_90", "-o"]).args([&image, &ptx]).status();
    assert!(done.expect("ptxas, as GPP_PTXAS names it").success(), "{assemble:?}");
    let printed = Command::new(nvdisasm).arg("-c").arg(&image).output();
    let printed = printed.expect("nvdisasm, as GPP_NVDISASM names it");
    print!("{}", table(&String::from_utf8_lossy(&printed.stdout)));
}

fn symbol(id: &str) -> String {
    format!("gpp_{id}_real_nw2")
}

/// The table in Markdown, from what `nvdisasm -c` prints of the kernels.
///
/// # Panics
/// If a kernel is not among them.
pub fn table(disassembly: &str) -> String {
    let counts = VERSIONS.map(|of| instructions(disassembly, of));
    let ids = VERSIONS.map(|(id, ..)| id).join(" [ms] | ");
    let mut lines = vec![format!("| GPU | {ids} [ms] |"), "|---|---:|---:|---:|---:|".into()];
    for (name, tflops, lanes, ratio) in CARDS {
        let clocks = tflops * 1e12 / (2.0 * lanes);
        let time = |counts: Counts| {
            let per_clock = [128.0, lanes, lanes / ratio, 16.0];
            let times = (0..4).map(|pipe| (counts[pipe] / per_clock[pipe] / clocks, PIPES[pipe]));
            let (seconds, pipe) = times.max_by(|a, b| a.0.total_cmp(&b.0)).expect("four");
            format!("{} {pipe}", digits(1e3 * seconds))
        };
        lines.push(format!("| {name} | {} |", counts.map(time).join(" | ")));
    }
    let measured = VERSIONS.map(|(id, ..)| {
        let folder = archive().join(if id.starts_with('v') { "si214" } else { "si214-single" });
        let run: RunRecord = record::read(&folder.join("run.json")).expect("an archived run");
        digits(1e3 * run.passed_result(id).expect("a version that was verified").times.median)
    });
    lines.insert(2, format!("| H200, measured | {} |", measured.join(" | ")));
    lines.join("\n") + "\n"
}

fn archive() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data/runs/h200-2026-11-28"))
}

/// Three digits.
fn digits(x: f64) -> String {
    format!("{x:.*}", (2 - x.log10().floor() as i32).max(0) as usize)
}

/// Instructions of all threads of a version.
fn instructions(
    disassembly: &str,
    (id, [tile, igp], [unrolled, stage], heavy): (&str, [f64; 2], [f64; 2], f64),
) -> Counts {
    let is_own = |section: &&str| section.starts_with(&format!("{}:", symbol(id)));
    let code = disassembly.split("\n.text.").find(is_own).expect("the kernel's code");
    let (code, loops) = all_loops(code);
    let within = |all: &Range<usize>, one: &Range<usize>| {
        one != all && all.start <= one.start && one.end <= all.end
    };
    // Loops over a rest of bands load the elements of one.
    let is_hot = |of: &&Range<usize>| {
        let body = &code[(*of).clone()];
        let loads = body.iter().filter(|i| operation(i) == "LDS").count();
        !loops.iter().any(|one| within(of, one)) && loads >= 6 && counted(body)[3] > 0.0
    };
    let hot: Vec<_> = loops.iter().filter(is_hot).collect();

    let system = System::find("si214").expect("a built-in system");
    let bands = bands(system, id);
    assert_eq!(hot.len(), bands.len(), "{id}: loops over bands");
    let igp = (system.ngpown as f64 / igp).ceil() * igp;
    let pairs = igp * system.ncouls.next_multiple_of(32) as f64;
    let mut sum = [0.0; 4];
    for (of, bands) in hot.into_iter().zip(bands) {
        let mut add = |counts: Counts, per_band: f64| {
            (0..4).for_each(|pipe| sum[pipe] += pairs * bands as f64 * counts[pipe] / per_band);
        };
        let own = counted(&code[of.clone()]);
        add(own, tile * unrolled);
        let mut around: Vec<_> = loops.iter().filter(|all| within(all, of)).collect();
        around.sort_by_key(|all| all.len());
        for (all, every) in around.iter().zip([stage, PART]) {
            let inside: Vec<_> = loops.iter().filter(|one| within(all, one)).collect();
            let is_outside = |at: &usize| !inside.iter().any(|one| one.contains(at));
            let rest: Vec<&str> = (*all).clone().filter(is_outside).map(|at| code[at]).collect();
            let mut rest = counted(&rest);
            // Without a loop of its own, an odd band has a copy of the code.
            if inside.len() == 1 && every == stage {
                (0..4).for_each(|pipe| rest[pipe] -= own[pipe] / unrolled);
            }
            add(rest, tile * every);
        }
    }
    let v3: Profile = record::read(&archive().join("si214/profile-v3.json")).expect("v3's profile");
    let terms = heavy * system.extents().terms() as f64 / v3.terms as f64;
    let issued =
        v3.pipes_percent["issue slots"] / 100.0 * v3.cycles.expect("cycles") * 132.0 * 128.0;
    sum[0] += terms * issued;
    sum[2] += terms * (v3.dadd + v3.dmul + v3.dfma);
    sum
}

/// How many bands each loop of a version sums, in the order of the code.
fn bands(system: &System, id: &str) -> Vec<usize> {
    // Bands do not depend on G.
    let few = System { ngpown: 8, ncouls: 64, ..system.clone() };
    let problem = Synthesis::new(&few, DEFAULT_SEED, gpp::output::Progress { shown: false });
    let problem = problem.load().expect("a small problem");
    let plan = Batch::new(&problem, 0..problem.nw().min(2)).plan;
    let (plain, occupied, all) = (plan.plain, plan.occupied(), system.nbands);
    let [plain_far, full, far] = plan.classes(id != "v13");
    let (empty, far_empty) = (far - occupied, all - far);
    match id {
        "v13" => vec![plain, occupied - plain, empty, far_empty],
        "v15" => {
            vec![far_empty, plain_far, empty, plain - plain_far, full - plain, occupied - full]
        }
        _ => vec![plain_far, plain - plain_far, occupied - plain, empty, far_empty],
    }
}

fn counted(code: &[&str]) -> Counts {
    let mut counts = [code.len() as f64, 0.0, 0.0, 0.0];
    for instruction in code {
        match operation(instruction) {
            "FADD" | "FMUL" | "FFMA" => counts[1] += 1.0,
            "DADD" | "DMUL" | "DFMA" | "DSETP" => counts[2] += 1.0,
            "F2F" if instruction.contains("F64") => counts[2] += 1.0,
            "MUFU" => counts[3] += 1.0,
            _ => {}
        }
    }
    counts
}

/// The instructions of a kernel, and where its loops are.
pub fn all_loops(code: &str) -> (Vec<&str>, Vec<Range<usize>>) {
    let mut instructions = Vec::new();
    let mut labels = BTreeMap::new();
    let mut ends = BTreeMap::new();
    for line in code.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, instructions.len());
        }
        let printed = line.strip_prefix("/*").and_then(|line| line.split_once("*/"));
        let Some((_, instruction)) = printed else { continue };
        instructions.push(instruction.trim());
        // A branch back, to a label before it, makes a loop; of those to the same label the last ends it.
        let label = instruction.split_once("`(").and_then(|(_, rest)| rest.split(')').next());
        let target = label.and_then(|label| labels.get(label));
        if let (true, Some(&target)) = (operation(instruction) == "BRA", target) {
            ends.insert(target, instructions.len());
        }
    }
    (instructions, ends.into_iter().map(|(begin, end)| begin..end).collect())
}

/// The operation of `@!P0 LDL.64 R2, [R1+0x8] ;`: `LDL`.
pub fn operation(instruction: &str) -> &str {
    let word = instruction.split_whitespace().find(|word| !word.starts_with('@'));
    word.and_then(|word| word.split(['.', ';']).next()).unwrap_or_default()
}
