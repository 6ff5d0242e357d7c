//! Every version's bodies on the host against the serial reference.

mod common;

use std::fs;

use common::{FIXTURES, Kind, Make, QUIET, assorted, changed, fixture, fixture_path, make};
use gpp::catalogue;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::error::exit_code;
use gpp::experiments::measure::same_bits;
use gpp::kernels::grid;
use gpp::kernels::plan::Poles;
use gpp::problem::{Problem, Sums, file, synthesis, systems};
use gpp::reference;
use gpp::reference::verify::{Outcome, verify};

/// All versions on the host: every output within the tolerance, the same bits twice.
fn check(problem: &Problem) {
    let device = Host::new();
    let mut engine = Engine::whole(&device, problem).unwrap();
    let reference = reference::of(problem, QUIET).unwrap().unwrap();
    for version in catalogue::versions() {
        let sums = engine.run(version.kernel).unwrap().sums;
        let again = engine.run(version.kernel).unwrap().sums;
        assert!(same_bits(&sums, &again), "{} of {}", version.id(), problem.name());
        let verification = verify(problem, &problem.start().plus(&sums), Some(&reference)).unwrap();
        assert_eq!(
            verification.outcome,
            Outcome::Passed,
            "{} of {}: {verification:?}",
            version.id(),
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
        let batch = problem.batches(3).first();
        let (plan, slab) = (batch.plan(), problem.slab());
        assert_eq!((plan.poles(), plan.plain(), plan.occupied()), (poles, 11, 11), "{name}");
        assert_eq!((plan.far_begin(), plan.table().half()), (14, 0.5), "{name}");
        assert!(plan.keeps_order());
        // Pairs of no weight are masked and not listed.
        for takes in [Poles::Any, poles] {
            let odd = plan.odd(slab, takes);
            let masked: u32 = odd.mask().iter().map(|word| word.count_ones()).sum();
            assert!(masked as usize >= odd.pairs().len());
            assert!(odd.pairs().len() < problem.wtilde().len() / 20, "{}", odd.pairs().len());
        }
        // Real poles are added without cancellation, so fewer of them are odd.
        assert!(plan.odd(slab, poles).pairs().len() <= plan.odd(slab, Poles::Any).pairs().len());
    }
    let mixed = make(Make { nbands: 9, ngpown: 3, ncouls: 40, nw: 3, kind: Kind::Mixed, seed: 2 });
    let batch = mixed.batches(3).first();
    let (plan, slab) = (batch.plan(), mixed.slab());
    assert!(!plan.keeps_order() && plan.plain() < plan.occupied() && plan.occupied() < 9);
    assert!(!plan.odd(slab, Poles::Any).pairs().is_empty());
    assert_eq!(plan.table().wx().len(), 27);
}

#[test]
fn energies_whose_difference_is_no_constant() {
    for name in ["tiny", "tiny-complex"] {
        let system = systems::find(name).unwrap();
        let problem = synthesis::synthesise(system, 3, QUIET).unwrap();
        let halved = problem.batches(3).first().plan().far_begin();
        let problem = changed(problem, |_, wx, _| {
            for band in wx.chunks_mut(2).skip(1).step_by(3) {
                band[1] += 1e-9;
            }
        })
        .unwrap();
        let far_begin = problem.batches(3).first().plan().far_begin();
        assert!(halved < far_begin && far_begin < 21, "{name}");
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
    let error = gpp::process::memory::require("a system", u64::MAX / 2).unwrap_err();
    assert_eq!(exit_code(&error), 2);
    let text = error.to_string();
    assert!(text.starts_with("not enough host memory for a system: "), "{text}");
    assert!(text.contains("MiB needed") && text.contains("MiB free"), "{text}");
    gpp::process::memory::require("nothing", 1).unwrap();
}

/// A rank without bands or columns: all of its sums are zero.
#[test]
fn a_rank_without_work_sums_to_zero() {
    // Of the record of dimensions bands or columns, and the records of ω̃ and eps.
    for (offset, empty) in [(0, 12..12), (12, 12..14)] {
        let mut bytes = fs::read(fixture_path("plain")).unwrap();
        for record in (1..14).rev() {
            let mut at = 0;
            let length = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            (1..record).for_each(|_| at += 8 + length(at) as usize);
            let end = at + 8 + length(at) as usize;
            if empty.contains(&record) {
                bytes.splice(at..end, [0; 8]);
            } else if record == 2 {
                bytes[at + 4 + offset..][..4].fill(0);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workless.dat");
        fs::write(&path, bytes).unwrap();
        let problem = file::read(&path, QUIET).unwrap();
        let host = Host::new();
        let mut engine = Engine::whole(&host, &problem).unwrap();
        for version in catalogue::versions() {
            let sums = engine.run(version.kernel).unwrap().sums;
            assert_eq!(sums, Sums::zero(problem.nw()), "{offset} {}", version.id());
        }
    }
}
