//! What workers are given where slabs are uploaded anew: the first ones in two parts, with the same bits.

mod common;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use common::{Kind, Make, at_energies};
use gpp::catalogue::{self, Kernel};
use gpp::devices::host::Host;
use gpp::devices::{Device, SlabSums, Watch, Worker};
use gpp::engine::{Calculation, Engine};
use gpp::error::Result;
use gpp::measure::same_bits;
use gpp::problem::{Batch, SlabView};

/// A worker that takes the next piece while one is under way, and notes what it is given.
struct Ahead<'a> {
    worker: Box<dyn Worker + 'a>,
    streams: bool,
    begun: Arc<Mutex<Vec<Range<usize>>>>,
    summed: VecDeque<SlabSums>,
}

impl Worker for Ahead<'_> {
    fn depth(&self) -> usize {
        2
    }

    fn streams(&self) -> bool {
        self.streams
    }

    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        self.worker.place(slab)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        watch: Watch,
    ) -> Result<()> {
        self.begun.lock().unwrap().push(slab.igp());
        self.worker.begin(slab, batch, kernel, watch)?;
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

/// The lengths of what is begun, in the order of igp, each once whatever the batches of energies.
fn lengths(begun: &Mutex<Vec<Range<usize>>>) -> Vec<usize> {
    let mut begun = std::mem::take(&mut *begun.lock().unwrap());
    begun.sort_by_key(|igp| igp.start);
    begun.dedup();
    begun.into_iter().map(|igp| igp.len()).collect()
}

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
    for (version, [whole, by_one, by_two]) in cases {
        let version = catalogue::find(version).unwrap();
        assert!(problem.batches_for(version.kernel).count() > 1);
        for (workers, cut) in [(1, by_one), (2, by_two)] {
            for streams in [false, true] {
                let worker = |_| -> Box<dyn Worker> {
                    let worker = device.worker(problem).unwrap();
                    Box::new(Ahead {
                        worker,
                        streams,
                        begun: begun.clone(),
                        summed: VecDeque::new(),
                    })
                };
                let mut engine =
                    Engine::new(problem, 64, (0..workers).map(worker).collect()).unwrap();
                let first = engine.run(version.kernel).unwrap();
                assert!(first.sums.named(1).all(|(_, z)| z.re.is_finite() && z.im.is_finite()));
                assert_eq!(lengths(&begun), if streams { cut } else { whole });
                for forgets in [true, false] {
                    if forgets {
                        engine.forget();
                    }
                    let again = engine.run(version.kernel).unwrap();
                    assert!(same_bits(&again.sums, &first.sums), "{}", version.id());
                    let slabs = |of: &Calculation| of.shares.iter().map(|s| s.slabs).sum::<usize>();
                    assert_eq!([slabs(&again), slabs(&first)], [3, 3]);
                    let expected = if streams || forgets { cut } else { whole };
                    assert_eq!(lengths(&begun), expected, "{} by {workers}", version.id());
                }
            }
        }
    }
}
