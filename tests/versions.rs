//! Every version's body on the host against the serial reference, and the lists' own rules.

mod common;

use std::collections::HashSet;

use common::{FIXTURES, Kind, Make, QUIET, assorted, fixture, make};
use gpp::catalogue::BEST;
use gpp::devices::Device;
use gpp::devices::emulator::Emulator;
use gpp::experiments::measure::same_bits;
use gpp::kernels::emulator;
use gpp::kernels::grid::{self, Collapsed, Thread};
use gpp::kernels::kernel::{Extents, Gpu, Kernel, Loops};
use gpp::kernels::plan::Poles;
use gpp::kernels::sums::VALUES;
use gpp::kernels::table::{EnergiesFrom, Table};
use gpp::kernels::versions::{self, ALL, PAPER, PAST};
use gpp::problem::{Header, Problem, synthesis, systems};
use gpp::reference;
use gpp::reference::verify::{Outcome, verify};
use proptest::prelude::*;

/// All versions on the host: every output within the tolerance, the same bits twice.
fn check(problem: &Problem) {
    let device = Emulator::new();
    let mut loaded = device.load(problem).unwrap();
    let reference = reference::of(problem, QUIET).unwrap();
    for version in ALL {
        let (sums, _) = loaded.run(version).unwrap();
        let (again, _) = loaded.run(version).unwrap();
        assert!(same_bits(&sums, &again), "{} of {}", version.id(), problem.name);
        let verification = verify(problem, &problem.start.plus(&sums), Some(&reference));
        assert_eq!(
            verification.outcome,
            Outcome::Passed,
            "{} of {}: {verification:?}",
            version.id(),
            problem.name
        );
    }
}

#[test]
fn fixtures() {
    for name in FIXTURES {
        check(&fixture(name));
    }
}

#[test]
fn assorted_sizes_energies_and_branches() {
    for made in assorted() {
        check(&make(made));
    }
}

#[test]
fn a_grid_at_its_cap_strides() {
    let made = Make { nbands: 131, ngpown: 129, ncouls: 521, nw: 1, kind: Kind::Mixed, seed: 7 };
    let Make { nbands, ngpown, ncouls, .. } = made;
    assert!(nbands as u64 * ngpown as u64 * ncouls as u64 > u64::from(grid::MAX_BLOCKS) * 128);
    check(&make(made));
}

#[test]
fn built_in_tiny_systems() {
    for name in ["tiny", "tiny-complex"] {
        check(&synthesis::synthesise(systems::find(name).unwrap(), 3, QUIET).unwrap());
    }
}

/// Poles a bound or its neighbouring numbers away from an energy, on both sides of both bounds.
#[test]
fn poles_at_the_bound_between_the_branches() {
    for imaginary in [0.0, 0.3] {
        let made = Make { nbands: 9, ngpown: 7, ncouls: 60, nw: 2, kind: Kind::Real, seed: 5 };
        let mut problem = make(made);
        let mut distances = Vec::new();
        for distance in [0.5, (0.25f64 - imaginary * imaginary).sqrt()] {
            distances.extend([distance, distance.next_up(), distance.next_down()]);
            distances.extend([1e-14, 1e-10, 3e-7, 1e-5].map(|part| distance * (1.0 + part)));
        }
        for (at, mode) in problem.wtilde.iter_mut().enumerate() {
            let w = problem.wx[at % problem.wx.len()];
            let distance = distances[at % distances.len()];
            let side = if at % 3 == 0 { -1.0 } else { 1.0 };
            *mode = num_complex::Complex64::new(w + side * distance, imaginary);
        }
        check(&problem);
    }
}

#[test]
fn any_occupation_and_any_order_of_bands() {
    for kind in [Kind::Mixed, Kind::Real] {
        let made = Make { nbands: 37, ngpown: 5, ncouls: 70, nw: 3, kind, seed: 11 };
        let mut problem = make(made);
        for (n, occ) in problem.occ.iter_mut().enumerate() {
            *occ = [1.0, 0.0, 0.5, 0.25, 1.0][n * 7 % 5];
        }
        check(&problem);
    }
}

