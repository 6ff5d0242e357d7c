//! Many states against one placed screening: on a GPU one's uploads run during the kernels of others, on a CPU small ones are
//! summed side by side.

use std::sync::Arc;
use std::time::Instant;

use gpp_cpu::pool::{CpuTeam, Room};

use crate::calculator::placed::{Parts, Placed};
use crate::calculator::{Bands, Calculator, Formula, Found};
use crate::devices::cpu::CpuDevice;
use crate::devices::gpu::worker::StateSlot;
use crate::devices::{Advance, Control};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::os::memory;
use crate::problem::layout::Preparation;
use crate::problem::{Extents, Id};
use crate::schedule::{Affinity, Dispatch, StepPipeline, each};

/// One of several states of a call.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// The bands that are summed over, with the matrix elements of this state.
    pub bands: Bands<'a>,
    /// Its energies ω in eV, `(nw)`.
    pub omega: &'a [f64],
}

/// Most states on a GPU at the same time: uploads of some, and what the host makes of others, during the kernel of one.
const ON_GPU: usize = 12;

/// Terms of a state that a CPU's thread sums in less than 0.1 s: such states side by side take less time.
const SMALL: u64 = 1 << 26;

/// Sums the state of a number; none if that needs all of the device.
type SumState<'s> = Box<dyn FnMut(usize, Control) -> Result<Option<Found>> + Send + 's>;

impl Calculator {
    /// The sums of several states, each as [`Calculator::sums_at`] returns them, to the bit, in less time than by a call for
    /// each. States with the bands and energies of the one before share its lists of pairs. `call_seconds` are those of
    /// the whole call.
    ///
    /// # Errors
    /// As [`Calculator::sums_at`], of the first state that has one, as [`Error::OfPart`]; no sums are returned then.
    pub fn sums_of_states(
        &self,
        placed: &mut Placed,
        states: &[State],
        formula: Formula,
    ) -> Result<Vec<Found>> {
        self.require_own(placed)?;
        let begin = Instant::now();
        let mut found = self.session.called(None, self.progress.as_ref(), |control| {
            let (mut found, mut ids) = (Vec::new(), Vec::new());
            for (number, state) in states.iter().enumerate() {
                let requests = self.check_requests(state.omega, formula);
                let nothing = requests.and_then(|()| self.nothing(placed, state).transpose());
                let nothing = nothing.map_err(|error| {
                    error.of_part(format_args!("state {}", number + self.index_base))
                })?;
                ids.push(nothing.is_none().then(|| placed.id_of(state, formula)));
                found.push(nothing);
            }
            let asked = Asked { calculator: self, states, formula, ids };
            let mut sums = AllStates { found, base: self.index_base, control };
            // The first one brings the screening to a GPU.
            let first = usize::from(!placed.is_on_gpu(formula));
            sums.sum(first, false, vec![asked.one_by_one(placed)])?;
            let beside = sums.sum(states.len(), true, asked.side_by_side(placed, &sums.left()));
            if beside.is_err() || !sums.left().is_empty() {
                placed.forget();
            }
            beside?;
            sums.sum(states.len(), false, vec![asked.one_by_one(placed)])?;
            Ok(sums.found.into_iter().flatten().collect::<Vec<Found>>())
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        found.iter_mut().for_each(|found| found.call_seconds = seconds);
        Ok(found)
    }
}

struct Asked<'c> {
    calculator: &'c Calculator,
    states: &'c [State<'c>],
    formula: Formula,
    ids: Vec<Option<(Id, bool)>>,
}

