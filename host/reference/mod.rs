//! The sums that a run is compared with.

pub mod matrix;
pub mod verify;

use std::sync::{LazyLock, OnceLock};

use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::kernels::plan::Poles;
use crate::problem::input_file::MINI_APPS_ENERGIES;
use crate::problem::{Header, Origin, Problem, Slabs, Sums, synthesis};
use crate::progress::Progress;

pub use gpp_core::reference::{
    Evaluation, Scale, StaticCh, Terms, evaluate, precisely, serial, static_ch,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `asxtempref` and `achtempref` of the input file.
    File,
    /// `data/golden.json`.
    Golden,
    /// Evaluated now by [`evaluate`].
    Serial,
    /// Those of another version on the same device, with terms as in the definition.
    Device,
}

/// Most terms that are evaluated for a reference that is stored nowhere: some minutes on two cores.
pub const MAX_SERIAL_TERMS: u64 = 60_000_000_000;

/// Terms that are evaluated of many energies, at some of them: seconds on two cores.
const SAMPLED_TERMS: u64 = 200_000_000;

/// Most of these, if the fewest energies have more than that.
const MAX_SAMPLED_TERMS: u64 = 3_000_000_000;

/// Most terms whose sizes are added if a comparison fails without them.
const MAX_SCALE_TERMS: u64 = 1_000_000_000;

/// Reference sums, the starting sums included.
#[derive(Clone, Debug)]
pub struct Reference {
    pub sums: Sums,
    pub source: Source,
    /// The energies (0-based) of the sums, in their order; all if none.
    pub energies: Option<Vec<usize>>,
    scale: OnceLock<Scale>,
    real_parts: OnceLock<bool>,
    progress: Progress,
}

impl Reference {
    pub fn new(sums: Sums, source: Source, progress: Progress) -> Reference {
        let (scale, real_parts) = (OnceLock::new(), OnceLock::new());
        Reference { sums, source, energies: None, scale, real_parts, progress }
    }

    /// Sums of a problem's terms at some energies, in their order.
    pub fn at(
        energies: &[usize],
        problem: &Problem,
        sums: &Sums,
        source: Source,
        progress: Progress,
    ) -> Reference {
        let start = problem.start();
        let of = |start: &[Complex64]| energies.iter().map(|&at| start[at]).collect();
        let start = Sums { asx: of(&start.asx), ach: of(&start.ach) };
        let energies = Some(energies.to_vec());
        Reference { energies, ..Reference::new(start.plus(sums), source, progress) }
    }

    /// The sizes of the terms, if they are known.
    pub fn scale(&self) -> Option<&Scale> {
        self.scale.get()
    }

    /// Whether real parts alone are known, as [`Reference::look_closer`] finds out.
    pub fn real_parts(&self) -> bool {
        self.real_parts.get().is_some_and(|&real_parts| real_parts)
    }

    /// Finds out what a comparison needs if sums are off without it: whether a file has real parts alone, and for sums of
    /// a file or a device the [scale](Reference::scale), of many terms for every few igp. Golden sums do not cancel.
    pub fn look_closer(&self, slabs: Slabs) -> Result<()> {
        if self.source == Source::File && self.real_parts.get().is_none() {
            let real_parts = has_real_parts(slabs, &self.sums)?;
            self.real_parts.get_or_init(|| real_parts);
        }
        if matches!(self.source, Source::File | Source::Device) && self.scale().is_none() {
            let all = Terms::from(slabs);
            let terms = self.energies.iter().fold(all, |terms, some| terms.at(some));
            let scale = evaluate(terms.at_most(MAX_SCALE_TERMS), self.progress)?.scale;
            self.scale.get_or_init(|| scale);
        }
        Ok(())
    }
}

/// Whether these sums of a file are real parts alone, as BerkeleyGW's real flavour writes them: they, eps and the
/// matrix elements are real, although poles off the real axis give imaginary parts.
fn has_real_parts(slabs: Slabs, sums: &Sums) -> Result<bool> {
    let are_real = |numbers: &[Complex64]| numbers.iter().all(|z| z.im == 0.0);
    let problem = slabs.problem();
    let all_sums = [sums, problem.start()];
    let sums_are_real = all_sums.iter().all(|sums| are_real(&sums.asx) && are_real(&sums.ach));
    if !sums_are_real || !are_real(problem.aqsn()) || problem.poles() == Poles::Real {
        return Ok(false);
    }
    for igp in slabs.ranges() {
        let part = problem.part(igp)?;
        let slab = part.view();
        if !are_real(slab.eps()) || !slab.aqsm_local().columns().all(are_real) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The energies (0-based) at which a problem of many is compared with another version's sums: the ends and the middle.
pub fn chosen(nw: usize) -> Option<[usize; 3]> {
    (nw > MINI_APPS_ENERGIES).then(|| [0, nw / 2, nw - 1])
}

/// The golden sums of a problem that is a built-in system at its own energies.
pub fn golden_of(problem: &Problem) -> Option<&'static Sums> {
    let Origin::System(system, seed) = problem.origin() else { return None };
    let is_own = *problem.header() == synthesis::header(system, *seed);
    if is_own { find_golden(&system.name, *seed) } else { None }
}

/// The golden sums of a built-in system at other energies than its own, and the energies (0-based) that they are of,
/// if the [chosen] ones are among them.
fn golden_among(problem: &Problem) -> Option<(Vec<usize>, Sums)> {
    let Origin::System(system, seed) = problem.origin() else { return None };
    let needed = chosen(problem.nw()).filter(|_| is_own_but_for_energies(problem))?;
    let found = find_golden_among(&system.name, *seed, &At::of(problem.header()));
    found.filter(|(energies, _)| needed.iter().all(|at| energies.contains(at)))
}

/// Whether all but the energies is a built-in system's own.
fn is_own_but_for_energies(problem: &Problem) -> bool {
    let Origin::System(system, seed) = problem.origin() else { return false };
    let header = problem.header();
    let Header { nstart, nend, sig_dw, .. } = *header;
    let energies = header.energies.clone();
    *header == Header { nstart, nend, sig_dw, energies, ..synthesis::header(system, *seed) }
}

/// The terms that are evaluated for a reference of a problem without one: all, or those of as many energies as take
/// seconds, at least three, with both ends; none if that is too much.
pub fn evaluated<'a>(problem: impl Into<Slabs<'a>>) -> Option<Terms<'a>> {
    let all = Terms::from(problem.into());
    let nw = all.energies().len();
    if nw <= MINI_APPS_ENERGIES {
        return Some(all).filter(|terms| terms.count() <= MAX_SERIAL_TERMS);
    }
    let each = all.count() / nw as u64;
    let count = (SAMPLED_TERMS / each.max(1)).clamp(3, nw as u64) as usize;
    let some: Vec<usize> = (0..count).map(|at| at * (nw - 1) / (count - 1)).collect();
    Some(all.at(&some)).filter(|terms| terms.count() <= MAX_SAMPLED_TERMS)
}

