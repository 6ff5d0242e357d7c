//! Workers that fail.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use gpp::catalogue;
use gpp::devices::cpu::CpuDevice;
use gpp::engine::Engine;
use gpp::error::invalid;
use gpp::measure::same_bits;

use super::hooked::Hooked;
use super::problems;

/// With two slabs under way a step fails or panics, counted over `begin` and `finish`.
#[test]
fn after_a_step_that_fails_the_next_run_has_the_same_bits() {
    let problem = &problems()[0];
    let device = CpuDevice::new();
    let v9 = catalogue::find("v9").unwrap();
    let (mut failed, mut went_well) = (0, false);
    for (panics, step) in [false, true].into_iter().flat_map(|p| (1..16).map(move |at| (p, at))) {
        let left = Arc::new(AtomicUsize::new(0));
        let of_worker = left.clone();
        let next = move || match of_worker.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)) {
            Ok(1) if panics => panic!("a step panics"),
            Ok(1) => Err(invalid("worker", "a step fails")),
            _ => Ok(()),
        };
        let mut worker = Hooked { depth: 2, ..Hooked::of(&device, problem) };
        let finishes = next.clone();
        worker.finishes = Box::new(move |sums| finishes().map(|()| sums));
        worker.begins = Box::new(move |_| next());
        let mut engine = Engine::new(problem, 16, vec![Box::new(worker)]).unwrap();
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
            assert!(same_bits(&right, &again), "after step {step}, panics: {panics}");
        }
    }
    assert!(failed > 10 && went_well, "{failed} steps failed");
}
