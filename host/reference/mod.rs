//! The sums that a run is compared with, and the comparison.

pub mod matrix;

use std::sync::LazyLock;

use gpp_core::reference::{TERM, roundings, single};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::catalogue::Version;
use crate::error::Result;
use crate::kernels::plan::Poles;
use crate::output::Progress;
use crate::problem::input_file::MINI_APPS_ENERGIES;
use crate::problem::{Header, Origin, Problem, Slabs, Sums, synthesis};

pub use gpp_core::reference::{Evaluation, Scale, Terms, evaluate};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceSource {
    /// `asxtempref` and `achtempref` of the input file.
    File,
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
#[derive(Clone)]
pub struct Reference {
    pub sums: Sums,
    pub source: ReferenceSource,
    /// The energies (0-based) of the sums, in their order; all if none.
    pub energies: Option<Vec<usize>>,
    pub scale: Option<Scale>,
    /// Whether real parts alone are known.
    real_parts: bool,
    /// Whose sums are compared: Σ, if it sums that, and by the tolerance of its precision.
    version: Option<Version>,
    progress: Progress,
}

impl Reference {
    pub fn new(sums: Sums, source: ReferenceSource, progress: Progress) -> Reference {
        let (energies, scale, version) = (None, None, None);
        Reference { sums, source, energies, scale, real_parts: false, version, progress }
    }

    pub fn at(
        energies: &[usize],
        problem: &Problem,
        sums: &Sums,
        source: ReferenceSource,
        progress: Progress,
    ) -> Reference {
        let start = problem.start();
        let some = |start: &[Complex64]| energies.iter().map(|&iw| start[iw]).collect();
        let start = Sums { asx: some(&start.asx), ach: some(&start.ach) };
        let energies = Some(energies.to_vec()).filter(|some| some.len() < problem.nw());
        Reference { energies, ..Reference::new(start.plus(sums), source, progress) }
    }

    /// With what a comparison needs if sums are off without it: whether a file has real parts alone, and for sums of a
    /// file or a device the scale, of many terms for every few igp. Golden sums do not cancel.
    fn closer(&self, slabs: Slabs) -> Result<Reference> {
        let (is_file, mut closer) = (self.source == ReferenceSource::File, self.clone());
        closer.real_parts = is_file && has_real_parts(slabs, &self.sums)?;
        if is_file || self.source == ReferenceSource::Device {
            let terms = Terms::from(slabs);
            let terms = self.energies.iter().fold(terms, |terms, some| terms.at(some));
            closer.scale = Some(evaluate(terms.at_most(MAX_SCALE_TERMS), self.progress)?.scale);
        }
        Ok(closer)
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

/// The energies (0-based) at which a problem is compared with another version's sums: of many the ends and the middle.
pub fn chosen(nw: usize) -> Vec<usize> {
    if nw > MINI_APPS_ENERGIES { vec![0, nw / 2, nw - 1] } else { (0..nw).collect() }
}

/// The energies (0-based) of a built-in system's problem of which there are golden sums, and these.
pub fn golden(problem: &Problem) -> Option<(Vec<usize>, Sums)> {
    let Origin::System(system, seed) = problem.origin() else { return None };
    let Header { nstart, nend, sig_dw, ref energies, .. } = *problem.header();
    let made = synthesis::header(system, *seed);
    let (known, energies) = (GoldenEnergies::from_header(&made), energies.clone());
    let is_made = *problem.header() == Header { nstart, nend, sig_dw, energies, ..made };
    if is_made {
        golden_of(&system.name, *seed, &known, &GoldenEnergies::from_header(problem.header()))
    } else {
        None
    }
}

/// The energies asked for (0-based) of which there are golden sums, and these; a system has its own, and others.
pub fn golden_of(
    system: &str,
    seed: u64,
    usual: &GoldenEnergies,
    asked: &GoldenEnergies,
) -> Option<(Vec<usize>, Sums)> {
    let known = |energy: &f64| -> Option<[Complex64; 2]> {
        let of_system = |golden: &&Golden| golden.system == system && golden.seed == seed;
        GOLDEN.iter().filter(of_system).find_map(|Golden { at, sums, .. }| {
            let of = at.as_ref().unwrap_or(usual);
            let is_it = |known: &f64| known == energy && of.state_ev == asked.state_ev;
            let index = of.above_state_ev.iter().position(is_it)?;
            Some([sums.asx[index], sums.ach[index]])
        })
    };
    let energies = asked.above_state_ev.iter().enumerate();
    let (energies, found): (Vec<usize>, Vec<[Complex64; 2]>) =
        energies.filter_map(|(index, energy)| Some((index, known(energy)?))).unzip();
    let [asx, ach] = [0, 1].map(|sum| found.iter().map(|sums| sums[sum]).collect());
    (!energies.is_empty()).then_some((energies, Sums { asx, ach }))
}

/// The terms that are evaluated for a reference of a problem without one: all, or those of as many energies as take
/// seconds, at least three, with both ends; none if that is too much.
pub fn evaluated<'a>(problem: impl Into<Slabs<'a>>) -> Option<Terms<'a>> {
    let terms = Terms::from(problem);
    let nw = terms.energies().len();
    if nw <= MINI_APPS_ENERGIES {
        return Some(terms).filter(|terms| terms.count() <= MAX_SERIAL_TERMS);
    }
    let each = terms.count() / nw as u64;
    let count = (SAMPLED_TERMS / each.max(1)).clamp(3, nw as u64) as usize;
    let some: Vec<usize> = (0..count).map(|at| at * (nw - 1) / (count - 1)).collect();
    Some(terms.at(&some)).filter(|terms| terms.count() <= MAX_SAMPLED_TERMS)
}

/// The reference of a problem: stored in its file, golden (of too many terms at some energies), or [evaluated] now.
pub fn for_problem<'a>(
    problem: impl Into<Slabs<'a>>,
    progress: Progress,
) -> Result<Option<Reference>> {
    let slabs = problem.into();
    let problem = slabs.problem();
    if let Some(sums) = &problem.stored {
        return Ok(Some(Reference::new(sums.clone(), ReferenceSource::File, progress)));
    }
    let golden = golden(problem).map(|(energies, sums)| {
        Reference::at(&energies, problem, &sums, ReferenceSource::Golden, progress)
    });
    if golden.as_ref().is_some_and(|golden| golden.energies.is_none()) {
        return Ok(golden);
    }
    let Some(terms) = evaluated(slabs) else {
        let needed = chosen(problem.nw());
        let has_them = |known: &Vec<usize>| needed.iter().all(|at| known.contains(at));
        return Ok(golden.filter(|golden| golden.energies.as_ref().is_some_and(has_them)));
    };
    let energies = terms.energies().to_vec();
    let Evaluation { sums, scale } = evaluate(terms, progress)?;
    let found = Reference::at(&energies, problem, &sums, ReferenceSource::Serial, progress);
    Ok(Some(Reference { scale: Some(scale), ..found }))
}

