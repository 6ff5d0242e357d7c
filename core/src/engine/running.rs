//! A worker's loop: slab after slab, each at all energies, as many slabs under way as the device takes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpp_cpu::stop::Stop;

use crate::catalogue::Kernel;
use crate::devices::{SlabSums, Watch, Worker};
use crate::engine::deal::{Cut, Deal, Piece, Pieces};
use crate::engine::{Engine, Numbered, Share};
use crate::error::Result;
use crate::problem::{Batch, Batches, SlabRef, SlabView, Slabs};

pub struct Running<'a, 'r> {
    pub slabs: Slabs<'a>,
    pub deal: &'r Deal,
    /// Slabs that are cut, if any are.
    pub cut: Option<Cut>,
    pub kernel: Kernel,
    /// The energies in the batches of the kernel.
    pub batches: &'r Batches<'r>,
    pub watch: Watch<'r>,
    pub begin: Instant,
    pub all: usize,
    pub summed: AtomicUsize,
    pub stop: &'a Stop,
}

/// Where one worker panics, leaves the others no slabs to take.
struct EndsOnPanic<'d>(&'d Deal);

impl Drop for EndsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

impl Running<'_, '_> {
    /// The work of one worker, with its sums. It begins no slab once the program was asked to stop.
    pub fn share(&self, who: usize, worker: &mut dyn Worker) -> Result<(Numbered, Share)> {
        let mut share = Share::default();
        let _ends = EndsOnPanic(self.deal);
        // Nobody begins another slab of a run that has failed.
        let sums = self.slabs_of(who, worker, &mut share).inspect_err(|_| self.deal.end())?;
        share.busy_s = self.begin.elapsed().as_secs_f64();
        Ok((sums, share))
    }

    /// `share` of one of several workers: errors name its device.
    pub fn named_share(&self, who: usize, worker: &mut dyn Worker) -> Result<(Numbered, Share)> {
        let done = self.share(who, worker);
        done.map_err(|error| error.on(worker.device()))
    }

    fn slabs_of(&self, who: usize, worker: &mut dyn Worker, share: &mut Share) -> Result<Numbered> {
        let mut worker = UnderWay::of(worker);
        let (mut sums, mut begun) = (Vec::new(), VecDeque::<Begun>::new());
        let mut made = AtHand { of: self.batches, batches: Vec::new() };
        // Of a slab that is cut what is to be begun, and what is summed.
        let (mut rest, mut pieces) = (VecDeque::new(), Pieces::default());
        let mut order: Vec<usize> = (0..self.batches.count()).collect();
        loop {
            // The batches of a slab follow each other. Beside its last one the next slab begins, with the same
            // batch: what devices hold of energies is of one batch at a time.
            while worker.has_room() && begun.back().is_none_or(Begun::is_on_last) {
                if rest.is_empty() && !self.stop.is_asked() {
                    rest.extend(self.deal.next(who).into_iter().flat_map(|at| self.pieces(at)));
                }
                let Some(piece) = rest.pop_front() else { break };
                begun.push_back(self.begin_piece(piece, &order, &mut made, &mut worker, share)?);
                order.reverse();
            }
            let Some(mut first) = begun.pop_front() else { return Ok(sums) };
            first.look_ahead(&mut made, &mut worker, self.kernel);
            first.finish(worker.finish()?);
            if self.begin_next(&mut first, &mut made, &mut worker)? {
                begun.push_back(first);
                continue;
            }
            let (piece, of_piece) = first.joined();
            let (at, all, length) = (piece.slab, piece.whole.len(), piece.igp.len());
            if let Some(of_slab) = pieces.add(piece, of_piece) {
                share.add(all, &of_slab);
                sums.push((at, of_slab));
            }
            let summed = self.summed.fetch_add(length, Ordering::Relaxed) + length;
            if self.slabs.count() > 1 {
                (self.watch.done)(summed as f64 / self.all as f64);
            }
        }
    }

    /// The piece with which a slab is begun.
    fn pieces(&self, at: usize) -> Vec<Piece> {
        let whole = Piece::whole(at, self.slabs.range(at).expect("the deal is of these slabs"));
        match &self.cut {
            Some(cut) => cut.pieces(whole),
            None => vec![whole],
        }
    }

    /// Begins a piece with the first of its batches; `order` lists these.
    fn begin_piece(
        &self,
        piece: Piece,
        order: &[usize],
        made: &mut AtHand,
        worker: &mut UnderWay,
        share: &mut Share,
    ) -> Result<Begun<'_>> {
        let making = Instant::now();
        let part = self.slabs.part(piece.igp.clone())?;
        if let SlabRef::Owned(_) = part {
            share.source_s += making.elapsed().as_secs_f64();
        }
        let left = order.iter().rev().copied().collect();
        let mut begun = Begun { piece, part: Some(part), left, at_batch: 0, sums: Vec::new() };
        self.begin_next(&mut begun, made, worker)?;
        Ok(begun)
    }

    /// Begins the next batch of the piece under way, if there is one.
    fn begin_next(
        &self,
        slab: &mut Begun<'_>,
        made: &mut AtHand,
        worker: &mut UnderWay,
    ) -> Result<bool> {
        let (finished, all) = (slab.sums.len() as f64, self.batches.count() as f64);
        let length = slab.piece.igp.len() as f64;
        let of_batch = |part: f64| {
            let before = self.summed.load(Ordering::Relaxed) as f64;
            (self.watch.done)((before + (finished + part) / all * length) / self.all as f64);
        };
        if finished > 0.0 && self.batches.count() > 1 {
            of_batch(0.0);
        }
        let (Some(next), Some(part)) = (slab.left.pop(), &slab.part) else { return Ok(false) };
        slab.at_batch = next;
        let watch = Watch { done: &of_batch, stop: self.watch.stop };
        worker.begin(part.view(), &made.get(next), self.kernel, watch)?;
        if slab.is_on_last() {
            slab.part = None;
        }
        Ok(true)
    }
}