/// The sums of a problem at all its energies, starting sums included: stored in its file, golden, or evaluated now
/// unless that is too much.
pub fn whole<'a>(problem: impl Into<Slabs<'a>>, progress: Progress) -> Result<Option<Sums>> {
    let slabs = problem.into();
    let problem = slabs.problem();
    if let Some(sums) = problem.stored().or_else(|| golden_of(problem)) {
        return Ok(Some(sums.clone()));
    }
    if problem.terms() > MAX_SERIAL_TERMS {
        return Ok(None);
    }
    Ok(Some(problem.start().plus(&evaluate(slabs, progress)?.sums)))
}

/// The reference of a problem: stored in its file, golden, or [evaluated] now; of too many terms golden sums at some
/// energies.
pub fn of<'a>(problem: impl Into<Slabs<'a>>, progress: Progress) -> Result<Option<Reference>> {
    let slabs = problem.into();
    let problem = slabs.problem();
    let stored = problem.stored().map(|sums| (sums, Source::File));
    if let Some((sums, source)) = stored.or(golden_of(problem).map(|sums| (sums, Source::Golden))) {
        return Ok(Some(Reference::new(sums.clone(), source, progress)));
    }
    let Some(terms) = evaluated(slabs) else {
        let found = golden_among(problem);
        return Ok(found.map(|(energies, sums)| {
            Reference::at(&energies, problem, &sums, Source::Golden, progress)
        }));
    };
    let energies = terms.energies().to_vec();
    let Evaluation { sums, scale } = evaluate(terms, progress)?;
    let all = energies.len() == problem.nw();
    let found = Reference::at(&energies, problem, &sums, Source::Serial, progress);
    Ok(Some(Reference { energies: found.energies.filter(|_| !all), scale: scale.into(), ..found }))
}

// Golden sums of the built-in systems, made by the example `golden` and stored in `data/golden.json`.

/// Golden sums of one system and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    pub system: String,
    pub seed: u64,
    /// Its energies, if they are not the system's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    #[serde(flatten)]
    pub sums: Sums,
}

/// Energies other than a system's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct At {
    pub state_ev: f64,
    pub above_state_ev: Vec<f64>,
}

impl At {
    pub fn of(header: &Header) -> At {
        At { state_ev: header.e_lk, above_state_ev: header.above_state() }
    }
}

pub static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/golden.json"))
        .expect("data/golden.json is checked by a test")
});

fn golden_named(system: &str, seed: u64) -> impl Iterator<Item = &'static Golden> {
    GOLDEN.iter().filter(move |golden| golden.system == system && golden.seed == seed)
}

/// The golden sums of that system and seed at the system's own energies.
pub fn find_golden(system: &str, seed: u64) -> Option<&'static Sums> {
    golden_named(system, seed).find(|golden| golden.at.is_none()).map(|golden| &golden.sums)
}

/// The energies asked for (0-based) of which there are golden sums, and these.
pub fn find_golden_among(system: &str, seed: u64, asked: &At) -> Option<(Vec<usize>, Sums)> {
    let known = |energy: f64| -> Option<[Complex64; 2]> {
        golden_named(system, seed).find_map(|Golden { at, sums, .. }| {
            let at = at.as_ref().filter(|at| at.state_ev == asked.state_ev)?;
            let index = at.above_state_ev.iter().position(|&own| own == energy)?;
            Some([sums.asx[index], sums.ach[index]])
        })
    };
    let energies = asked.above_state_ev.iter().enumerate();
    let (indices, found): (Vec<usize>, Vec<[Complex64; 2]>) =
        energies.filter_map(|(index, &energy)| Some((index, known(energy)?))).unzip();
    let of = |which: usize| found.iter().map(|sums| sums[which]).collect();
    (!indices.is_empty()).then(|| (indices, Sums { asx: of(0), ach: of(1) }))
}
