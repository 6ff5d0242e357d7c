//! The serial reference: hand-checked terms, then sums that another program computed in quadruple precision.

use gpp::problem::Source;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Even, Header, Origin, Problem, Sums, System, synthesis};
use gpp::reference::{self, Golden, GoldenEnergies, Outcome, Reference, ReferenceSource, Terms};
use gpp::reference::{evaluate, verify};
use num_complex::Complex64;

use crate::common::{FIXTURES, Kind, Matrices, QUIET, fixture, header, made, remade};

/// One term with `vcoul` = 3, `M` = conj(1 + i)·2 = 2 − 2i, `eps` = ½ and energy `w`.
pub fn one_term(w: f64, wtilde: Complex64, occupied: bool) -> Problem {
    let (wfnkq_ekq, nvband, vcoul) = (vec![-w], i32::from(occupied), vec![3.0]);
    let sizes = header(1, 1, 1);
    let header = Header { wfnkq_ekq, nstart: 2, nend: 2, nvband, efermi: 100.0, vcoul, ..sizes };
    let [eps, aqsn] = [0.5, 2.0].map(|re| vec![Complex64::from(re)]);
    let (wtilde, aqsm_local) = (vec![wtilde], vec![Complex64::new(1.0, 1.0)]);
    let matrices = Matrices { wtilde, eps, aqsn, aqsm_local };
    matrices.problem("one term", Origin::Made, header).unwrap()
}

/// Of energies, poles and occupations: `ssx` and `sch`.
#[test]
fn terms_by_hand() {
    let real = |x: f64| Complex64::from(x);
    // Within the width: −Ω² / (2ω̃(w + ω̃)), of Ω² = ω̃²·eps.
    let near = |wtilde: f64, w: f64| real(-0.25 * wtilde / (w + wtilde));
    let (delw, imaginary) = (2.2 / -4.2, Complex64::new(0.0, 2.0));
    for (w, wtilde, occupied, ssx, sch) in [
        // The first branch: wdiff = −1, delw = −2, sch = −1, Ω² = 2, ssx = 2 / (1 − 4).
        (1.0, real(2.0), true, real(-2.0 / 3.0), real(-1.0)),
        (1.0, real(2.0), false, real(0.0), real(-1.0)),
        // wdiff = 1 − 2i, delw = 2i(1 + 2i)/5 = (−4 + 2i)/5, Ω² = −2, ssx = −2 / (1 + 4).
        (1.0, imaginary, true, real(-0.4), Complex64::new(-0.4, 0.2)),
        // The second: wdiff = −¼, delw = −5, Ω² = 25/32, 4ω̃²(delw + ½) = −28.125.
        (1.0, real(1.25), true, real(-(25.0 / 32.0) * -5.0 / -28.125), real(0.0)),
        // Neither; on the pole itself no comparison holds.
        (0.25, real(0.0), true, real(0.0), real(0.0)),
        (0.25, real(1e-7), true, real(0.0), real(0.0)),
        (2.0, real(2.0), true, real(0.0), real(0.0)),
        // |ssx| / |eps| = 4.84 / 0.84 > 4, cut only below zero.
        (-2.0, real(2.2), true, real(0.0), real(delw * 0.5)),
        (2.0, real(2.2), true, near(2.2, 2.0), real(0.0)),
        // At w = −ω̃ ssx is infinite.
        (-2.0, real(2.0), true, real(0.0), real(-0.25)),
        // An energy at zero is 1e-12: sch = ω̃·eps / (w − ω̃), ssx = Ω² / (w² − ω̃²) = −eps.
        (0.0, real(2.0), true, real(-0.5), real(1.0 / (1e-12 - 2.0))),
    ] {
        let (problem, m) = (one_term(w, wtilde, occupied), Complex64::new(2.0, -2.0));
        let sums = evaluate(&problem, QUIET).unwrap().sums;
        let expected = [-3.0 * ssx * m, 3.0 * 0.5 * sch * m];
        for (found, expected) in [sums.asx[0], sums.ach[0]].into_iter().zip(expected) {
            let is_near = (found - expected).norm() <= 1e-14 * expected.norm();
            assert!(is_near, "{w} {wtilde}: {found} for {expected}");
        }
    }
}

#[test]
fn fixtures() {
    for name in FIXTURES {
        let problem = fixture(name);
        let stored = problem.stored.clone().unwrap();
        let found = problem.start().plus(&evaluate(&problem, QUIET).unwrap().sums);
        for ((what, found), (_, expected)) in found.named(1).zip(stored.named(1)) {
            let error = (found - expected).norm() / expected.norm();
            // BerkeleyGW adds its terms in double precision.
            let allowed = if name.starts_with("real/") { 1e-14 } else { 2e-15 };
            assert!(error <= allowed, "{name}: {what} is {found}, not {expected}: {error:e}");
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let problem = made([9, 17, 131, 2], Kind::Mixed, 5);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate(&problem, QUIET).unwrap())
    };
    assert_eq!(with(1), with(3));
}