// Golden sums of the built-in systems, made by a test of `tests/sums/reference.rs` and stored in `data/golden.json`.

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    pub system: String,
    pub seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<GoldenEnergies>,
    #[serde(flatten)]
    pub sums: Sums,
}

/// Energies other than a system's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoldenEnergies {
    pub state_ev: f64,
    pub above_state_ev: Vec<f64>,
}

impl GoldenEnergies {
    pub fn from_header(header: &Header) -> GoldenEnergies {
        GoldenEnergies { state_ev: header.e_lk, above_state_ev: header.above_state() }
    }
}

pub static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/golden.json"))
        .expect("data/golden.json is checked by a test")
});

// The comparison with the reference.
//
// If Σ|terms| is known, errors are relative to it, with the bound of `roundings`. Otherwise, for sums of a file, a
// device or a built-in system, they are relative to the sum: one of N terms of random sign is of the order of
// Σ|terms|/√N and loses a few ε·√N of itself. If sums of a file or a device are farther off, they may cancel, and
// Σ|terms| is evaluated, of many terms for every few `igp`: less than all, so that no error passes that would not pass
// by all.
//
// Rounding may decide a term's branch or cutoff: sums may be off by the size of such terms in addition to the tolerance.
//
// With a file of BerkeleyGW's real flavour, which has no imaginary parts of sums even if poles are off the real axis,
// real parts alone are compared.

/// Roundings relative to Σ|terms| that a sum of terms of random sign may lose.
const RANDOM: f64 = 8.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Incorrect,
    #[default]
    NotVerified,
    Nondeterministic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelativeTo {
    #[default]
    Sum,
    Terms,
}

/// What rounding decides of sums: terms at a bound between the branches, or at the cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undecided {
    /// The largest share of a sum's Σ|terms|.
    pub of_terms: f64,
    /// The most that a sum may be off by, relative to itself; null if that is not finite.
    pub of_sum: Option<f64>,
}

