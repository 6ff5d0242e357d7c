//! One point of a scaling.

use std::sync::Arc;
use std::time::Instant;

use super::judge::Judge;
use crate::catalogue::{BackEnd, Kernel};
use crate::devices::gauge::{Gauge, Watch};
use crate::devices::gpu;
use crate::devices::launch::entry;
use crate::engine::{Engine, Share};
use crate::error::Result;
use crate::experiments::measure::seen::seen;
use crate::experiments::measure::timed::Timed;
use crate::experiments::measure::{judged, same_bits};
use crate::problem::Sums;
use crate::ranks::Ranks;
use crate::record::parting::Work;
use crate::record::scale::{Data, Line, Point};
use crate::record::state::State;
use crate::record::times::{Repetition, Times};

/// Repeated calculations.
pub struct Sampled {
    /// Where the slabs were.
    pub data: Data,
    times: Times,
    state: Option<State>,
    gather_s: Option<f64>,
    sums: Sums,
    shares: Vec<Share>,
    deterministic: bool,
}

/// Repeats a calculation. Slabs that do not stay in place come from the host's memory, whatever was asked
/// for. `gauge` is looked at meanwhile. Collective.
///
/// # Errors
/// Those of the engine.
///
/// # Panics
/// Where `repetition` has no timed run.
pub fn sampled(
    engine: &mut Engine,
    ranks: &dyn Ranks,
    kernel: Kernel,
    repetition: Repetition,
    data: Data,
    gauge: Option<Arc<dyn Gauge>>,
) -> Result<Sampled> {
    // What is made, loaded and uploaded once is part of no time.
    let mut last = engine.run(kernel)?;
    if data == Data::Host {
        engine.forget();
        last = engine.run(kernel)?;
    }
    let (mut seconds, mut gathers, mut deterministic) = (Vec::new(), Vec::new(), true);
    let watch = gauge.clone().map(Watch::begin);
    let mut spans = Vec::new();
    for run in 0..repetition.runs() {
        if data == Data::Host {
            engine.forget();
        }
        let begin = Instant::now();
        let calculation = engine.run(kernel)?;
        deterministic &= same_bits(&calculation.sums, &last.sums);
        last = calculation;
        if run >= repetition.warmup {
            seconds.push(last.seconds);
            spans.push(begin..Instant::now());
            let longest = last.shares.iter().map(|share| share.busy_s).fold(0.0, f64::max);
            gathers.push((last.seconds - longest).max(0.0));
        }
    }
    let comes = last.shares.iter().any(|share| share.uploaded > 0 || share.source_s > 0.0);
    let comes = ranks.broadcast(vec![u8::from(comes)]) == [1];
    let looks = watch.map_or(Vec::new(), Watch::end);
    let limit = gauge.and_then(|gauge| gauge.power_limit_w());
    Ok(Sampled {
        state: seen(&looks, &spans, limit).state,
        data: if comes { Data::Host } else { data },
        times: Times::of(seconds),
        gather_s: (last.shares.len() > 1).then(|| Times::of(gathers).median),
        sums: last.sums,
        shares: last.shares,
        deterministic,
    })
}

impl Sampled {
    /// Of one member with its data in place.
    pub fn of(timed: Timed) -> Sampled {
        let Timed { samples, seen, sums, deterministic, .. } = timed;
        let (times, state) = (Times::of(samples), seen.state);
        let (data, gather_s, shares) = (Data::Place, None, Vec::new());
        Sampled { data, times, state, gather_s, sums, shares, deterministic }
    }

    /// The point of so many members on a line.
    ///
    /// # Errors
    /// Those of evaluating.
    pub fn judged(
        self,
        (line, members): (Line, usize),
        engine: &Engine,
        (kernel, back_end): (Kernel, BackEnd),
        judge: &Judge,
    ) -> Result<Point> {
        let Sampled { data, times, state, gather_s, sums, shares, deterministic } = self;
        let slabs = engine.slabs();
        let frame = slabs.frame();
        let as_one = judge.base.as_ref().map(|base| same_bits(&sums, base));
        let sums = frame.start().plus(&sums);
        let bits_differ = !deterministic || as_one == Some(false);
        let verification = judged(slabs, &sums, Some(&judge.reference), !bits_differ)?;
        let work = Work::of(shares, None, 0);
        let batch = frame.batches_for(kernel).first();
        let symbol = match (kernel, back_end) {
            (Kernel::Gpu(gpu), BackEnd::Gpu) => {
                Some(entry(batch.plan().kernel(gpu), batch.nw()).symbol)
            }
            _ => None,
        };
        Ok(Point {
            line,
            data,
            members,
            nbands: frame.header().nbands,
            ngpown: frame.header().ngpown,
            ncouls: frame.header().ncouls,
            nw: frame.nw(),
            igp: slabs.igp(),
            slabs: slabs.count(),
            kernel: symbol.map(String::from),
            kernel_hash: symbol.and_then(gpu::hash),
            times,
            state,
            gather_s,
            imbalance: work.imbalance,
            shares: work.shares,
            same_bits: as_one,
            outcome: verification.outcome,
            reference: verification.reference,
            speed_up: None,
            efficiency: None,
            modelled: None,
        })
    }
}