/// In double-double numbers if the terms are few.
fn golden_sums(problem: &Problem) -> Sums {
    let evaluated = match Terms::from(problem).count() {
        ..=4_000_000 => crate::precise::precisely(problem),
        _ => evaluate(problem, QUIET).unwrap(),
    };
    evaluated.sums
}

/// `GOLDEN=tiny cargo test --release --test sums golden_sums_are_made -- --ignored --nocapture` prints what
/// `data/golden.json` has of systems, at their own energies or at `ENERGIES=0:1:2`.
#[test]
#[ignore = "it makes data"]
fn golden_sums_are_made() {
    let energies = std::env::var("ENERGIES").ok().map(|text| text.parse().unwrap());
    let made = |name: &str| {
        let mut source = Synthesis::new(System::find(name).unwrap(), 214, QUIET);
        if let Some(even) = energies {
            let header = Even::apply_to(even, source.header());
            source.set_header(header);
        }
        let problem = source.load().unwrap();
        let at = energies.map(|_| GoldenEnergies::from_header(problem.header()));
        Golden { system: name.into(), seed: 214, at, sums: golden_sums(&problem) }
    };
    let systems = std::env::var("GOLDEN").unwrap();
    println!(
        "{}",
        serde_json::to_string_pretty(&systems.split(',').map(made).collect::<Vec<_>>()).unwrap()
    );
}

#[test]
fn small_golden_sums_are_reproduced() {
    for name in ["tiny", "demo"] {
        let system = System::find(name).unwrap();
        let problem = Synthesis::new(system, synthesis::DEFAULT_SEED, QUIET).load().unwrap();
        let evaluated = golden_sums(&problem);
        assert_eq!(reference::golden(&problem), Some((vec![0, 1], evaluated)), "{name}");
    }
}

#[test]
fn golden_sums_are_found_at_the_energies_that_they_are_of() {
    let asked = |above: &[f64]| GoldenEnergies { state_ev: 6.208, above_state_ev: above.to_vec() };
    let own = GoldenEnergies::from_header(&synthesis::header(System::find("si214").unwrap(), 214));
    let found = |at: &GoldenEnergies| reference::golden_of("si214", 214, &own, at).map(|of| of.0);
    assert_eq!(found(&asked(&[-10.0, -9.0, -5.0, 10.0])), Some(vec![0, 2, 3]));
    assert_eq!(found(&asked(&[-9.0])), None);
    assert_eq!(found(&GoldenEnergies { state_ev: 6.2, ..asked(&[0.0]) }), None);
    // The system's own first energy is one of them: evaluated twice, with as many others.
    let elsewhere = GoldenEnergies { above_state_ev: vec![], ..own.clone() };
    let sums = |own| reference::golden_of("si214", 214, own, &asked(&[0.0])).unwrap().1;
    let (one, other) = (sums(&own).asx[0], sums(&elsewhere).asx[0]);
    assert!((one - other).norm() <= 1e-14 * one.norm());
}

/// At the state's energy, spacing and cutoff of the system only.
#[test]
fn golden_sums_are_of_a_systems_own_header() {
    let own = Synthesis::new(System::find("tiny").unwrap(), 214, QUIET).load().unwrap();
    assert!(reference::golden(&own).is_some());
    let changes: [fn(&mut Header); 3] = [
        |header| header.e_lk += 0.5,
        |header| header.sexcut = 2.0,
        |header| header.wfnkq_ekq[3] += 0.5,
    ];
    for change in changes {
        assert!(reference::golden(&remade(&own, |header, _| change(header))).is_none());
    }
}

#[test]
fn sums_that_are_not_all_there_do_not_pass() {
    let problem = fixture("edge");
    let sums = problem.stored.clone().unwrap();
    let reference = Reference::new(sums.clone(), ReferenceSource::File, QUIET);
    let outcome = |sums, reference| verify(&problem, sums, reference).unwrap().outcome;
    assert_eq!(outcome(&sums, Some(&reference)), Outcome::Passed);
    assert_eq!(outcome(&sums, None), Outcome::NotVerified);
    let short = Sums { asx: sums.asx[..1].to_vec(), ach: sums.ach.clone() };
    assert_eq!(outcome(&short, Some(&reference)), Outcome::Incorrect);
}
