//! Workers that fail, and workers that lock memory.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use gpp::catalogue::{self, Kernel};
use gpp::devices::host::Host;
use gpp::devices::{Device, Locked, SlabSums, Watch, Worker};
use gpp::engine::Engine;
use gpp::problem::{Batch, Matrix, SlabView};

use super::{problems, same_bits};

/// A worker that fails at one of the slabs.
struct Failing<'a> {
    worker: Box<dyn Worker + 'a>,
    at: usize,
}

impl Worker for Failing<'_> {
    fn place(&mut self, slab: SlabView<'_>) -> gpp::error::Result<()> {
        self.worker.place(slab)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        watch: Watch,
    ) -> gpp::error::Result<()> {
        if slab.igp().contains(&self.at) {
            let what = format!("slab with igp {}", self.at);
            return Err(gpp::error::Error::Data { origin: "worker".into(), what });
        }
        self.worker.begin(slab, batch, kernel, watch)
    }

    fn finish(&mut self) -> gpp::error::Result<SlabSums> {
        self.worker.finish()
    }

    fn forget(&mut self) {
        self.worker.forget();
    }
}

#[test]
fn a_worker_that_fails_ends_the_run() {
    let problem = &problems()[0];
    let device = Host::new();
    for at in [0, 30, 84] {
        let workers: Vec<Box<dyn Worker>> = (0..3)
            .map(|_| Box::new(Failing { worker: device.worker(problem).unwrap(), at }) as _)
            .collect();
        let mut engine = Engine::new(problem, 16, workers).unwrap();
        let error = engine.run(catalogue::find("v9").unwrap().kernel).unwrap_err();
        assert!(error.to_string().contains(&format!("slab with igp {at}")), "{error}");
    }
}

/// Two slabs under way, and a step that fails or panics, counted over `begin` and `finish`.
struct Steps<'a> {
    worker: Box<dyn Worker + 'a>,
    under_way: VecDeque<SlabSums>,
    /// Steps until the one that goes wrong.
    left: Arc<AtomicUsize>,
    panics: bool,
}

impl Steps<'_> {
    fn step(&self, what: &str) -> gpp::error::Result<()> {
        match self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
            Ok(1) if self.panics => panic!("{what} panics"),
            Ok(1) => Err(gpp::error::Error::Data { origin: "worker".into(), what: what.into() }),
            _ => Ok(()),
        }
    }
}

impl Worker for Steps<'_> {
    fn depth(&self) -> usize {
        2
    }

    fn place(&mut self, slab: SlabView<'_>) -> gpp::error::Result<()> {
        self.worker.place(slab)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        watch: Watch,
    ) -> gpp::error::Result<()> {
        assert!(self.under_way.len() < 2, "two slabs are under way at most");
        self.step("begin fails")?;
        self.under_way.push_back(self.worker.sum(slab, batch, kernel, watch)?);
        Ok(())
    }

    fn finish(&mut self) -> gpp::error::Result<SlabSums> {
        let sums = self.under_way.pop_front().expect("a slab was begun");
        self.step("finish fails").map(|()| sums)
    }

    fn forget(&mut self) {
        assert!(self.under_way.is_empty(), "nothing is under way");
        self.worker.forget();
    }
}

#[test]
fn after_a_step_that_fails_the_next_run_has_the_same_bits() {
    let problem = &problems()[0];
    let device = Host::new();
    let kernel = catalogue::find("v9").unwrap().kernel;
    let (mut failed, mut went_well) = (0, false);
    for (panics, step) in [false, true].into_iter().flat_map(|p| (1..16).map(move |at| (p, at))) {
        let left = Arc::new(AtomicUsize::new(0));
        let (worker, of_worker) = (device.worker(problem).unwrap(), left.clone());
        let worker = Steps { worker, under_way: VecDeque::new(), left: of_worker, panics };
        let mut engine = Engine::new(problem, 16, vec![Box::new(worker)]).unwrap();
        let right = engine.run(kernel).unwrap().sums;
        engine.forget();
        left.store(step, Relaxed);
        let ran = panic::catch_unwind(AssertUnwindSafe(|| engine.run(kernel)));
        let was_hit = left.swap(0, Relaxed) == 0;
        match &ran {
            Ok(Ok(_)) => assert!(!was_hit, "step {step} failed and nobody knew"),
            Ok(Err(error)) => assert!(error.to_string().contains(" fails"), "{error}"),
            Err(_) => assert!(panics, "step {step} panicked"),
        }
        failed += usize::from(was_hit);
        went_well |= !was_hit;
        for _ in 0..2 {
            let again = engine.run(kernel).unwrap().sums;
            assert!(same_bits(&right, &again), "after step {step}, panics: {panics}");
            engine.forget();
        }
    }
    assert!(failed > 10 && went_well, "{failed} steps failed");
}

/// A worker that counts the bytes it has locked.
struct Locking<'a> {
    worker: Box<dyn Worker + 'a>,
    streams: bool,
    locked: Arc<AtomicUsize>,
}

/// Bytes that are locked.
struct Counted(Arc<AtomicUsize>, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Relaxed);
    }
}

impl Worker for Locking<'_> {
    fn streams(&self) -> bool {
        self.streams
    }

    fn lock(&self, memory: Arc<Matrix>) -> Option<Locked> {
        let bytes = size_of_val(&memory[..]);
        self.locked.fetch_add(bytes, Relaxed);
        Some(Box::new((memory, Counted(self.locked.clone(), bytes))))
    }

    fn place(&mut self, slab: SlabView<'_>) -> gpp::error::Result<()> {
        self.worker.place(slab)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        watch: Watch,
    ) -> gpp::error::Result<()> {
        self.worker.begin(slab, batch, kernel, watch)
    }

    fn finish(&mut self) -> gpp::error::Result<SlabSums> {
        self.worker.finish()
    }

    fn forget(&mut self) {
        self.worker.forget();
    }
}

#[test]
fn what_is_uploaded_again_is_locked_once() {
    let problem = &problems()[0];
    let device = Host::new();
    let pairs = problem.wtilde().len() + problem.eps().len();
    let v9 = catalogue::find("v9").unwrap().kernel;
    for streams in [true, false] {
        let locked = Arc::new(AtomicUsize::new(0));
        let bytes = || locked.load(Relaxed);
        let worker = device.worker(problem).unwrap();
        let worker = Box::new(Locking { worker, streams, locked: locked.clone() });
        let mut engine = Engine::new(problem, 16, vec![worker]).unwrap();
        // One calculation would be over before.
        engine.run(v9).unwrap();
        assert_eq!(bytes(), 0);
        for _ in 0..2 {
            engine.run(v9).unwrap();
            assert_eq!(bytes(), if streams { 16 * pairs } else { 0 });
        }
        engine.forget();
        engine.run(v9).unwrap();
        assert_eq!(bytes(), 16 * pairs);
        drop(engine);
        assert_eq!(bytes(), 0);
    }
}
