//! Workers that fail, that lock memory, and that stream slabs.

use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use gpp::catalogue::{self, Kernel};
use gpp::devices::Worker;
use gpp::devices::host::Host;
use gpp::engine::{Calculation, Engine};
use gpp::measure::same_bits;

use super::hooked::Hooked;
use super::problems;
use crate::common::{Kind, Make, at_energies};

fn kernel(id: &str) -> Kernel {
    catalogue::find(id).unwrap().kernel
}

fn error(what: &str) -> gpp::error::Error {
    gpp::error::Error::Input { origin: "worker".into(), what: what.into() }
}

/// With two slabs under way a step fails or panics, counted over `begin` and `finish`.
#[test]
fn after_a_step_that_fails_the_next_run_has_the_same_bits() {
    let problem = &problems()[0];
    let device = Host::new();
    let v9 = kernel("v9");
    let (mut failed, mut went_well) = (0, false);
    for (panics, step) in [false, true].into_iter().flat_map(|p| (1..16).map(move |at| (p, at))) {
        // Steps until the one that goes wrong.
        let left = Arc::new(AtomicUsize::new(0));
        let of_worker = left.clone();
        let next = move || match of_worker.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)) {
            Ok(1) if panics => panic!("a step panics"),
            Ok(1) => Err(error("a step fails")),
            _ => Ok(()),
        };
        let mut worker = Hooked { depth: 2, ..Hooked::of(&device, problem) };
        let finishes = next.clone();
        worker.finishes = Box::new(move |sums| finishes().map(|()| sums));
        worker.begins = Box::new(move |_| next());
        let mut engine = Engine::new(problem, 16, vec![Box::new(worker)]).unwrap();
        let right = engine.run(v9).unwrap().sums;
        engine.forget();
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
            engine.forget();
        }
    }
    assert!(failed > 10 && went_well, "{failed} steps failed");
}

#[test]
fn what_is_uploaded_again_is_locked_once() {
    let problem = &problems()[0];
    let device = Host::new();
    let pairs = problem.wtilde().len() + problem.eps().len();
    for streams in [true, false] {
        let locked = Arc::new(AtomicUsize::new(0));
        let bytes = || locked.load(Relaxed);
        let worker =
            Hooked { streams, locked: Some(locked.clone()), ..Hooked::of(&device, problem) };
        let mut engine = Engine::new(problem, 16, vec![Box::new(worker)]).unwrap();
        // One calculation would be over before.
        engine.run(kernel("v9")).unwrap();
        assert_eq!(bytes(), 0);
        for _ in 0..2 {
            engine.run(kernel("v9")).unwrap();
            assert_eq!(bytes(), if streams { 16 * pairs } else { 0 });
        }
        engine.forget();
        engine.run(kernel("v9")).unwrap();
        assert_eq!(bytes(), 16 * pairs);
        drop(engine);
        assert_eq!(bytes(), 0);
    }
}

/// The lengths of what is begun, in the order of igp, each once whatever the batches of energies.
fn lengths(begun: &Mutex<Vec<Range<usize>>>) -> Vec<usize> {
    let mut begun = std::mem::take(&mut *begun.lock().unwrap());
    begun.sort_by_key(|igp| igp.start);
    begun.dedup();
    begun.into_iter().map(|igp| igp.len()).collect()
}

/// Where slabs are uploaded anew, workers are given the first ones in two parts, with the same bits.
#[test]
fn first_slabs_that_are_uploaded_again_are_cut() {
    let made = Make { nbands: 9, ngpown: 150, ncouls: 20, nw: 2, kind: Kind::Real, seed: 12 };
    let problem = &at_energies(made, 5);
    let device = Host::new();
    let begun = Arc::<Mutex<Vec<_>>>::default();
    // Groups of one igp, of 16, and none.
    let cases: [(&str, [&[usize]; 3]); 3] = [
        ("cpu:paired", [&[64, 64, 22], &[16, 48, 64, 22], &[16, 48, 16, 48, 22]]),
        ("v9", [&[64, 64, 22], &[16, 48, 64, 22], &[16, 48, 16, 48, 22]]),
        ("v3", [&[64, 64, 22], &[64, 64, 22], &[64, 64, 22]]),
    ];
    for (id, [whole, by_one, by_two]) in cases {
        assert!(kernel(id).batches(problem).count() > 1);
        for (workers, cut, streams) in
            [(1, by_one, false), (1, by_one, true), (2, by_two, false), (2, by_two, true)]
        {
            let worker = |_| -> Box<dyn Worker> {
                let begun = begun.clone();
                let begins = move |igp| {
                    begun.lock().unwrap().push(igp);
                    Ok(())
                };
                let begins = Box::new(begins);
                Box::new(Hooked { depth: 2, streams, begins, ..Hooked::of(&device, problem) })
            };
            let mut engine = Engine::new(problem, 64, (0..workers).map(worker).collect()).unwrap();
            let first = engine.run(kernel(id)).unwrap();
            assert!(first.sums.named(1).all(|(_, z)| z.re.is_finite() && z.im.is_finite()));
            assert_eq!(lengths(&begun), if streams { cut } else { whole });
            for forgets in [true, false] {
                if forgets {
                    engine.forget();
                }
                let again = engine.run(kernel(id)).unwrap();
                assert!(same_bits(&again.sums, &first.sums), "{id}");
                let slabs = |of: &Calculation| of.workers.iter().map(|s| s.slabs).sum::<usize>();
                assert_eq!([slabs(&again), slabs(&first)], [3, 3]);
                let expected = if streams || forgets { cut } else { whole };
                assert_eq!(lengths(&begun), expected, "{id} by {workers}");
            }
        }
    }
}
