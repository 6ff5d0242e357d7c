//! Σ as a matrix: every element against the definition.

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::families::{FAMILIES, Family, family};
use common::matrices::{Given, emulated, on_cpu, sample_of_all};
use common::on_device::matrix;
use common::{Kind, QUIET, changed, fixture, made, real, remade};
use gpp::devices::gpu::Gpu;
use gpp::error::Result;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Source, System};
use gpp::reference::Outcome;
use gpp::reference::matrix::{MatrixVerification, SampledElements, compare, evaluate, tolerance};
use gpp_core::offdiag::gpu::{ALL, find};
use gpp_core::offdiag::{MatrixEnergies, MatrixSums, MatrixTask, Synthesised};
use num_complex::Complex64;

type Way = (String, Box<dyn Fn(&MatrixTask) -> Result<MatrixSums>>);

/// On a CPU, as versions compute on a GPU, and by all versions on a GPU where there is one.
fn ways(is_small: bool) -> Vec<Way> {
    let mut ways: Vec<Way> = vec![("CPU".into(), Box::new(by_cpu))];
    for id in ["ring", "m16n8k16", "wide"].into_iter().filter(|_| is_small) {
        let version = find(id).unwrap();
        ways.push((format!("{id}, emulated"), Box::new(|task| Ok(emulated(task, version)))));
    }
    for version in ALL.into_iter().filter(|_| GPU.is_some()) {
        let sums = |task: &MatrixTask| matrix(GPU.as_ref().unwrap(), task, version);
        ways.push((format!("{} on a GPU", version.id), Box::new(sums)));
    }
    ways
}

/// The GPU of this machine; with GPP_REQUIRE_GPU set, there has to be one.
static GPU: LazyLock<Option<Gpu>> = LazyLock::new(|| {
    let gpu = Gpu::limited(0, None);
    if std::env::var_os("GPP_REQUIRE_GPU").is_some() { Some(gpu.unwrap()) } else { gpu.ok() }
});

fn by_cpu(task: &MatrixTask) -> Result<MatrixSums> {
    on_cpu(task)
}

fn verify(task: &MatrixTask, sums: &MatrixSums, sample: &SampledElements) -> MatrixVerification {
    compare(task, sums, sample, &evaluate(task, sample, QUIET))
}

fn failures(task: &MatrixTask) -> Vec<String> {
    let sample = sample_of_all(task);
    let tasks = [*task, alone(task)];
    let expected = tasks.map(|task| evaluate(&task, &sample, QUIET));
    let mut failed = Vec::new();
    for (name, way) in ways(task.problem.header().nbands <= 7) {
        for (task, expected) in tasks.iter().zip(&expected) {
            let found = compare(task, &way(task).unwrap(), &sample, expected);
            if found.outcome != Outcome::Passed {
                failed.push(format!("{name}, {}: {found:?}", task.problem.name()));
            }
        }
    }
    failed
}

fn alone<'a>(task: &MatrixTask<'a>) -> MatrixTask<'a> {
    MatrixTask { sigma_alone: true, ..*task }
}

