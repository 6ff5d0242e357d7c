//! The serial reference: hand-checked terms, then sums that an independent program computed in
//! quadruple precision.

mod common;

use common::{FIXTURES, Kind, Make, QUIET, fixture, make};
use gpp::problem::{Header, Matrices, Origin, Problem, Sums};
use gpp::record;
use gpp::record::run::Run;
use gpp::reference::golden::At;
use gpp::reference::verify::{Outcome, verify};
use gpp::reference::{self, Reference, Source, golden, serial};
use num_complex::Complex64;

/// One term with `vcoul` = 3, `M` = conj(1 + i)·2 = 2 − 2i, `eps` = ½ and energy `w`.
fn one_term(w: f64, wtilde: Complex64, occupied: bool) -> Sums {
    let header = Header {
        sig_ntband: 1,
        gvec_ng: 1,
        ncoul: 1,
        epsmpi_ngpown_max: 1,
        peinf_ntband_max: 1,
        nbands: 1,
        ngpown: 1,
        ncouls: 1,
        peinf_indext_dist: vec![1],
        wfnkq_ekq: vec![-w],
        nstart: 2,
        nend: 2,
        sig_gamma: 0.5,
        inv_igp_index: vec![1],
        indinv: vec![1],
        nvband: i32::from(occupied),
        tol: 1e-6,
        efermi: 100.0,
        vcoul: vec![3.0],
        sexcut: 4.0,
        ..Header::default()
    };
    let matrices = Matrices {
        wtilde: vec![wtilde],
        eps: vec![Complex64::new(0.5, 0.0)],
        aqsn: vec![Complex64::new(2.0, 0.0)],
        aqsm_local: vec![Complex64::new(1.0, 1.0)],
    };
    let problem = Problem::new("one term", Origin::Made, header, matrices).unwrap();
    serial::evaluate((&problem).into(), QUIET).unwrap().sums
}

fn assert_term(sums: &Sums, ssx: Complex64, sch: Complex64) {
    let m = Complex64::new(2.0, -2.0);
    let (asx, ach) = (-3.0 * ssx * m, 3.0 * 0.5 * sch * m);
    for (found, expected) in [(sums.asx[0], asx), (sums.ach[0], ach)] {
        assert!((found - expected).norm() <= 1e-14 * expected.norm(), "{found} for {expected}");
    }
}

fn real(x: f64) -> Complex64 {
    Complex64::new(x, 0.0)
}

#[test]
fn first_branch() {
    // wdiff = −1, delw = −2, sch = −1, Ω² = 2, ssx = 2 / (1 − 4).
    assert_term(&one_term(1.0, real(2.0), true), real(-2.0 / 3.0), real(-1.0));
    assert_term(&one_term(1.0, real(2.0), false), real(0.0), real(-1.0));
}

#[test]
fn first_branch_of_an_imaginary_mode() {
    // wdiff = 1 − 2i, delw = 2i(1 + 2i)/5 = (−4 + 2i)/5, Ω² = −2, ssx = −2 / (1 + 4).
    let sums = one_term(1.0, Complex64::new(0.0, 2.0), true);
    assert_term(&sums, real(-0.4), Complex64::new(-0.4, 0.2));
}

#[test]
fn second_branch() {
    // wdiff = −¼, delw = −5, Ω² = 25/32, 4ω̃²(delw + ½) = −28.125.
    let ssx = -(25.0 / 32.0) * -5.0 / -28.125;
    assert_term(&one_term(1.0, real(1.25), true), real(ssx), real(0.0));
}

#[test]
fn neither_branch() {
    assert_term(&one_term(0.25, real(0.0), true), real(0.0), real(0.0));
    assert_term(&one_term(0.25, real(1e-7), true), real(0.0), real(0.0));
}

#[test]
fn on_the_pole_itself_no_comparison_holds() {
    assert_term(&one_term(2.0, real(2.0), true), real(0.0), real(0.0));
}