/// The batch that is under way and the next one, which is made meanwhile.
struct AtHand<'r> {
    of: &'r Batches<'r>,
    batches: Vec<(usize, Arc<Batch>)>,
}

impl AtHand<'_> {
    fn get(&mut self, at: usize) -> Arc<Batch> {
        if let Some((_, batch)) = self.batches.iter().find(|(number, _)| *number == at) {
            return batch.clone();
        }
        let batch = self.of.get(at);
        if self.batches.len() > 1 {
            self.batches.remove(0);
        }
        self.batches.push((at, batch.clone()));
        batch
    }
}

struct Begun<'a> {
    /// The slab, and which part of it.
    piece: Piece,
    /// Its data, as long as there are batches to begin.
    part: Option<SlabRef<'a>>,
    /// The batches to begin, in reverse order.
    left: Vec<usize>,
    at_batch: usize,
    /// The sums so far, with the numbers of their batches.
    sums: Vec<(usize, SlabSums)>,
}

impl Begun<'_> {
    /// Whether no further batch is to be begun.
    fn is_on_last(&self) -> bool {
        self.left.is_empty()
    }

    /// Prepares the next batch on the host while this one is under way.
    fn look_ahead(&self, made: &mut AtHand, worker: &mut UnderWay, kernel: Kernel) {
        if let (Some(next), Some(part)) = (self.left.last(), &self.part) {
            worker.look_ahead(part.view(), &made.get(*next), kernel);
        }
    }

    /// Takes the sums of the batch that is under way.
    fn finish(&mut self, sums: SlabSums) {
        self.sums.push((self.at_batch, sums));
    }

    /// The piece, and its sums of all batches.
    fn joined(mut self) -> (Piece, SlabSums) {
        self.sums.sort_by_key(|(batch, _)| *batch);
        let sums = SlabSums::joined(self.sums.into_iter().map(|(_, sums)| sums));
        (self.piece, sums.expect("a problem has an energy"))
    }
}

// Prepares the arrays of a calculation, and keeps them for the next one.

impl Engine<'_> {
    /// Allows so many bytes of the host's memory for what workers compute from slabs and need again.
    pub fn keep(&mut self, bytes: u64) {
        self.kept = bytes;
        let each = bytes / self.workers.len() as u64;
        self.workers.iter_mut().for_each(|worker| worker.keep(each));
    }

    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Whether slabs displace each other, so that every calculation uploads them again.
    pub fn streams(&self) -> bool {
        self.workers.iter().any(|worker| worker.streams())
    }

    /// Places all that a version's kernels read, where it stays there. The next calculation, even the
    /// first, then only launches, and prepares the next batch of energies.
    pub fn ready(&mut self, kernel: Kernel) -> Result<()> {
        let slabs = self.slabs;
        let (Some(slab), [only]) = (slabs.in_memory(), &mut self.workers[..]) else {
            return Ok(());
        };
        let (1, 1) = (slabs.count(), self.ranks.size()) else { return Ok(()) };
        // The first batch last: its energies are to be there.
        let kinds: Vec<_> = kernel.batches(slabs.problem()).kinds().collect();
        kinds.iter().rev().try_for_each(|batch| only.ready(slab.view(), batch, kernel))
    }
}

// A worker's slabs under way, for which every path out waits.

/// A worker and the number of its slabs under way. Dropping it, after an error or in a panic, waits for these
/// and discards their sums: the next run of the worker begins with none under way.
pub struct UnderWay<'w> {
    worker: &'w mut dyn Worker,
    slabs: usize,
}

impl<'w> UnderWay<'w> {
    pub fn of(worker: &'w mut dyn Worker) -> UnderWay<'w> {
        UnderWay { worker, slabs: 0 }
    }

    pub fn has_room(&self) -> bool {
        self.slabs < self.worker.depth()
    }

    pub fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        watch: Watch,
    ) -> Result<()> {
        watch.check()?;
        self.worker.begin(slab, batch, kernel, watch)?;
        self.slabs += 1;
        Ok(())
    }

    pub fn look_ahead(&mut self, slab: SlabView<'_>, batch: &Batch, kernel: Kernel) {
        self.worker.look_ahead(slab, batch, kernel);
    }

    /// The sums of the slab that was begun first.
    pub fn finish(&mut self) -> Result<SlabSums> {
        self.slabs -= 1;
        self.worker.finish()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        while self.slabs > 0 {
            // What went wrong first is what the caller is told.
            let _ = self.finish();
        }
    }
}
