//! The engine on the CPU: slabs of whole groups, of any size and on any number of workers, give the
//! bits of the whole; the paper's grids give the same bits for the same slabs.

pub mod hooked;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use gpp::catalogue;
use gpp::devices::cpu::CpuDevice;

use crate::common::on_device::{group, slabs, summed, two_problems};
use crate::common::{Kind, assert_fails, at_energies, fixture, made};
use hooked::Hooked;

fn problems() -> Vec<gpp::problem::Problem> {
    let many = at_energies(&made([13, 85, 37, 2], Kind::Mixed, 4), 7);
    let made = [Kind::Mixed, Kind::Real].map(|kind| made([19, 85, 37, 2], kind, 12));
    made.into_iter().chain([fixture("poles"), fixture("three-energies"), many]).collect()
}

#[test]
fn two_problems_of_the_same_ranges_are_two() {
    two_problems(&CpuDevice::new()).unwrap();
}

#[test]
fn slabs_and_workers_change_no_bit() {
    let mut compared = 0;
    for problem in problems() {
        compared += slabs(&CpuDevice::new(), &problem, catalogue::versions()).unwrap();
    }
    assert!(compared > 100, "only {compared} comparisons of more than one slab");
}

#[test]
fn slabs_that_part_a_group_are_refused() {
    let (problem, best) = (&problems()[1], catalogue::best(catalogue::BackEnd::Gpu));
    let igp = group(problem, best).unwrap() + 1;
    assert_fails(summed(&CpuDevice::new(), problem, best, igp, 1), "slabs of whole groups");
}

#[test]
fn what_a_kernel_cannot_count_is_refused_by_name() {
    let ngpown = 1 << 19;
    let (problem, v6) = (made([1, ngpown, 1, 1], Kind::First, 1), catalogue::find("v6").unwrap());
    let text = summed(&CpuDevice::new(), &problem, v6, ngpown, 1).unwrap_err().to_string();
    assert!(text.starts_with("v6 on ") && text.contains("of the collapsed loops"), "{text}");
}

/// With two slabs under way a step fails or panics, counted over `begin` and `finish`.
#[test]
fn after_a_step_that_fails_the_next_run_has_the_same_bits() {
    let (problem, device) = (&problems()[0], CpuDevice::new());
    let v9 = catalogue::find("v9").unwrap();
    let (mut failed, mut went_well) = (0, false);
    for (panics, step) in [false, true].into_iter().flat_map(|p| (1..16).map(move |at| (p, at))) {
        let left = std::sync::Arc::new(AtomicUsize::new(0));
        let of_worker = left.clone();
        let next = move || match of_worker.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)) {
            Ok(1) if panics => panic!("a step panics"),
            Ok(1) => Err(gpp::error::invalid("worker", "a step fails")),
            _ => Ok(()),
        };
        let mut worker = Hooked { depth: 2, ..Hooked::of(&device, problem) };
        let finishes = next.clone();
        worker.finishes = Box::new(move |sums| finishes().map(|()| sums));
        worker.begins = Box::new(move |_| next());
        let mut engine =
            gpp::engine::Engine::new(&gpp_core::ranks::Alone, problem, 16, vec![Box::new(worker)])
                .unwrap();
        let right = engine.run(v9).unwrap().sums;
        left.store(step, Relaxed);
        let ran = panic::catch_unwind(AssertUnwindSafe(|| engine.run(v9)));
        let was_hit = left.swap(0, Relaxed) == 0;
        match &ran {
            Ok(Ok(_)) => assert!(!was_hit, "step {step} failed and nobody knew"),
            Ok(Err(error)) => assert!(error.to_string().contains(" fails"), "{error}"),
            Err(_) => assert!(panics, "step {step} panicked"),
        }
        failed += usize::from(was_hit);
        went_well |= !was_hit;
        for _ in 0..2 {
            let again = engine.run(v9).unwrap().sums;
            assert!(gpp::measure::same_bits(&right, &again), "after step {step}, panics: {panics}");
        }
    }
    assert!(failed > 10 && went_well, "{failed} steps failed");
}
