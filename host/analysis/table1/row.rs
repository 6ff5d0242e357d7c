//! A row of a table: a version on a system, here and where it was published.

use serde::Serialize;

use crate::analysis::noise::differs;
use crate::analysis::outcomes;
use crate::analysis::published::{PaperRow, Told};
use crate::analysis::speed_ups::By;
use crate::catalogue::order;
use crate::record::run::{Measurement, Run};
use crate::record::state::State;
use crate::record::times::{Times, Verdict};

/// One version on one system, here and in the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The file that the run was read from; `None` for one made now.
    pub from: Option<String>,
    /// The device's name.
    pub device: String,
    /// The system's name.
    pub system: String,
    /// The version's id.
    pub version: String,
    /// Median time here.
    pub time_s: f64,
    /// Standard deviation of the times here, of at least two.
    pub sigma_s: Option<f64>,
    /// 95 % interval of the median here: from.
    pub interval_from_s: Option<f64>,
    /// 95 % interval of the median here: to.
    pub interval_to_s: Option<f64>,
    /// Timed runs here.
    pub samples: usize,
    /// Median clock of the multiprocessors here, in MHz.
    pub sm_mhz: Option<f64>,
    /// Cycles of a multiprocessor here.
    pub cycles: Option<f64>,
    /// Energy of a calculation here, in joules.
    pub energy_j: Option<f64>,
    /// Timed runs here during which something held the clock back.
    pub held_back: Option<usize>,
    /// What the limit of power took of the clock here, as a share of the highest at which the version was seen.
    pub clock_lost: Option<f64>,
    /// The same in percent, and what else held the clock back.
    pub held_back_by: Option<String>,
    /// Median time here before the limit of power lowered the clock.
    pub before_cap_s: Option<f64>,
    /// Rate here; `None` for a version whose operations are not counted.
    pub tflops: Option<f64>,
    /// The version that the speed-ups are over.
    pub baseline: String,
    /// What the speed-ups here are by: time, time before the cap, cycles or energy.
    pub by: &'static str,
    /// The baseline's time, cycles or energy over this one's, here.
    pub over_baseline: Option<f64>,
    /// Warps on a multiprocessor, here.
    pub warps_per_sm: Option<u32>,
    /// Registers of a thread, here.
    pub registers: Option<u32>,
    /// Time in the paper, one V100.
    pub paper_time_s: Option<f64>,
    /// The paper's rate.
    pub paper_tflops: Option<f64>,
    /// The baseline's time over this one's, in the paper.
    pub paper_over_baseline: Option<f64>,
    /// The paper's warps.
    pub paper_warps_per_sm: Option<u32>,
    /// The paper's registers.
    pub paper_registers: Option<u32>,
    /// Whether the step from the version before goes the other way than in the paper: faster there
    /// and slower here, or slower there and faster here.
    pub order_differs: bool,
    /// Whether its time differs from that of the version before by more than noise; `None` of few samples.
    pub step: Option<Verdict>,
    /// Its times, here.
    #[serde(skip)]
    pub times: Times,
    /// Where the operation count behind the rate comes from.
    pub flops_source: String,
    /// The journey that it is told in.
    pub journey: String,
    /// 10¹² operations, here.
    pub tflop: Option<f64>,
    /// FLOP/byte on HBM here, where a profile counted them.
    pub intensity: Option<f64>,
    /// 10¹² operations in the journey's own source, one V100; not of the paper's versions.
    pub published_tflop: Option<f64>,
    /// That source's time.
    pub published_time_s: Option<f64>,
    /// That source's rate.
    pub published_tflops: Option<f64>,
    /// The baseline's time over this one's, in that source.
    pub published_over_baseline: Option<f64>,
    /// That source's FLOP/byte on HBM.
    pub published_intensity: Option<f64>,
}

/// A row without what it has of other rows.
pub fn row(
    run: &Run,
    result: &Measurement,
    published: Option<&PaperRow>,
    told: Option<&Told>,
) -> Row {
    let system = &run.system.name;
    let interval = result.times.interval();
    let held_back = result.held_back.as_ref();
    Row {
        from: None,
        device: run.head.device.name.clone(),
        system: system.clone(),
        version: result.version.clone(),
        time_s: result.times.median,
        sigma_s: result.times.sigma(),
        interval_from_s: interval.map(|[from, _]| from),
        interval_to_s: interval.map(|[_, to]| to),
        samples: result.times.samples.len(),
        sm_mhz: result.state.as_ref().and_then(|state| state.sm_mhz).map(|clock| clock.median),
        cycles: result.cycles,
        energy_j: result.energy_j,
        held_back: held_back.map(|marks| marks.iter().filter(|held| **held).count()),
        clock_lost: result.state.as_ref().and_then(State::clock_lost),
        held_back_by: result.state.as_ref().and_then(outcomes::clock_lost),
        before_cap_s: result.before_cap.as_ref().map(|before| before.times.median),
        tflops: result.tflops,
        baseline: String::new(),
        by: By::Time.name(),
        over_baseline: None,
        warps_per_sm: result.warps_per_sm,
        registers: result.registers,
        paper_time_s: published.and_then(|row| row.time_s(system)),
        paper_tflops: published.and_then(|row| row.tflops(system)),
        paper_over_baseline: None,
        paper_warps_per_sm: published.map(|row| row.warps_per_sm),
        paper_registers: published.map(|row| row.registers_per_thread),
        order_differs: false,
        step: None,
        times: result.times.clone(),
        flops_source: result.flops_source.clone(),
        journey: String::new(),
        tflop: result.flops.map(|flops| flops / 1e12),
        intensity: None,
        published_tflop: told.and_then(|told| told.tflop),
        published_time_s: told.and_then(|told| told.time_s),
        published_tflops: told.and_then(|told| told.tflops),
        published_over_baseline: None,
        published_intensity: told.and_then(|told| told.intensity),
    }
}

/// Whether the step from the nearest version before is larger than noise.
pub fn step(row: &Row, rows: &[Row]) -> Option<Verdict> {
    let ids = rows.iter().map(|row| row.version.as_str());
    let before = order::nearest_before(&row.version, ids)?;
    let before = rows.iter().find(|row| row.version == before)?;
    differs(&before.times, &row.times)
}

/// Whether the step from the nearest version before goes the other way than in what was published.
pub fn order_differs(row: &Row, rows: &[Row]) -> bool {
    let ids = rows.iter().map(|row| row.version.as_str());
    let before = order::nearest_before(&row.version, ids);
    let before = before.and_then(|id| rows.iter().find(|row| row.version == id));
    let faster = |time: fn(&Row) -> Option<f64>| Some(time(row)? < time(before?)?);
    let here = faster(|row| Some(row.time_s));
    let there = faster(|row| row.paper_time_s.or(row.published_time_s));
    here.zip(there).is_some_and(|(here, there)| here != there)
}