impl Undecided {
    /// The most of sums, each with the size of its undecided terms, Σ|terms| and value; none within the tolerance.
    pub fn largest(
        sums: impl IntoIterator<Item = (f64, f64, Complex64)>,
        tolerance: f64,
    ) -> Option<Undecided> {
        let above = sums.into_iter().filter(|&(undecided, terms, _)| undecided > tolerance * terms);
        let each = above.map(|(undecided, terms, sum)| Undecided {
            of_terms: (undecided / terms).min(1.0),
            of_sum: Some(undecided / sum.norm()).filter(|of_sum| of_sum.is_finite()),
        });
        each.reduce(|a, b| Undecided {
            of_terms: a.of_terms.max(b.of_terms),
            of_sum: a.of_sum.zip(b.of_sum).map(|(a, b)| a.max(b)),
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub outcome: Outcome,
    pub max_rel_error: Option<f64>,
    /// Largest error that passes, in addition to what rounding decides.
    pub tolerance: f64,
    #[serde(default)]
    pub relative_to: RelativeTo,
    /// What rounding decides, if that is more than the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// Whether real parts alone were compared: the file's sums have no imaginary ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_parts: bool,
    pub reference: Option<ReferenceSource>,
    /// The `iw` of the energies that were compared; null of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energies: Option<Vec<usize>>,
    #[serde(skip)]
    pub worst: Option<(String, Complex64, Complex64)>,
}

/// What a version summed with the starting sums, compared with what it sums of a reference: both parts, or Σ.
pub fn verify_version<'a>(
    version: Version,
    problem: impl Into<Slabs<'a>>,
    sums: &Sums,
    reference: Option<&Reference>,
) -> Result<(Sums, Verification)> {
    let (slabs, is_alone) = (problem.into(), version.is_sigma_alone());
    let start = slabs.problem().start();
    let sums = if is_alone { start.alone().plus(sums) } else { start.plus(sums) };
    let version = Some(version);
    let reference = reference.map(|reference| Reference { version, ..reference.clone() });
    let verification = verify(slabs, &sums, reference.as_ref())?;
    Ok((sums, verification))
}

pub fn verify<'a>(
    problem: impl Into<Slabs<'a>>,
    sums: &Sums,
    reference: Option<&Reference>,
) -> Result<Verification> {
    let slabs = problem.into();
    let problem = slabs.problem();
    let Some(reference) = reference else {
        let tolerance = tolerance(problem, RelativeTo::Sum);
        return Ok(Verification { tolerance, ..Verification::default() });
    };
    let verification = compared(problem, sums, reference);
    if verification.outcome != Outcome::Incorrect {
        return Ok(verification);
    }
    Ok(compared(problem, sums, &reference.closer(slabs)?))
}

/// The derivatives of a problem's Σ by the definition, unless that takes too long.
pub fn derivatives<'a>(
    problem: impl Into<Slabs<'a>>,
    progress: Progress,
) -> Result<Option<Evaluation>> {
    let terms = Terms::from(problem).derivatives();
    if terms.count() > MAX_SERIAL_TERMS { Ok(None) } else { evaluate(terms, progress).map(Some) }
}

pub fn verify_derivative(
    problem: &Problem,
    found: &[Complex64],
    expected: Option<&Evaluation>,
) -> Verification {
    let relative_to = RelativeTo::Terms;
    let tolerance = tolerance(problem, relative_to);
    let none = Verification { tolerance, relative_to, ..Verification::default() };
    let Some(Evaluation { sums, scale }) = expected else { return none };
    let (expected, Scale { magnitudes, undecided }) = (sums.alone().ach, scale.alone());
    let errors = found.iter().zip(&expected).enumerate().map(|(iw, (found, expected))| {
        let (undecided, all) = (undecided[iw][1], magnitudes[iw][1]);
        let difference = (found - expected).norm();
        let error = if difference <= undecided { 0.0 } else { (difference - undecided) / all };
        (error, *found, *expected)
    });
    // NaN is the largest.
    let worst = errors.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let largest = worst.map_or(0.0, |(error, ..)| error);
    let passed = largest <= tolerance && found.len() == expected.len();
    Verification {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        max_rel_error: Some(largest).filter(|error| error.is_finite()),
        reference: Some(ReferenceSource::Serial),
        worst: worst.map(|(_, found, expected)| ("dΣ/dω".into(), found, expected)),
        ..none
    }
}

