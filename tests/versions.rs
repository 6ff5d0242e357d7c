//! Every version's body on the host against the serial reference, and the registry's own rules.

mod common;

use std::collections::HashSet;

use common::{FIXTURES, Kind, Make, QUIET, assorted, changed, fixture, make};
use gpp::devices::Device;
use gpp::devices::emulator::Emulator;
use gpp::experiments::measure::same_bits;
use gpp::kernels::grid::{self, Collapsed, Thread};
use gpp::kernels::registry::{Poles, VERSIONS, Version};
use gpp::problem::{Problem, synthesis, systems};
use gpp::reference;
use gpp::reference::verify::{Outcome, verify};
use proptest::prelude::*;

/// All versions on the host: every output within the tolerance, the same bits twice.
fn check(problem: &Problem) {
    let device = Emulator::new();
    let mut loaded = device.load(problem).unwrap();
    let reference = reference::of(problem, QUIET).unwrap();
    for version in VERSIONS {
        let (sums, _) = loaded.run(version).unwrap();
        let (again, _) = loaded.run(version).unwrap();
        assert!(same_bits(&sums, &again), "{} of {}", version.id, problem.name());
        let verification = verify(problem, &problem.start().plus(&sums), Some(&reference));
        assert_eq!(
            verification.outcome,
            Outcome::Passed,
            "{} of {}: {verification:?}",
            version.id,
            problem.name()
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
        let mut distances = Vec::new();
        for distance in [0.5, (0.25f64 - imaginary * imaginary).sqrt()] {
            distances.extend([distance, distance.next_up(), distance.next_down()]);
            distances.extend([1e-14, 1e-10, 3e-7, 1e-5].map(|part| distance * (1.0 + part)));
        }
        let problem = changed(make(made), |wtilde, wx, _| {
            for (at, mode) in wtilde.iter_mut().enumerate() {
                let w = wx[at % wx.len()];
                let distance = distances[at % distances.len()];
                let side = if at % 3 == 0 { -1.0 } else { 1.0 };
                *mode = num_complex::Complex64::new(w + side * distance, imaginary);
            }
        });
        check(&problem.unwrap());
    }
}

#[test]
fn any_occupation_and_any_order_of_bands() {
    for kind in [Kind::Mixed, Kind::Real] {
        let made = Make { nbands: 37, ngpown: 5, ncouls: 70, nw: 3, kind, seed: 11 };
        let problem = changed(make(made), |_, _, occ| {
            for (n, occ) in occ.iter_mut().enumerate() {
                *occ = [1.0, 0.0, 0.5, 0.25, 1.0][n * 7 % 5];
            }
        });
        check(&problem.unwrap());
    }
}

#[test]
fn plan_of_a_system() {
    let quiet = QUIET;
    for (name, poles) in [("tiny", Poles::Real), ("tiny-complex", Poles::Any)] {
        let problem = synthesis::synthesise(systems::find(name).unwrap(), 3, quiet).unwrap();
        let plan = problem.plan();
        assert_eq!((plan.poles(), plan.plain(), plan.occupied()), (poles, 11, 11), "{name}");
        assert_eq!((plan.first_far(), plan.table().half()), (14, 0.5), "{name}");
        assert!(plan.keeps_order());
        // Pairs of no weight are masked and not listed.
        for takes in [Poles::Any, poles] {
            let odd = plan.odd(takes);
            let masked: u32 = odd.mask().iter().map(|word| word.count_ones()).sum();
            assert!(masked as usize >= odd.pairs().len());
            assert!(odd.pairs().len() < problem.wtilde().len() / 20, "{}", odd.pairs().len());
        }
        // Real poles are added without cancellation, so fewer of them are odd.
        assert!(plan.odd(poles).pairs().len() <= plan.odd(Poles::Any).pairs().len());
    }
    let mixed = make(Make { nbands: 9, ngpown: 3, ncouls: 40, nw: 3, kind: Kind::Mixed, seed: 2 });
    let plan = mixed.plan();
    assert!(!plan.keeps_order() && plan.plain() < plan.occupied() && plan.occupied() < 9);
    assert!(!plan.odd(Poles::Any).pairs().is_empty());
    assert_eq!(plan.table().wx().len(), 27);
}

#[test]
fn energies_whose_difference_is_no_constant() {
    for name in ["tiny", "tiny-complex"] {
        let system = systems::find(name).unwrap();
        let problem = synthesis::synthesise(system, 3, QUIET).unwrap();
        let halved = problem.plan().first_far();
        let problem = changed(problem, |_, wx, _| {
            for band in wx.chunks_mut(2).skip(1).step_by(3) {
                band[1] += 1e-9;
            }
        })
        .unwrap();
        let first_far = problem.plan().first_far();
        assert!(halved < first_far && first_far < 21, "{name}");
        check(&problem);
    }
}

#[test]
fn a_pole_hit_exactly_is_zero_in_every_version() {
    let made = Make { nbands: 5, ngpown: 3, ncouls: 40, nw: 2, kind: Kind::First, seed: 9 };
    let problem = changed(make(made), |wtilde, wx, _| {
        // At ω̃ = −w > 0 the term is infinite and cut off; w > 0 there is no bound: leave those out.
        for w in wx.iter_mut() {
            *w = -w.abs();
        }
        for (at, mode) in wtilde.iter_mut().enumerate() {
            let w = wx[at % wx.len()].abs();
            *mode = num_complex::Complex64::new(if at % 2 == 0 { w } else { -w }, 0.0);
        }
    });
    check(&problem.unwrap());
}

#[test]
fn too_little_host_memory_says_how_much() {
    let error = gpp::problem::memory::require("a system", u64::MAX / 2).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(text.starts_with("not enough host memory for a system: "), "{text}");
    assert!(text.contains("MiB needed") && text.contains("MiB free"), "{text}");
    gpp::problem::memory::require("nothing", 1).unwrap();
}

#[test]
fn registry_is_complete_and_without_duplicates() {
    let ids: HashSet<_> = VERSIONS.iter().map(|v| v.id).collect();
    let symbols: HashSet<_> =
        VERSIONS.iter().flat_map(|v| v.all_bodies()).map(|body| body.symbol).collect();
    assert_eq!(ids.len(), VERSIONS.len());
    assert_eq!(symbols.len(), VERSIONS.iter().map(|v| v.all_bodies().count()).sum::<usize>());
    for version in VERSIONS {
        assert!(!version.change.is_empty() && !version.source.is_empty());
        assert_eq!(version.threads % 32, 0, "{}", version.id);
        assert!(version.threads <= 512, "{}", version.id);
        for nw in 1..=3 {
            for poles in [Poles::Any, Poles::Real] {
                let body = version.body(nw, poles).unwrap();
                let launches = version.launches(nw);
                assert_eq!(launches.len() * body.energies as usize, nw, "{}", version.id);
            }
        }
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
            let poles = loaded.plan().poles();
            assert_eq!(poles == Poles::Real, kind == Kind::Real);
            for candidate in gpp::catalogue::tuned::candidates(poles) {
                let version = candidate.of(Version::best(), Some(96));
                let (sums, _) = loaded.run(&version).unwrap();
                let verification = verify(&problem, &problem.start().plus(&sums), Some(&reference));
                let shape = candidate.shape;
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
        shaped(Version::best(), &tuned.device, poles, Overrides::default()).unwrap();
    }
    let wider = Overrides { warps: Some(16), tile: Some(1), registers: None };
    let version = shaped(Version::best(), "any", Poles::Real, wider).unwrap();
    assert_eq!((version.threads, version.id), (512, Version::best().id));
    let none = Overrides { tile: Some(9), ..Overrides::default() };
    assert!(shaped(Version::best(), "any", Poles::Real, none).is_err());
    // Other versions have the shape that they are about.
    assert_eq!(shaped(VERSIONS[8], "any", Poles::Real, none).unwrap().id, "v8");
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