#[test]
fn plan_of_a_system() {
    let quiet = QUIET;
    for (name, poles) in [("tiny", Poles::Real), ("tiny-complex", Poles::Any)] {
        let problem = synthesis::synthesise(systems::find(name).unwrap(), 3, quiet).unwrap();
        let plan = problem.plan();
        assert_eq!((plan.poles, plan.plain, plan.occupied), (poles, 11, 11), "{name}");
        assert_eq!((plan.far_begin, plan.table.half), (14, 0.5), "{name}");
        assert!(plan.keeps_order());
        // Pairs of no weight are masked and not listed.
        for takes in [Poles::Any, poles] {
            let odd = plan.odd(takes);
            let masked: u32 = odd.mask.iter().map(|word| word.count_ones()).sum();
            assert!(masked as usize >= odd.pairs.len());
            assert!(odd.pairs.len() < problem.wtilde.len() / 20, "{}", odd.pairs.len());
        }
        // Real poles are added without cancellation, so fewer of them are odd.
        assert!(plan.odd(poles).pairs.len() <= plan.odd(Poles::Any).pairs.len());
    }
    let mixed = make(Make { nbands: 9, ngpown: 3, ncouls: 40, nw: 3, kind: Kind::Mixed, seed: 2 });
    let plan = mixed.plan();
    assert!(!plan.keeps_order() && plan.plain < plan.occupied && plan.occupied < 9);
    assert!(!plan.odd(Poles::Any).pairs.is_empty());
    assert_eq!(plan.table.wx.len(), 27);
}

#[test]
fn energies_whose_difference_is_no_constant() {
    for name in ["tiny", "tiny-complex"] {
        let system = systems::find(name).unwrap();
        let mut problem = synthesis::synthesise(system, 3, QUIET).unwrap();
        let halved = problem.plan();
        for band in problem.wx.chunks_mut(2).skip(1).step_by(3) {
            band[1] += 1e-9;
        }
        let plan = problem.plan();
        assert!(halved.far_begin < plan.far_begin && plan.far_begin < 21, "{name}");
        check(&problem);
    }
}

#[test]
fn a_pole_hit_exactly_is_zero_in_every_version() {
    let made = Make { nbands: 5, ngpown: 3, ncouls: 40, nw: 2, kind: Kind::First, seed: 9 };
    let mut problem = make(made);
    for (at, mode) in problem.wtilde.iter_mut().enumerate() {
        let w = problem.wx[at % problem.wx.len()];
        *mode = num_complex::Complex64::new(if at % 2 == 0 { w } else { -w }, 0.0);
    }
    // At ω̃ = −w > 0 the term is infinite and cut off; w > 0 there is no bound: leave those out.
    for w in &mut problem.wx {
        *w = -w.abs();
    }
    check(&problem);
}

#[test]
fn too_little_host_memory_says_how_much() {
    let error = gpp::devices::emulator::require_memory("a system", u64::MAX / 2).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(text.starts_with("not enough host memory for a system: "), "{text}");
    assert!(text.contains("MiB needed") && text.contains("MiB free"), "{text}");
    gpp::devices::emulator::require_memory("nothing", 1).unwrap();
}

#[test]
fn lists_are_complete_and_without_duplicates() {
    let ids: HashSet<_> = ALL.iter().map(|v| v.id()).collect();
    let kernels = || ALL.iter().flat_map(|v| v.all_kernels());
    let entries = || kernels().flat_map(|kernel| kernel.entries);
    let symbols: HashSet<_> = entries().map(|entry| entry.symbol).collect();
    assert_eq!(ids.len(), ALL.len());
    assert_eq!(symbols.len(), entries().count());
    assert_eq!(ALL.len(), PAPER.len() + PAST.len());
    for version in ALL {
        let what = version.version;
        assert!(!what.change.is_empty() && !what.source.is_empty());
        for poles in [Poles::Any, Poles::Real] {
            assert!(version.kernel(poles).poles.admits(poles), "{}", what.id);
        }
        let reads_constants =
            |kernel: &Kernel| kernel.energies_from == EnergiesFrom::ConstantMemory;
        let needs = version.all_kernels().any(reads_constants);
        assert_eq!(needs, version.beyond.is_some(), "{}", what.id);
        if let Some(other) = version.beyond {
            assert!(!other.kernels.iter().any(reads_constants), "{}", what.id);
            assert!(std::ptr::eq(version.holding(Table::CONSTANT), *version));
            assert!(std::ptr::eq(version.holding(Table::CONSTANT + 1), other));
        }
    }
    for kernel in kernels() {
        assert_eq!(kernel.threads % 32, 0);
        assert!(kernel.threads <= 512);
        for nw in 1..=3 {
            let entry = kernel.entry(nw).unwrap();
            assert_eq!(kernel.launches(nw).len() * entry.energies as usize, nw, "{}", entry.symbol);
        }
        for entry in kernel.entries {
            let (version, of, found) = versions::find(entry.symbol).unwrap();
            assert_eq!((found.symbol, of.loops), (entry.symbol, kernel.loops));
            assert!(entry.symbol.starts_with(&format!("gpp_{}", version.id())));
        }
    }
    assert!(versions::find("gpp_v").is_none());
}

