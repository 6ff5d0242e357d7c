//! Parts on a GPU, step after step.
//!
//! A step is a part at some energies. Two streams take steps in turn, each with sums of its own. At a step's end a
//! kernel adds up the slots of the sums and clears them, and the result is copied while further steps run.

use std::collections::VecDeque;
use std::ops::Range;

use gpp_kernels::offdiag::fold;

use super::calculation::Worker;
use super::deal::{AHEAD, Deal, Next};
use super::gpu::{OnGpu, Passing, STREAMS, UNDER_WAY};
use super::launches::batches;
use super::{Sums, images, parts};
use crate::devices::gpu::driver::{Event, Pinned, Transfer};
use crate::error::Result;

/// Products of these names.
const PRODUCTS: &str = "the products";

/// A part at some energies.
struct Step {
    part: usize,
    iw: Range<usize>,
    /// How much of the part is done with it; 1 with the last.
    end: f64,
}

/// A step under way.
struct Begun {
    step: Step,
    /// Begin and end of its products.
    span: [Event; 2],
    copy: Transfer<f64>,
}

/// What is known of the products while they run.
struct Told<'d> {
    worker: usize,
    deal: &'d Deal<'d>,
    /// Before all products.
    begin: Event,
    spans: Vec<[f64; 2]>,
    /// The sums of the part at hand.
    sums: Sums,
    /// What is copied to, while nothing is.
    spare: Vec<Pinned<f64>>,
}

impl Worker for OnGpu<'_> {
    fn device(&self) -> &str {
        self.name()
    }

    fn ahead(&self) -> usize {
        AHEAD
    }

    fn work(&mut self, worker: usize, deal: &Deal) -> Result<f64> {
        let begin = self.context.event()?;
        for lane in &self.lanes {
            // An earlier calculation may have failed within a step.
            lane.sums.clear(&lane.stream)?;
        }
        begin.record(&self.lanes[0].stream)?;
        let sums = Sums::zero(self.task.bands(), self.task.planes());
        let mut told = Told { worker, deal, begin, spans: Vec::new(), sums, spare: Vec::new() };
        let (mut left, mut begun) = (VecDeque::new(), VecDeque::new());
        let mut lane = 0;
        loop {
            if self.task.stop.is_asked() {
                left.clear();
            }
            if left.is_empty() {
                match deal.next(worker, begun.is_empty()) {
                    Next::Part(part) => left.extend(self.steps(part)),
                    Next::Later => self.end(begun.pop_front(), &mut told)?,
                    Next::Nothing => break,
                }
            }
            if begun.len() == UNDER_WAY {
                self.end(begun.pop_front(), &mut told)?;
            }
            if let Some(step) = left.pop_front() {
                begun.push_back(self.begin(step, lane, &mut told)?);
                lane = (lane + 1) % STREAMS;
            }
        }
        while !begun.is_empty() {
            self.end(begun.pop_front(), &mut told)?;
        }
        Ok(covered(told.spans))
    }
}

impl OnGpu<'_> {
    fn steps(&self, part: usize) -> impl Iterator<Item = Step> + use<> {
        let nw = self.task.nw();
        let step = move |iw: Range<usize>| Step { part, end: iw.end as f64 / nw as f64, iw };
        parts::ranges(0..nw, self.together).map(step)
    }

    /// Has a stream sum a step.
    fn begin(&mut self, step: Step, lane: usize, told: &mut Told) -> Result<Begun> {
        let Step { part, iw, .. } = &step;
        let a = self.a(*part, lane)?;
        let lane = &self.lanes[lane];
        let span = [self.context.event()?, self.context.event()?];
        span[0].record(&lane.stream)?;
        for batch in batches(self.task.problem.occ(), iw.clone(), *part) {
            let at = 2 * (batch.iw - iw.start) + usize::from(batch.exchange);
            self.launch(lane, a, batch, at * self.shape.sums())?;
        }
        span[1].record(&lane.stream)?;
        let length = 2 * iw.len() * self.shape.folded();
        let arguments = fold::Fold {
            sums: lane.sums.pointer(),
            folded: lane.folded.pointer(),
            each: self.shape.folded() as u32,
            slots: self.shape.slots,
            count: 2 * iw.len() as u32,
        };
        let function = self.kernels.fold.module.function(fold::SYMBOL)?;
        // SAFETY: the arguments are the kernel's, their arrays of the shape's extents and of this device; the sums
        // are written before it in its stream.
        unsafe {
            let pointers = arguments.pointers();
            function.launch(&lane.stream, arguments.blocks(), fold::THREADS, &pointers)?;
        }
        let to = match told.spare.pop() {
            Some(spare) => spare,
            None => self.context.pinned("sums of a part", lane.folded.len())?,
        };
        let copy = to.download(length, &lane.folded, &lane.stream)?;
        Ok(Begun { step, span, copy })
    }

    /// Takes the sums of the step that was begun first.
    fn end(&self, begun: Option<Begun>, told: &mut Told) -> Result<()> {
        let Some(Begun { step: Step { part, iw, end }, span, copy }) = begun else {
            return Ok(());
        };
        let values = copy.wait()?;
        let [begun, ended] = span.map(|event| event.seconds_since(&told.begin, PRODUCTS));
        told.spans.push([begun?, ended?]);
        for (values, iw) in values.chunks_exact(2 * self.shape.folded()).zip(iw) {
            let (hole, exchange) = values.split_at(self.shape.folded());
            told.sums.take(self.task.at, iw, |l, m| {
                [exchange, hole].map(|values| self.shape.element(values, l, m))
            });
        }
        told.spare.push(values);
        told.deal.tell(told.worker, end);
        if end == 1.0 {
            let next = Sums::zero(self.task.bands(), self.task.planes());
            told.deal.give(told.worker, part, std::mem::replace(&mut told.sums, next));
        }
        Ok(())
    }

    /// A of a group, where launches in a stream find it: kept in place, or brought there.
    fn a(&mut self, group: usize, lane: usize) -> Result<*const f64> {
        if let Some(a) = self.resident.get(&group) {
            return Ok(a.pointer());
        }
        if self.resident.len() < self.most_resident {
            let made = images::group(&self.task, &self.shape, group);
            let a = self.context.upload("A", &made, &self.uploads)?;
            let pointer = a.pointer();
            self.resident.insert(group, a);
            return Ok(pointer);
        }
        let Passing { room, copy } = &mut self.passing[lane];
        let mut image = match copy.take() {
            Some(copy) => copy.wait()?,
            None => self.context.pinned("A", self.shape.a())?,
        };
        images::fill(&self.task, &self.shape, group, &mut image);
        // In this stream, so after all that still reads what was there; the next group's is made meanwhile.
        *copy = Some(image.upload(self.shape.a(), room, &self.lanes[lane].stream)?);
        Ok(room.pointer())
    }
}

/// What spans of time cover, with nothing counted twice.
fn covered(mut spans: Vec<[f64; 2]>) -> f64 {
    spans.sort_by(|one, other| one[0].total_cmp(&other[0]));
    let mut until = f64::NEG_INFINITY;
    let own = |[begin, end]: [f64; 2]| {
        let own = (end - begin.max(until)).max(0.0);
        until = until.max(end);
        own
    };
    spans.into_iter().map(own).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn spans_that_overlap_are_counted_once() {
        let spans = vec![[4.0, 5.0], [0.0, 2.0], [1.0, 3.0], [4.25, 4.5]];
        assert_eq!(super::covered(spans), 4.0);
    }
}
