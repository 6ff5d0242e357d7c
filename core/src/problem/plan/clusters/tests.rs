use std::sync::atomic::{AtomicUsize, Ordering};

use gpp_kernels::formula::LIMITONE;
use gpp_kernels::plan::Poles;
use gpp_kernels::sigma::Interval as Part;
use gpp_kernels::sigma::complex::Acceptance as Bounds;
use gpp_kernels::sigma::real::far_field as way;
use proptest::prelude::*;

use super::*;
use crate::problem::synthesis::synthesise;
use crate::problem::{Bands, Header, Origin, Problem, Slab, range, systems};
use crate::progress::Progress;

/// The problem of these poles, in four columns, with bands at these energies, every second one occupied.
fn problem(wtilde: &[Complex64], energies: &[f64], [gamma, sexcut]: [f64; 2]) -> Problem {
    let (ncouls, nbands) = (wtilde.len() / 4, energies.len());
    let header = Header {
        sig_ntband: nbands,
        gvec_ng: ncouls,
        ncoul: ncouls,
        epsmpi_ngpown_max: 4,
        peinf_ntband_max: nbands,
        nbands,
        ngpown: 4,
        ncouls,
        peinf_indext_dist: (1..).take(nbands).collect(),
        wfnkq_ekq: vec![0.0; nbands],
        nstart: 1,
        nend: 1,
        sig_gamma: gamma,
        sexcut,
        inv_igp_index: vec![1; 4],
        indinv: vec![1; ncouls],
        vcoul: vec![1.0; ncouls],
        ..Header::default()
    };
    let occ = (0..nbands).map(|n| (n % 2) as f64).collect();
    let bands = Bands::elsewhere(header).unwrap();
    let bands = bands.with_energies(energies.to_vec(), occ).unwrap();
    // Every seventh pair is of no weight.
    let eps = |at: usize| Complex64::from(if at % 7 == 3 { 0.0 } else { 0.5 });
    let eps: Vec<_> = (0..wtilde.len()).map(eps).collect();
    let [wtilde, eps] = [wtilde, &eps].map(|all| all[..4 * ncouls].to_vec());
    let slab = Slab::new(&bands, 0..4, wtilde, eps, vec![Complex64::ONE; 4 * nbands]).unwrap();
    Problem::of("poles", Origin::Made, bands.into(), slab).unwrap()
}