/// Every block of a tiled grid has a slot of its own, those of a group stand together, and a group's
/// pairs are all summed once.
#[test]
fn slots_and_groups() {
    for kernel in ALL.iter().flat_map(|v| v.all_kernels()) {
        let Loops::Tiled(shape) = kernel.loops else { continue };
        for (ngpown, ncouls, odd_of_each) in [(1, 1, 0), (53, 70, 3), (96, 64, 40), (97, 65, 1)] {
            let odd_begins: Vec<u32> = (0..=ngpown).map(|igp| igp * odd_of_each).collect();
            let extents = Extents { nbands: 9, ngpown, ncouls, nw: 2, odd_begins: &odd_begins };
            assert_eq!(kernel.exceeded(&extents), None);
            let grid = kernel.grid(&extents);
            assert_eq!(grid.groups, ngpown.div_ceil(shape.igp()));
            let slots: HashSet<u32> = (0..grid.blocks()).map(|block| grid.slot(block)).collect();
            assert_eq!(slots.len() as u32, grid.blocks());
            for block in 0..grid.blocks() {
                let (group, number) = grid.place(block);
                let slot = grid.slot(block);
                assert_eq!(slot / grid.per_group(), group);
                // Tiles first, so that more odd blocks leave their places as they are.
                let first = if grid.is_odd(block) { grid.ig_blocks } else { 0 };
                assert_eq!(slot % grid.per_group(), first + number);
            }
            let most = odd_of_each * shape.igp().min(ngpown);
            assert_eq!(grid.odd_blocks, most.div_ceil(shape.threads()));
        }
    }
}

/// Some `igp` of a problem.
fn slab(problem: &Problem, igp: std::ops::Range<usize>) -> Problem {
    let Header { ngpown, ncouls, .. } = problem.header;
    let mut part = problem.clone();
    part.header.ngpown = igp.len();
    part.wtilde = problem.wtilde[igp.start * ncouls..igp.end * ncouls].to_vec();
    part.eps = problem.eps[igp.start * ncouls..igp.end * ncouls].to_vec();
    part.vcoul_loc = problem.vcoul_loc[igp.clone()].to_vec();
    let bands = problem.aqsm_local.chunks(ngpown);
    part.aqsm_local = bands.flat_map(|band| &band[igp.clone()]).copied().collect();
    part
}

/// A group has the same bits alone, in a slab of several, and beside one with more odd pairs.
#[test]
fn groups_have_the_same_bits_in_every_slab() {
    for kind in [Kind::Mixed, Kind::Real] {
        let made = Make { nbands: 19, ngpown: 96, ncouls: 70, nw: 2, kind, seed: 4 };
        let whole = make(made);
        let of = |problem: &Problem, version: &Gpu| -> Vec<Vec<u64>> {
            let plan = problem.plan();
            let kernel = plan.kernel(version);
            let layout = problem.reordered(kernel.layout, &plan);
            let arrays = problem.arrays(&layout, plan.view(kernel));
            let grid = kernel.grid(&plan.extents(&problem.header, kernel));
            let entry = kernel.entry(problem.nw()).unwrap();
            let mut sums = vec![vec![f64::NAN; 2 * VALUES]; grid.blocks() as usize];
            for block in 0..grid.blocks() {
                // SAFETY: the launch contract: arrays and plan are of one problem, which lives.
                let found = unsafe { emulator::run_block(entry.host, &arrays, 0, block, grid) };
                sums[grid.slot(block) as usize].copy_from_slice(&found[..2 * VALUES]);
            }
            let of_group = |group: &[Vec<f64>]| -> Vec<u64> {
                (0..2 * VALUES)
                    .map(|value| group.iter().map(|sums| sums[value]).collect::<Vec<_>>())
                    .map(|partials| emulator::second_stage(&partials).to_bits())
                    .collect()
            };
            sums.chunks(grid.per_group() as usize).map(of_group).collect()
        };
        for version in PAST {
            let (together, alone): (Vec<_>, Vec<_>) = (
                of(&whole, version),
                [0..48, 48..96]
                    .into_iter()
                    .flat_map(|range| of(&slab(&whole, range), version))
                    .collect(),
            );
            assert_eq!(together, alone, "{}", version.id());
        }
    }
}

