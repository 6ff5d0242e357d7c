//! What workers are given where slabs are uploaded anew: the first ones in two parts, with the same bits.

mod common;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use common::{Kind, Make, at_energies};
use gpp::Result;
use gpp::catalogue::{self, Kernel};
use gpp::devices::host::Host;
use gpp::devices::{Device, Done, SlabSums, Worker};
use gpp::engine::{Calculation, Engine};
use gpp::experiments::measure::same_bits;
use gpp::problem::{Batch, SlabView};

/// A worker that takes the next piece while one is under way, and notes what it is given.
struct Ahead<'a> {
    worker: Box<dyn Worker + 'a>,
    begun: Arc<Mutex<Vec<Range<usize>>>>,
    summed: VecDeque<SlabSums>,
}

impl Worker for Ahead<'_> {
    fn depth(&self) -> usize {
        2
    }

    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        self.worker.place(slab)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        done: Done,
    ) -> Result<()> {
        self.begun.lock().unwrap().push(slab.igp());
        self.worker.begin(slab, batch, kernel, done)?;
        self.summed.push_back(self.worker.finish()?);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        Ok(self.summed.pop_front().expect("begun before"))
    }

    fn forget(&mut self) {
        self.worker.forget();
    }
}

#[test]
fn first_slabs_that_are_uploaded_again_are_cut() {
    let made = Make { nbands: 9, ngpown: 85, ncouls: 20, nw: 2, kind: Kind::Real, seed: 12 };
    let problem = &at_energies(made, 5);
    let device = Host::new();
    let begun = Arc::<Mutex<Vec<_>>>::default();
    for (version, cut) in [("cpu:paired", true), ("v9", false), ("v3", false)] {
        let version = catalogue::find(version).unwrap();
        let batches = problem.batches_for(version.kernel).len();
        assert!(batches > 1);
        let worker = || -> Box<dyn Worker> {
            let worker = device.worker(problem).unwrap();
            Box::new(Ahead { worker, begun: begun.clone(), summed: VecDeque::new() })
        };
        for workers in [1, 2] {
            let all = (0..workers).map(|_| worker()).collect();
            let mut engine = Engine::new(problem, 16, all).unwrap();
            let whole = engine.run(version.kernel).unwrap();
            for forgets in [true, false] {
                if forgets {
                    engine.forget();
                }
                begun.lock().unwrap().clear();
                let again = engine.run(version.kernel).unwrap();
                assert!(same_bits(&again.sums, &whole.sums), "{}", version.id());
                let slabs =
                    |of: &Calculation| of.shares.iter().map(|share| share.slabs).sum::<usize>();
                assert_eq!([slabs(&again), slabs(&whole)], [6, 6]);
                let mut begun = begun.lock().unwrap().clone();
                begun.sort_by_key(|igp| igp.start);
                begun.dedup();
                let lengths: Vec<usize> = begun.into_iter().map(|igp| igp.len()).collect();
                let expected: &[usize] = match workers {
                    1 if cut && forgets => &[4, 12, 16, 16, 16, 16, 5],
                    2 if cut && forgets => &[4, 12, 4, 12, 16, 16, 16, 5],
                    _ => &[16, 16, 16, 16, 16, 5],
                };
                assert_eq!(lengths, expected, "{} by {workers}", version.id());
            }
        }
    }
}
