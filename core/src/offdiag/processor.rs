//! Σ as a matrix on a processor: blocks of P that stay in its caches, and real matrix products.
//!
//! For each band n and energy, threads take a few igp each. They make P for these and some ig
//! ([`gpp_cpu::poles`]), multiply it by A of all l, and go on to the next ig: `U = Aᵀ P`. Then threads take a few m
//! each and add `U · vcoul · conj(A_m)` of all igp. Each element is added in the order of n and igp, whatever the
//! number of threads, and so are its bits.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use gpp_cpu::pool::{Pool, Threads};

use super::blocks::{COLUMNS, EACH, IGP, KINDS, Operands, Run};
use super::calculation::Worker;
use super::deal::{Deal, Next};
use super::images::together;
use super::parts::{self, bands, ranges};
use super::{Summed, Sums, Task};
use crate::devices::host::Host;
use crate::devices::{Device, Done};
use crate::error::{Error, Result};
use crate::problem::memory;

/// A task on a processor.
pub struct OnProcessor<'a> {
    run: Run<'a>,
    name: &'a str,
    pool: Arc<Pool>,
    /// Bands n and energies whose U are in memory at a time, and energies whose totals are.
    some: [usize; 3],
    columns: Vec<Range<usize>>,
}

impl<'a> OnProcessor<'a> {
    /// With the host's threads and vectors.
    ///
    /// # Errors
    /// [`crate::Error::Threads`].
    pub fn new(host: &'a Host, task: Task<'a>) -> Result<OnProcessor<'a>> {
        let pool = host.pool(Threads::Cores)?;
        let (header, nw) = (task.problem.header(), task.nw());
        let items = (EACH * pool.threads()).div_ceil(header.ngpown.div_ceil(IGP));
        let together = together(nw, 8 * 3 * KINDS * task.bands() * task.bands());
        Ok(OnProcessor {
            some: [items.div_ceil(nw).min(header.nbands), items.min(together), together],
            columns: ranges(0..task.bands(), COLUMNS).collect(),
            run: Run { task, level: host.level(), rows: header.rows().collect() },
            name: &host.info().id,
            pool,
        })
    }

    /// Bytes of the host's memory beside the task's own arrays.
    pub fn needs(&self) -> u64 {
        self.run.bytes(self.pool.threads(), self.some)
    }

    /// The sums of a part, and seconds of the products; tells how much is done.
    fn part(&self, part: usize, done: &dyn Fn(f64)) -> (Sums, f64) {
        let OnProcessor { run, pool, columns, some: [some_n, some_w, together], .. } = self;
        let (task, n) = (&run.task, bands(&run.task, part));
        let nw = task.nw();
        let mut sums = Sums::zero(task.bands(), task.planes());
        let extent = |m: &Range<usize>| 3 * task.bands() * m.len();
        let mut seconds = 0.0;
        for energies in ranges(0..nw, *together) {
            let mut totals: Vec<Vec<f64>> = (0..energies.len() * KINDS)
                .flat_map(|_| columns.iter().map(|m| vec![0.0; extent(m)]))
                .collect();
            for some in ranges(n.clone(), *some_n).take_while(|_| !task.stop.is_asked()) {
                let operands: Vec<Operands> =
                    pool.install(|| some.clone().map(|n| run.operands(n)).collect());
                for iw in ranges(energies.clone(), *some_w) {
                    let products = Instant::now();
                    pool.install(|| {
                        let first = (iw.start - energies.start) * KINDS * columns.len();
                        run.add(&some, &iw, &operands, columns, &mut totals[first..]);
                    });
                    seconds += products.elapsed().as_secs_f64();
                    let before =
                        (energies.start * n.len() + (some.start - n.start) * energies.len()) as f64;
                    let own = (some.len() * (iw.end - energies.start)) as f64;
                    done((before + own) / (n.len() * nw) as f64);
                }
            }
            run.found(columns, &totals, energies, &mut sums);
        }
        (sums, seconds)
    }
}

impl Worker for OnProcessor<'_> {
    fn device(&self) -> &str {
        self.name
    }

    fn ahead(&self) -> usize {
        1
    }

    fn work(&mut self, worker: usize, deal: &Deal) -> Result<f64> {
        let mut seconds = 0.0;
        while let Next::Part(part) = deal.next(worker, true) {
            let (sums, time) = self.part(part, &|done| deal.tell(worker, done));
            deal.give(worker, part, sums);
            seconds += time;
        }
        Ok(seconds)
    }
}

/// Sums it on a processor, with the host's threads and vectors.
///
/// # Errors
/// [`Error::Memory`] before anything is allocated; [`Error::Threads`]; [`Error::Stopped`].
pub fn on_processor(host: &Host, task: &Task, done: Done) -> Result<Summed> {
    let on_processor = OnProcessor::new(host, *task)?;
    memory::require(task.problem.name(), on_processor.needs())?;
    let (begun, all) = (Instant::now(), parts::count(task));
    let (mut sums, mut seconds) = (Sums::zero(task.bands(), task.planes()), 0.0);
    for part in 0..all {
        let of_part = |own| done((part as f64 + own) / all as f64);
        let (own, time) = on_processor.part(part, &of_part);
        if let Some(code) = task.stop.asked() {
            return Err(Error::Stopped { code, done: part, all, of: "parts" });
        }
        sums.add(&own);
        seconds += time;
    }
    Ok(Summed { sums, seconds, total: begun.elapsed().as_secs_f64() })
}