/// What both ways find, and how many poles the second one looked at; none where it leaves it to the first.
fn both(problem: &Problem, takes: Poles) -> (OddPoles, Option<(OddPoles, usize)>) {
    let (batch, slab) = (problem.batches(1).first(), problem.slab());
    let plan = batch.plan();
    let regular = plan.regular(takes);
    let looks = AtomicUsize::new(0);
    let is_regular = |pole| {
        looks.fetch_add(1, Ordering::Relaxed);
        regular.holds(pole)
    };
    let found = BySize::of(slab).and_then(|sorted| sorted.odd(slab, &regular, is_regular));
    (plan.odd(slab, takes), found.map(|found| (found, looks.into_inner())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Poles at and beside all edges of what is regular, in a crowd of others.
    #[test]
    fn the_same_poles_are_odd(
        energies in prop::collection::vec(prop_oneof![-300.0..300.0f64, -9.0..9.0f64], 1..9),
        edges in prop::collection::vec((0..9usize, 0..14usize, -60..60i32, 0..4usize), 0..60),
        gamma in prop_oneof![Just(0.5), Just(0.0), Just(0.1), Just(30.0)],
        sexcut in prop_oneof![Just(4.0), Just(1.0), Just(0.3), Just(0.0), Just(1e9), Just(1e-3)],
        is_real in any::<bool>(),
    ) {
        let edge = |(n, what, away, turn): (usize, usize, i32, usize)| {
            let w = energies[n % energies.len()];
            let (grown, inverse) = (1.0 / LIMITONE.sqrt(), 1.0f64 / sexcut);
            let size = match what {
                0 => w,
                1 => -w,
                2 => w + gamma,
                3 => w - gamma,
                4 => w / (1.0 + grown),
                5 => w / (1.0 - grown),
                6 => w / -(1.0 + inverse).sqrt(),
                7 => w / -(1.0 - inverse).abs().sqrt(),
                8 => w / -(1.0 + 0.5 * inverse),
                9 => w / -(1.0 - 0.5 * inverse),
                10 => w.abs() / 32.0,
                11 => 2e-6 * gamma,
                12 => 1e30,
                _ => 1e-30,
            };
            // From the last digit to a few parts in a million of either side.
            let by = 2f64.powi(-52 + away.abs() / 2) * f64::from(away.signum());
            let pole = Complex64::from(if size.is_finite() { size * (1.0 + by) } else { 1.0 });
            let leg = [0.0, 0.3 * gamma, 0.05 * size.abs(), 1e-9][turn];
            // A term whose pole is an energy with the other sign has no bound.
            let pole = if pole.re < 0.0 && away == 0 { -pole } else { pole };
            if is_real { pole } else { pole + Complex64::new(0.0, leg.clamp(0.0, 1e3)) }
        };
        let crowd = (0..2000).map(|at| Complex64::from(0.01 * f64::from(at) + 1000.0));
        let wtilde: Vec<Complex64> = edges.into_iter().map(edge).chain(crowd).collect();
        let problem = problem(&wtilde, &energies, [gamma, sexcut]);
        for takes in [Poles::Any, Poles::Real] {
            let (all, found) = both(&problem, takes);
            // Of large poles |w² − ω̃²| is the square of their size, which a cutoff at 1 takes for its bound.
            let Some((found, looks)) = found else {
                prop_assert!(sexcut == 1.0);
                continue;
            };
            prop_assert!(looks < wtilde.len() / 2);
            prop_assert_eq!(&all, &found);
        }
    }
}

/// Where a sample shows no pole there may still be some, and many energies to sum them one by one.
#[test]
fn cells_of_poles_that_no_sample_shows_are_told_by_moments() {
    let limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };
    let spread =
        |from: f64, to: f64| (0..1000).map(move |i| from + (to - from) * f64::from(i) / 999.0);
    let energies: Vec<f64> = spread(-8.0, 3.0).collect();
    let weighed = Weighed {
        poles: Sample::of(spread(0.1, 40.0).collect(), 200.0),
        energies: Sample::of(energies.clone(), 1e-3),
        limits,
    };
    for by in [Evaluator::Gpu, Evaluator::Processor] {
        let bounds = weighed.bounds(by);
        let mut seen = 0;
        for cell in bounds.windows(2).filter(|cell| cell[0] >= 50.0) {
            let part = Part { low: cell[0], high: cell[1], begin: 0, end: 1 };
            let left =
                energies.iter().filter(|&&w| way(w, &part, false, &limits).is_none()).count();
            assert!(left * 200 <= energies.len(), "{cell:?}: {left} one by one");
            seen += 1;
        }
        assert!(seen > 100, "{seen} cells");
    }
}

#[test]
fn every_pair_is_in_the_disc_of_one_part() {
    for name in ["tiny-complex", "demo-complex", "tiny"] {
        let system = systems::find(name).unwrap();
        let problem = synthesise(system, 1, Progress::NONE).unwrap();
        let (slab, limits) = (problem.slab(), problem.limits());
        let sorted = discs(slab, problem.wx(), problem.occ(), limits);
        let pairs = slab.wtilde().iter().zip(slab.eps());
        let contributing = pairs.filter(|(pole, eps)| range::contributes(**pole, **eps)).count();
        assert_eq!(sorted.poles().len(), contributing);
        let mut seen = vec![false; contributing];
        let (mut told, mut discs) = (0, 0);
        for part in sorted.parts() {
            let own = part.begin as usize..part.end as usize;
            assert!(!own.is_empty());
            for at in own.clone() {
                assert!(!std::mem::replace(&mut seen[at], true), "{name}: {at} in two parts");
                let Pole { wtilde, ig, igp, eps } = sorted.poles()[at];
                let of = igp as usize * slab.ncouls() + ig as usize;
                assert_eq!((wtilde, eps), (slab.wtilde()[of], slab.eps()[of]));
                if !part.radius.is_nan() {
                    assert!((wtilde - part.middle).norm() <= part.radius, "{name}: {part:?}");
                }
            }
            if !part.radius.is_nan() {
                assert!(LEAST_OF_DISCS * part.radius <= part.middle.norm());
                discs += 1;
                let bounds = Bounds::of(part, &limits);
                let ways = problem.wx().iter().filter(|w| bounds.far_field(**w, true).is_some());
                told += ways.count() * own.len();
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
        let all = contributing * problem.wx().len();
        assert!(discs > 0 && told > all / 2, "{name}: {told} of {all} by {discs} discs");
    }
}