#[test]
fn extents_that_wrap_are_found() {
    let extents = Extents { nbands: 10, ngpown: 1 << 19, ncouls: 100, nw: 2, odd_begins: &[] };
    for version in ALL {
        let kernel = version.kernel(Poles::Real);
        let found = kernel.exceeded(&extents).map(|exceeded| exceeded.what);
        let wraps = matches!(kernel.loops, Loops::Blocked { .. });
        assert_eq!(found, wraps.then_some("iterations of the collapsed loops"), "{}", version.id());
        let less = Extents { ngpown: (1 << 19) - 1, ..extents };
        assert_eq!(kernel.exceeded(&less), None);
        let larger = Extents { ncouls: 1 << 13, ..extents };
        assert_eq!(kernel.exceeded(&larger).unwrap().what, "elements of wtilde");
    }
}

#[test]
fn every_shape_of_tiles() {
    for kind in [Kind::Mixed, Kind::Real] {
        for nw in 1..=3 {
            let made = Make { nbands: 19, ngpown: 27, ncouls: 70, nw, kind, seed: 4 };
            let problem = make(made);
            let device = Emulator::new();
            let mut loaded = device.load(&problem).unwrap();
            let reference = reference::of(&problem, QUIET).unwrap();
            let poles = loaded.plan().poles;
            assert_eq!(poles == Poles::Real, kind == Kind::Real);
            for kernel in gpp::catalogue::tuned::shapes(BEST, poles) {
                let version = gpp::catalogue::tuned::with(BEST, kernel, Some(96));
                let (sums, _) = loaded.run(version).unwrap();
                let verification = verify(&problem, &problem.start.plus(&sums), Some(&reference));
                let shape = kernel.loops;
                assert_eq!(verification.outcome, Outcome::Passed, "{shape:?}: {verification:?}");
            }
        }
    }
}

#[test]
fn tuned_shapes_have_kernels() {
    use gpp::catalogue::tuned::{Overrides, TUNED, shaped};
    assert!(!TUNED.is_empty());
    for tuned in TUNED.iter() {
        let poles = if tuned.poles == "real" { Poles::Real } else { Poles::Any };
        assert_eq!(tuned.poles, gpp::catalogue::tuned::name(poles));
        shaped(BEST, &tuned.device, poles, Overrides::default()).unwrap();
    }
    let wider = Overrides { warps: Some(16), tile: Some(1), registers: None };
    let version = shaped(BEST, "any", Poles::Real, wider).unwrap();
    assert_eq!((version.kernel(Poles::Real).threads, version.id()), (512, BEST.id()));
    let none = Overrides { tile: Some(9), ..Overrides::default() };
    assert!(shaped(BEST, "any", Poles::Real, none).is_err());
    // Other versions have the shape that they are about.
    assert_eq!(shaped(ALL[8], "any", Poles::Real, none).unwrap().id(), "v8");
}

proptest! {
    /// The threads of a grid go through every index of three collapsed loops exactly once.
    #[test]
    fn collapsed_loops_visit_everything_once(
        outer in 1u32..9, middle in 1u32..9, inner in 1u32..40, count in 1u32..200,
    ) {
        let mut seen = vec![0; (outer * middle * inner) as usize];
        for index in 0..count {
            let stride = Collapsed::split(count, middle, inner);
            let mut at = Collapsed::split(index, middle, inner);
            while at.outer < outer {
                prop_assert!(at.middle < middle && at.inner < inner);
                seen[((at.outer * middle + at.middle) * inner + at.inner) as usize] += 1;
                at = at.advance(stride, middle, inner);
            }
        }
        prop_assert!(seen.iter().all(|&times| times == 1));
    }

    /// So do strided shares, also where the next index would not fit 32 bits.
    #[test]
    fn strided_shares_visit_everything_once(items in 1u32..1000, count in 1u32..1000) {
        let mut seen = vec![0; items as usize];
        for index in 0..count {
            for at in Thread::of(0, index, 1, count).strided(items) {
                seen[at as usize] += 1;
            }
        }
        prop_assert!(seen.iter().all(|&times| times == 1));
        let last = Thread::of(0, u32::MAX - 5, 1, 33_553_920);
        prop_assert_eq!(last.strided(u32::MAX).count(), 1);
    }
}