impl Asked<'_> {
    fn id(&self, number: usize) -> (Id, bool) {
        self.ids[number].expect("it has bands, columns and G")
    }

    /// States by all of the devices.
    fn one_by_one<'s>(&'s self, placed: &'s mut Placed<'_>) -> SumState<'s> {
        Box::new(|number, control| {
            let (state, id) = (&self.states[number], self.id(number));
            self.calculator.sums_of(placed, state, self.formula, id, control).map(Some)
        })
    }

    /// States by the slots of a GPU, or by single threads of a CPU if they are small; none if neither sums `left`.
    fn side_by_side<'s>(&'s self, placed: &'s mut Placed<'_>, left: &[usize]) -> Vec<SumState<'s>> {
        if left.is_empty() {
            return Vec::new();
        }
        for &number in left {
            placed.make_rows(self.states[number].bands.aqsm_local);
        }
        let [ncouls, ngpown] = placed.dimensions();
        let (parts, resident) = placed.parts();
        if let (Some(resident), Some(gpu)) = (resident, self.calculator.session.gpu()) {
            // Each slot loads its own module, which takes as long as many small states.
            let count = left.len().div_ceil(8).clamp(2, ON_GPU).min(left.len());
            let slots = resident.slots(gpu, count).iter_mut();
            let in_slot = |slot: &'s mut StateSlot| -> SumState<'s> {
                Box::new(move |number, control| {
                    let mut sum = |checks| {
                        let found = self.in_slot(slot, Parts { checks, ..parts }, number, control);
                        (found, slot.were_fit())
                    };
                    // Heavy pairs of single precision follow from matrix elements.
                    let checks = self.calculator.is_single();
                    match sum(checks) {
                        (found, are_fit) if are_fit || checks => found,
                        // What is out of bounds has an error, or is replaced.
                        _ => sum(true).0,
                    }
                })
            };
            return slots.map(in_slot).collect();
        }
        let extents = |&number: &usize| {
            let State { bands, omega } = &self.states[number];
            Extents { nbands: bands.e.len(), ngpown, ncouls, nw: omega.len() }
        };
        let devices = self.single_threads(left.iter().map(extents)).into_iter();
        let on_thread = |device: CpuDevice| -> SumState<'s> {
            Box::new(move |number, control| {
                let (calculator, state) = (self.calculator, &self.states[number]);
                let id = self.id(number);
                // SAFETY: it is dropped at the end of this closure, which the borrows outlast.
                let prepared =
                    unsafe { calculator.prepared(parts, state, self.formula, id, false)? };
                let problem = &prepared.problem;
                let (kernels, igp) =
                    (calculator.kernels_for(problem.outline())?, problem.extents().ngpown);
                let needed = calculator.session.host_bytes(problem, &kernels, igp);
                memory::require(problem.name(), needed)?;
                calculator.found(&mut Engine::whole(&device, problem)?, control).map(Some)
            })
        };
        devices.map(on_thread).collect()
    }

    /// The sums of a state by a slot; none if not all of the slab's pairs are those in place, or a layout replaces them.
    fn in_slot(
        &self,
        slot: &mut StateSlot,
        parts: Parts,
        number: usize,
        control: Control,
    ) -> Result<Option<Found>> {
        let (state, id) = (&self.states[number], self.id(number));
        // SAFETY: it is dropped at the end of this function, which the borrows outlast.
        let prepared = unsafe { self.calculator.prepared(parts, state, self.formula, id, true)? };
        let problem = &prepared.problem;
        let kernels = self.calculator.kernels_for(problem.outline())?;
        let mut firsts = kernels.iter().filter_map(|kernel| kernel.first(problem.outline()));
        let is_replaced = firsts.any(|(kernel, _)| Preparation(kernel.layout).replaces());
        if is_replaced || !parts.pairs.are_of(problem.slab()) {
            return Ok(None);
        }
        self.calculator.in_slot(slot, problem, prepared.elsewhere.as_ref(), control).map(Some)
    }

    /// CPUs of one thread each for states of these extents; none if some are large.
    fn single_threads(&self, states: impl Iterator<Item = Extents> + Clone) -> Vec<CpuDevice> {
        let (session, threads) = (&self.calculator.session, self.calculator.threads());
        let Some(cpu) = session.cpu().filter(|_| threads > 1) else { return Vec::new() };
        if states.clone().any(|extents| extents.terms() > SMALL) {
            return Vec::new();
        }
        // Matrix elements as they are and in two layouts, and pairs.
        let bytes = 4 * states.clone().map(Extents::bytes).max().unwrap_or(1);
        let room = memory::free().map_or(u64::MAX, |free| free.bytes / 2 / bytes) as usize;
        let device = |_| {
            let team = CpuTeam::new(Room { cores: 1, all: 1 });
            team.set(1);
            CpuDevice::with_team(cpu.level(), Arc::new(team))
        };
        (0..threads.min(states.count()).min(room)).map(device).collect()
    }
}

struct AllStates<'c> {
    found: Vec<Option<Found>>,
    /// The number of the first state in errors.
    base: usize,
    control: Control<'c>,
}

impl AllStates<'_> {
    fn left(&self) -> Vec<usize> {
        (0..self.found.len()).filter(|&number| self.found[number].is_none()).collect()
    }

    /// Sums up to `count` of those left, one or more at a time. If each `shares` the device, states without room remain.
    fn sum(&mut self, count: usize, shares: bool, sum: Vec<SumState>) -> Result<()> {
        let (total, mut items) = (self.found.len(), self.left());
        let done = total - items.len();
        items.truncate(count);
        if items.is_empty() || sum.is_empty() {
            return Ok(());
        }
        let part_of = items.len() as f64 / total as f64;
        let tell = self.control.advance;
        let advance = |part: f64| tell((done as f64 / total as f64 + part * part_of).min(1.0));
        let control = Control { advance: &advance, ..self.control };
        let mut homes = Affinity { of: vec![None; total], moves: true };
        let queue = Dispatch { items, homes: &mut homes, ahead: usize::MAX, control };
        let pipeline = |sum| StatePipeline { sum, control, summed: None, shares, is_full: false };
        let mut pipelines: Vec<_> = sum.into_iter().map(pipeline).collect();
        let mut take = |(number, found): Summed| {
            self.found[number] = found
                .map_err(|error| error.of_part(format_args!("state {}", number + self.base)))?;
            Ok(())
        };
        let Some(code) = each(pipelines.iter_mut().collect(), queue, &mut take)? else {
            return Ok(());
        };
        let done = total - self.left().len();
        Err(Error::Stopped { code, done, total, unit: "states" })
    }
}

/// A state's number and sums; none if it is left to others.
type Summed = (usize, Result<Option<Found>>);

struct StatePipeline<'s> {
    sum: SumState<'s>,
    control: Control<'s>,
    summed: Option<Summed>,
    /// Whether others may do what has too little room here.
    shares: bool,
    /// After it had too little memory.
    is_full: bool,
}

impl StepPipeline<Summed> for StatePipeline<'_> {
    fn device(&self) -> &str {
        ""
    }

    fn has_room(&self) -> bool {
        self.summed.is_none() && !self.is_full
    }

    fn begin(&mut self, number: usize, advance: Advance) -> Result<bool> {
        let found = match (self.sum)(number, Control { advance, ..self.control }) {
            Err(stopped @ Error::Stopped { .. }) => return Err(stopped),
            // All of a device may have room for what a part has not.
            Err(Error::Memory { .. }) if self.shares => {
                self.is_full = true;
                Ok(None)
            }
            found => found,
        };
        self.summed = Some((number, found));
        Ok(true)
    }

    fn finish(&mut self, _: Advance) -> Result<Option<Summed>> {
        Ok(self.summed.take())
    }
}