fn compared(problem: &Problem, sums: &Sums, reference: &Reference) -> Verification {
    let real_parts = reference.real_parts;
    let is_alone = reference.version.is_some_and(Version::is_sigma_alone);
    let compared = |sums: &Sums| if is_alone { sums.alone() } else { sums.clone() };
    let (start, expected) = (compared(problem.start()), compared(&reference.sums));
    let sizes = |scale: &Scale| if is_alone { scale.alone() } else { scale.clone() };
    let scale = reference.scale.as_ref().map(sizes);
    let relative_to = if scale.is_some() { RelativeTo::Terms } else { RelativeTo::Sum };
    let tolerance = match (reference.version.and_then(single), relative_to) {
        (Some(of_terms), RelativeTo::Terms) => of_terms,
        // Of terms of random sign both the sum and its error grow as the root of their number; heavy ones add to it.
        (Some(of_terms), RelativeTo::Sum) => 4.0 * of_terms,
        (None, _) => tolerance(problem, relative_to),
    };
    let (nw, nstart) = (problem.nw(), problem.header().nstart);
    let energies = reference.energies.clone().unwrap_or_else(|| (0..nw).collect());
    let lengths = [sums.asx.len(), sums.ach.len(), expected.asx.len(), expected.ach.len()];
    let mut passed = lengths == [nw, nw, energies.len(), energies.len()];
    let mut largest = 0.0_f64;
    let mut worst: Option<(f64, usize, Complex64, Complex64)> = None;
    let named = sums.named(nstart).zip(start.named(nstart)).enumerate();
    let compared = named.filter(|(at, _)| energies.binary_search(&(at % nw)).is_ok());
    let with = compared.zip(expected.named(nstart)).enumerate();
    for (at, ((of_all, ((_, value), (_, start))), (_, expected))) in with {
        let off = value - expected;
        // That of the real parts is NaN too if an imaginary part is none.
        let difference = if real_parts { (off.re + 0.0 * off.im).abs() } else { off.norm() };
        let (undecided, scale) = match &scale {
            None => (0.0, (expected - start).norm().max(expected.norm())),
            Some(Scale { magnitudes, undecided }) => {
                let (part, e) = (at / energies.len(), at % energies.len());
                // The starting sum is rounded as well.
                (undecided[e][part], magnitudes[e][part] + start.norm())
            }
        };
        let error = |decided: f64| {
            let excess = difference - decided;
            if excess <= 0.0 { 0.0 } else { excess / (scale + decided) }
        };
        let beyond = error(undecided);
        passed &= beyond <= tolerance && scale < f64::INFINITY && undecided < f64::INFINITY;
        largest = largest.max(error(0.0));
        if worst.as_ref().is_none_or(|(so_far, ..)| beyond.is_nan() || beyond > *so_far) {
            worst = Some((beyond, of_all, value, expected));
        }
        if beyond.is_nan() {
            largest = f64::NAN;
            break;
        }
    }
    let undecided = scale.and_then(|Scale { magnitudes, undecided }| {
        let sizes = |part: usize, sums: &[Complex64]| -> Vec<_> {
            let sizes = undecided.iter().zip(&magnitudes).zip(sums);
            sizes.map(|((u, m), sum)| (u[part], m[part], *sum)).collect()
        };
        Undecided::largest([sizes(0, &expected.asx), sizes(1, &expected.ach)].concat(), tolerance)
    });
    Verification {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        max_rel_error: worst.as_ref().map(|_| largest).filter(|error| error.is_finite()),
        tolerance,
        relative_to,
        undecided,
        real_parts,
        reference: Some(reference.source),
        energies: reference.energies.as_ref().map(|all| all.iter().map(|at| at + nstart).collect()),
        worst: worst.map(|(_, at, value, expected)| (name(problem, is_alone, at), value, expected)),
    }
}

/// Words for one of the sums of a problem, those of SX − X first.
fn name(problem: &Problem, is_alone: bool, at: usize) -> String {
    let (header, nw) = (problem.header(), problem.nw());
    let sum = match at < nw {
        true => "SX − X",
        false if is_alone => "Σ",
        false => "CH",
    };
    let from = if header.state().is_some() { " from the state's energy" } else { "" };
    format!("{sum} at energy {} of {nw} ({:+} eV{from})", at % nw + 1, header.shown()[at % nw])
}

fn tolerance(problem: &Problem, relative_to: RelativeTo) -> f64 {
    let terms = (problem.terms() / problem.nw() as u64) as f64;
    let roundings = match relative_to {
        RelativeTo::Sum => TERM + RANDOM * terms.sqrt(),
        RelativeTo::Terms => roundings(problem.header()),
    };
    f64::EPSILON * roundings
}