#[test]
fn cutoff() {
    // |ssx| / |eps| = 4.84 / 0.84 > 4, cut only below zero.
    let delw = 2.2 / -4.2;
    assert_term(&one_term(-2.0, real(2.2), true), real(0.0), real(delw * 0.5));
    let ssx: f64 = 0.5 * 4.84 / (4.0 - 4.84);
    // At w = 2 the mode is within the width: the second branch, −Ω² / (2ω̃(w + ω̃)).
    let near = -0.5 * 2.2 / (2.0 * 4.2);
    assert_term(&one_term(2.0, real(2.2), true), real(near), real(0.0));
    assert!(ssx.abs() > 4.0 * 0.5);
    // At w = −ω̃ ssx is infinite.
    assert_term(&one_term(-2.0, real(2.0), true), real(0.0), real(-0.25));
}

#[test]
fn an_energy_at_zero_is_replaced() {
    // w = 1e-12: sch = delw·eps = ω̃·eps / (w − ω̃), ssx = Ω² / (w² − ω̃²) = −eps.
    assert_term(&one_term(0.0, real(2.0), true), real(-0.5), real(1.0 / (1e-12 - 2.0)));
}

#[test]
fn fixtures() {
    for name in FIXTURES {
        let problem = fixture(name);
        let stored = problem.stored().cloned().unwrap();
        let found = problem.start().plus(&serial::evaluate((&problem).into(), QUIET).unwrap().sums);
        for ((what, found), (_, expected)) in found.named(1).zip(stored.named(1)) {
            let error = (found - expected).norm() / expected.norm();
            // BerkeleyGW adds its terms in double precision.
            let allowed = if name.starts_with("real/") { 1e-14 } else { 2e-15 };
            assert!(error <= allowed, "{name}: {what} is {found}, not {expected}: {error:e}");
        }
    }
}