#[test]
fn every_element_of_all_families_is_the_definition_s() {
    let seeds: u64 = std::env::var("GPP_SEEDS").map_or(3, |n| n.parse().unwrap());
    let mut failed = Vec::new();
    for of in FAMILIES {
        for seed in 0..seeds {
            let problem = family(of, seed);
            let terms = problem.terms() / problem.nw() as u64;
            // More bands where there are fewer terms: 2 to 40.
            let bands = [40, 17, 8, 5, 3].into_iter().find(|n| *n as u64 * terms < 1_000_000);
            let elements = Given::of(&problem, bands.unwrap_or(2), seed);
            let elements = match of {
                Family::Cancelling => elements.in_pairs(-1.0),
                Family::Equal => elements.in_pairs(1.0),
                _ => elements,
            };
            failed.extend(failures(&MatrixTask::new(&problem, &elements)));
            let eta = Some([0.0, 0.1][seed as usize % 2]);
            let problem = remade(&problem, |header, _| header.eta = eta);
            failed.extend(failures(&MatrixTask::new(&problem, &elements)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn versions_that_are_emulated_have_the_same_bits() {
    for (name, bands) in [("tiny", 5), ("tiny-complex", 33)] {
        let system = System::find(name).unwrap();
        let problem = Synthesis::new(system, 1, QUIET).load().unwrap();
        let elements = Synthesised::new(system, 1, 0..bands);
        let both = MatrixTask::new(&problem, &elements);
        for task in [both, alone(&both)] {
            let [first, others @ ..] = ALL.map(|version| emulated(&task, version));
            assert!(others.into_iter().all(|other| other == first), "{name}: versions differ");
            let found = verify(&task, &first, &sample_of_all(&task));
            assert_eq!(found.outcome, Outcome::Passed, "{name}: {found:?}");
        }
    }
}

/// More ig than a block has, more igp, and more bands than a thread takes.
#[test]
fn blocks_that_are_not_whole_are_summed() {
    for (nbands, ngpown, ncouls, bands) in [(3, 65, 257, 3), (2, 130, 300, 2), (2, 3, 5, 67)] {
        let problem = made([nbands, ngpown, ncouls, 2], Kind::Mixed, 5);
        assert_eq!(failures(&MatrixTask::new(&problem, &Given::of(&problem, bands, 9))), [""; 0]);
    }
}

/// Poles at the energies and near them, at `w < 0` with and without the cutoff.
#[test]
fn poles_at_energies_are_the_definition_s() {
    for kind in [Kind::Real, Kind::Mixed, Kind::CutOff] {
        let problem = changed(made([6, 5, 33, 2], kind, 3), |wtilde, wx, _| {
            for (at, pole) in wtilde.iter_mut().enumerate() {
                let re = wx[at % wx.len()] + [0.0, 0.1, -0.6][at % 5 % 3];
                let im = if kind == Kind::Mixed { [0.0, 0.2][at % 2] } else { 0.0 };
                *pole = Complex64::new(re, im);
            }
        });
        let problem = problem.unwrap();
        assert_eq!(failures(&MatrixTask::new(&problem, &Given::of(&problem, 3, 1))), [""; 0]);
    }
}

/// So many bands that a slot of the sums has several items, of which the last are fewer.
#[test]
fn matrices_of_hundreds_of_bands_are_summed() {
    for (nbands, bands) in [(29, 176), (7, 300)] {
        let problem = made([nbands, 9, 17, 1], Kind::Real, 4);
        let elements = Given::of(&problem, bands, 7);
        let both = MatrixTask::new(&problem, &elements);
        let sample = SampledElements { bands: vec![0, 17, 100, 130, 175], energies: vec![0] };
        for (name, way) in ways(true) {
            for task in [both, alone(&both)] {
                let sums = way(&task).unwrap();
                let found = verify(&task, &sums, &sample);
                assert_eq!(found.outcome, Outcome::Passed, "{name}, {bands}: {found:?}");
                for _ in 0..if name.ends_with("GPU") { 3 } else { 0 } {
                    assert!(way(&task).unwrap() == sums, "{name}, {bands}: bits differ");
                }
            }
        }
    }
}

#[test]
fn wrong_elements_do_not_pass() {
    let problem = made([6, 5, 33, 2], Kind::Mixed, 3);
    let elements = Given::of(&problem, 4, 1);
    let task = MatrixTask::new(&problem, &elements);
    let (right, sample) = (by_cpu(&task).unwrap(), sample_of_all(&task));
    let outcome = |sums: &MatrixSums| verify(&task, sums, &sample).outcome;
    assert_eq!(outcome(&right), Outcome::Passed);
    let transposed = |of: &[Complex64]| -> Vec<Complex64> {
        (0..of.len()).map(|i| of[right.at(i / 4 % 4, i % 4, i / 16)]).collect()
    };
    let (sx, ch) = (transposed(&right.sx), transposed(&right.ch));
    assert_eq!(outcome(&MatrixSums { sx, ch: right.ch.clone(), ..right }), Outcome::Incorrect);
    assert_eq!(outcome(&MatrixSums { sx: right.sx.clone(), ch, ..right }), Outcome::Incorrect);
    for (at, element) in evaluate(&task, &sample, QUIET).iter().enumerate() {
        for part in 0..2 {
            let off = 3.0 * (tolerance(&task) * element.magnitude[part] + element.undecided[part]);
            for wrong in [off.max(f64::MIN_POSITIVE), f64::NAN, f64::INFINITY] {
                let mut sums = right.clone();
                let of = if part == 0 { &mut sums.sx } else { &mut sums.ch };
                of[at].im += wrong;
                assert_eq!(outcome(&sums), Outcome::Incorrect, "{at}: {wrong}");
            }
        }
    }
}

/// Bands' energies in no order, two of them equal.
#[test]
fn elements_at_the_bands_energies_are_those_of_all_energies() {
    for kind in [Kind::Mixed, Kind::Real] {
        let problem = common::at_energies(&made([100, 4, 9, 1], kind, 5), 4);
        let elements = Given::of(&problem, 5, 1);
        let whole = MatrixTask::new(&problem, &elements);
        let of = [2, 0, 3, 0, 1];
        let task = MatrixTask { at: MatrixEnergies::Bands(&of), ..whole };
        for (name, way) in ways(true) {
            let [all, own] = [&whole, &task].map(|task| way(task).unwrap());
            let verdict = verify(&task, &own, &sample_of_all(&task));
            assert_eq!((verdict.outcome, verdict.elements), (Outcome::Passed, 50), "{name}");
            for (l, m) in (0..5).flat_map(|l| (0..5).map(move |m| (l, m))) {
                for (plane, iw) in [(0, of[l]), (1, of[m])] {
                    let (own_at, at) = (own.at(l, m, plane), all.at(l, m, iw));
                    let both = [[own.sx[own_at], own.ch[own_at]], [all.sx[at], all.ch[at]]];
                    assert_eq!(both[0], both[1], "{name} {l} {m} {plane}");
                }
            }
            let mut wrong = own.clone();
            wrong.sx.swap(1, 26);
            assert_eq!(verify(&task, &wrong, &sample_of_all(&task)).outcome, Outcome::Incorrect);
        }
    }
}

/// The matrix between the two states of each file, one and the same where it is of a diagonal element.
#[test]
fn elements_are_berkeleygw_s() {
    for name in real() {
        let problem = fixture(name);
        let (stored, elements) = (problem.stored.as_ref().unwrap(), Given::own(&problem));
        let task = MatrixTask::new(&problem, &elements);
        let scale = evaluate(&task, &sample_of_all(&task), QUIET);
        for (way, sum) in ways(problem.nw() < 3) {
            let (sums, sigma) = (sum(&task).unwrap(), sum(&alone(&task)).unwrap());
            for iw in 0..problem.nw() {
                let at = sums.at(0, 1, iw);
                let (asx, ach) = (stored.asx[iw], stored.ach[iw]);
                let of_sigma = tolerance(&task) * scale[at].magnitude.iter().sum::<f64>();
                assert!((sigma.ch[at] - asx - ach).norm() <= of_sigma, "{way}, {name}, {iw}: Σ");
                let both = [(sums.sx[at], asx), (sums.ch[at], ach)];
                for (part, (found, expected)) in both.into_iter().enumerate() {
                    let allowed = tolerance(&task) * scale[at].magnitude[part];
                    let error = (found - expected).norm();
                    assert!(error <= allowed, "{way}, {name}, {iw}: {found}, not {expected}");
                }
            }
        }
    }
}
