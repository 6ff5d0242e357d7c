//! The sums that a run is compared with.

pub mod golden;
pub mod precise;
pub mod serial;
mod term;
pub mod verify;

use std::sync::OnceLock;

use num_complex::Complex64;
use rayon::prelude::*;

use crate::error::Result;
use crate::problem::file::MINI_APPS_ENERGIES;
use crate::problem::{Bands, Frame, Header, Origin, SlabView, Slabs, Sums};
use crate::process::progress::Progress;

/// Where reference sums come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `asxtempref` and `achtempref` of the input file.
    File,
    /// `data/golden.json`, of a built-in system.
    Golden,
    /// Evaluated now by [`evaluate`].
    Serial,
    /// A version's that has the terms as the definition writes them, on the same device.
    Device,
}

/// Terms that are evaluated in double-double numbers at most: a second on two cores.
const MAX_PRECISE_TERMS: u64 = 4_000_000;

/// Most terms that are evaluated for a reference that is stored nowhere: some minutes on two cores.
pub const MAX_SERIAL_TERMS: u64 = 60_000_000_000;

/// Part of `|vcoul·M·eps|` below which a term of `asx` may vanish, since squares of what it is made of are
/// no numbers any more, and one of `ach`.
const VANISHING: [f64; 2] = [1e-130, 1e-250];

/// The sums of a problem and how large their terms are.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Sums that the kernels must find, without the starting sums.
    pub sums: Sums,
    /// How large their terms are.
    pub scale: Scale,
}

/// What errors are relative to: `asx` and `ach` of each energy.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Σ|terms|, by the 1-norm.
    pub magnitudes: Vec<[f64; 2]>,
    /// What rounding may add or take away, where it decides about a branch or the cutoff.
    pub undecided: Vec<[f64; 2]>,
}

/// Evaluates all terms of a problem, slab by slab: in double-double numbers where they are few.
///
/// # Errors
/// Those of [`Slabs::part`]: none for a problem in memory.
pub fn evaluate<'a>(problem: impl Into<Slabs<'a>>, progress: Progress) -> Result<Evaluation> {
    let slabs = problem.into();
    if slabs.frame().terms() <= MAX_PRECISE_TERMS {
        precise::evaluate(slabs)
    } else {
        serial::evaluate(slabs, progress)
    }
}

/// What `column` says of each igp of a problem's slabs, in their order; of its own it knows the number within
/// the slab.
fn columns<T: Send>(
    slabs: Slabs,
    column: impl Fn(&Bands, SlabView, usize) -> T + Sync,
) -> Result<Vec<T>> {
    let (bands, mut columns) = (slabs.frame().bands(), Vec::new());
    for igp in slabs.ranges() {
        let part = slabs.part(igp)?;
        let slab = part.view();
        columns.par_extend((0..slab.len()).into_par_iter().map(|igp| column(bands, slab, igp)));
    }
    Ok(columns)
}

/// Reference sums, the starting sums included.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What a run must find.
    pub sums: Sums,
    /// Where it comes from.
    pub source: Source,
    /// The energies (0-based) that it has sums of, in their order; all, where that is not said.
    pub energies: Option<Vec<usize>>,
    scale: OnceLock<Scale>,
    progress: Progress,
}

impl Reference {
    /// Sums from elsewhere.
    pub fn new(sums: Sums, source: Source, progress: Progress) -> Reference {
        Reference { sums, source, energies: None, scale: OnceLock::new(), progress }
    }

    /// Sums from elsewhere of a problem's terms at some energies, in their order.
    pub fn at(
        energies: &[usize],
        problem: &Frame,
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

    /// How large the terms are, where they were evaluated with the sums.
    pub fn scale(&self) -> Option<&Scale> {
        self.scale.get()
    }

    /// [`Reference::scale`], evaluated now for sums of a file: a built-in system's do not cancel.
    ///
    /// # Errors
    /// Those of [`evaluate`].
    pub fn evaluated_scale(&self, slabs: Slabs) -> Result<Option<&Scale>> {
        let is_evaluated = self.source == Source::File && slabs.frame().terms() <= MAX_SERIAL_TERMS;
        if is_evaluated && self.scale().is_none() {
            let scale = evaluate(slabs, self.progress)?.scale;
            self.scale.get_or_init(|| scale);
        }
        Ok(self.scale())
    }
}

/// The energies (0-based) at which a problem is compared with another version's sums, where it has many: the
/// ends and the middle; none where it has few, and is compared at all of them.
pub fn chosen(nw: usize) -> Option<[usize; 3]> {
    (nw > MINI_APPS_ENERGIES).then(|| [0, nw / 2, nw - 1])
}

/// The golden sums of a problem, where it is a built-in system at its own energies.
fn golden_of(problem: &Frame) -> Option<&'static Sums> {
    let Origin::System(system, seed) = problem.origin() else { return None };
    let Header { nstart, nend, energies, .. } = problem.header();
    let has_own = energies.is_none() && (*nstart, *nend) == (system.nstart, system.nend);
    if has_own { golden::find(&system.name, *seed) } else { None }
}

/// The energies of a problem (0-based) that there are golden sums at, and these, where it is a built-in system
/// at others than its own and the ones that it would be compared at are among them.
fn golden_among(problem: &Frame) -> Option<(Vec<usize>, Sums)> {
    let Origin::System(system, seed) = problem.origin() else { return None };
    let needed = chosen(problem.nw())?;
    let at = golden::At::of(problem.header());
    let found = golden::find_among(&system.name, *seed, &at);
    found.filter(|(energies, _)| needed.iter().all(|at| energies.contains(at)))
}

/// Whether there are golden sums of a problem.
pub fn is_golden(problem: &Frame) -> bool {
    golden_of(problem).is_some()
}

/// Whether a problem has a reference, or one can be evaluated.
pub fn is_known(problem: &Frame) -> bool {
    problem.stored().is_some()
        || is_golden(problem)
        || problem.terms() <= MAX_SERIAL_TERMS
        || golden_among(problem).is_some()
}

/// The reference of a problem: stored with it, golden, or evaluated now where that is not too much; of too many
/// energies golden sums at some.
///
/// # Errors
/// Those of [`evaluate`].
pub fn of<'a>(problem: impl Into<Slabs<'a>>, progress: Progress) -> Result<Option<Reference>> {
    let slabs = problem.into();
    let problem = slabs.frame();
    if let Some(sums) = problem.stored() {
        return Ok(Some(Reference::new(sums.clone(), Source::File, progress)));
    }
    if let Some(sums) = golden_of(problem) {
        return Ok(Some(Reference::new(sums.clone(), Source::Golden, progress)));
    }
    if problem.terms() > MAX_SERIAL_TERMS {
        let found = golden_among(problem);
        return Ok(found.map(|(energies, sums)| {
            Reference::at(&energies, problem, &sums, Source::Golden, progress)
        }));
    }
    let evaluation = evaluate(slabs, progress)?;
    let sums = problem.start().plus(&evaluation.sums);
    let evaluated = Reference::new(sums, Source::Serial, progress);
    Ok(Some(Reference { scale: evaluation.scale.into(), ..evaluated }))
}