#[test]
fn fixture_texts_hold_the_stored_sums() {
    for name in FIXTURES.into_iter().filter(|name| !name.starts_with("real/")) {
        let problem = fixture(name);
        let stored = problem.stored().unwrap();
        let text =
            std::fs::read_to_string(common::repository(&format!("data/fixtures/{name}.txt")))
                .unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .filter_map(|line| line.split_once("iw=")?.1.split_once(' '))
            .map(|(_, row)| row.split_whitespace().map(|x| x.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows.len(), stored.asx.len());
        for (row, (asx, ach)) in rows.iter().zip(stored.asx.iter().zip(&stored.ach)) {
            for (a, b) in row.iter().zip([asx.re, asx.im, ach.re, ach.im]) {
                assert!((a - b).abs() <= 1e-15 * a.abs());
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let made = Make { nbands: 9, ngpown: 17, ncouls: 131, nw: 2, kind: Kind::Mixed, seed: 5 };
    let problem = make(made);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| serial::evaluate((&problem).into(), QUIET).unwrap())
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn magnitudes_bound_the_sums() {
    let made = Make { nbands: 9, ngpown: 3, ncouls: 131, nw: 3, kind: Kind::Mixed, seed: 6 };
    let evaluation = serial::evaluate((&make(made)).into(), QUIET).unwrap();
    for (e, [asx, ach]) in evaluation.scale.magnitudes.into_iter().enumerate() {
        assert!(evaluation.sums.asx[e].norm() <= asx && evaluation.sums.ach[e].norm() <= ach);
    }
}

#[test]
fn small_golden_sums_are_reproduced() {
    for name in ["tiny", "demo"] {
        let system = gpp::problem::systems::find(name).unwrap();
        let seed = gpp::problem::systems::DEFAULT_SEED;
        let problem = gpp::problem::synthesis::synthesise(system, seed, QUIET).unwrap();
        assert_eq!(
            golden::find(name, seed),
            Some(&reference::evaluate(&problem, QUIET).unwrap().sums),
            "{name}"
        );
    }
}

#[test]
fn every_system_has_golden_sums() {
    for system in gpp::problem::systems::SYSTEMS.iter() {
        let golden = golden::find(&system.name, gpp::problem::systems::DEFAULT_SEED);
        if system.name == "si998" {
            // Hours on two cores: a run compares it with another version.
            assert!(golden.is_none());
            continue;
        }
        let golden = golden.unwrap_or_else(|| panic!("{} has none", system.name));
        assert_eq!(golden.asx.len(), system.nend + 1 - system.nstart);
        assert!(golden.named(1).all(|(_, z)| z.norm().is_finite() && z.norm() > 0.0));
    }
}

#[test]
fn golden_sums_are_found_at_the_energies_that_they_are_of() {
    let asked = |above: &[f64]| At { state_ev: 6.208, above_state_ev: above.to_vec() };
    let found = |at: &At| golden::find_among("si214", 214, at).map(|(places, _)| places);
    assert_eq!(found(&asked(&[-10.0, -9.0, -5.0, 10.0])), Some(vec![0, 2, 3]));
    assert_eq!(found(&asked(&[-9.0])), None);
    assert_eq!(found(&At { state_ev: 6.2, ..asked(&[0.0]) }), None);
    // The system's own first energy is one of them: evaluated twice, with as many others.
    let (_, sums) = golden::find_among("si214", 214, &asked(&[0.0])).unwrap();
    let own = golden::find("si214", 214).unwrap();
    assert!((sums.asx[0] - own.asx[0]).norm() <= 1e-14 * own.asx[0].norm());
}

/// At the state's energy, spacing and cutoff of the system only.
#[test]
fn golden_sums_are_of_a_systems_own_header() {
    let system = gpp::problem::systems::find("tiny").unwrap();
    let own = gpp::problem::synthesis::synthesise(system, 214, QUIET).unwrap();
    assert!(reference::is_golden(&own));
    let changes: [fn(&mut Header); 4] = [
        |header| header.e_lk += 0.5,
        |header| header.sig_dw = 0.5,
        |header| header.sexcut = 2.0,
        |header| header.wfnkq_ekq[3] += 0.5,
    ];
    for change in changes {
        let mut header = own.header().clone();
        change(&mut header);
        let matrices = Matrices {
            wtilde: own.wtilde().to_vec(),
            eps: own.eps().to_vec(),
            aqsn: own.aqsn().to_vec(),
            aqsm_local: own.aqsm_local().to_vec(),
        };
        let other = Problem::new("tiny", own.origin().clone(), header, matrices).unwrap();
        assert!(!reference::is_golden(&other));
    }
}

/// Archived sums at hundreds of energies. Golden ones are of today's systems, not of theirs.
#[test]
fn archived_sums_of_a_gpu_are_those_of_a_processor() {
    let [gpu, processor] =
        [("h200-2026-11-23/energies", "sigma:blocks"), ("cpu-2026-11-25/energies", "sigma:cells")]
            .map(|(folder, version)| {
                let path = common::repository(&format!("data/runs/{folder}/run-501.json"));
                let run: Run = record::read(&path).unwrap();
                (run.system.energies_ev.clone(), run.passed_result(version).unwrap().sums.clone())
            });
    assert_eq!(gpu.0, processor.0);
    assert_eq!(gpu.1.asx.len(), 501);
    for ((what, found), (_, expected)) in gpu.1.named(1).zip(processor.1.named(1)) {
        let error = (found - expected).norm() / expected.norm();
        // As a term is right to some 1e-14, and they do not cancel by more than a hundred.
        assert!(error <= 1e-12, "{what}: {error:e}");
    }
}

#[test]
fn a_wrong_sum_does_not_pass() {
    let problem = fixture("edge");
    let sums = problem.stored().cloned().unwrap();
    let reference = Reference::new(sums.clone(), Source::File, QUIET);
    let outcome = |sums: &Sums| verify(&problem, sums, Some(&reference)).unwrap().outcome;
    assert_eq!(outcome(&sums), Outcome::Passed);
    assert_eq!(verify(&problem, &sums, None).unwrap().outcome, Outcome::NotVerified);
    for e in 0..sums.asx.len() {
        for wrong in [f64::NAN, f64::INFINITY, 0.0] {
            let mut asx = sums.clone();
            asx.asx[e].re = wrong;
            assert_eq!(outcome(&asx), Outcome::Incorrect, "asx {e} {wrong}");
            let mut ach = sums.clone();
            ach.ach[e].im = wrong;
            assert_eq!(outcome(&ach), Outcome::Incorrect, "ach {e} {wrong}");
        }
        let mut off = sums.clone();
        off.asx[e] *= 1.0 + 1e-10;
        assert_eq!(outcome(&off), Outcome::Incorrect);
    }
    let short = Sums { asx: sums.asx[..1].to_vec(), ach: sums.ach.clone() };
    assert_eq!(outcome(&short), Outcome::Incorrect);
}
