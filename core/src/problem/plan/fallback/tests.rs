use gpp_kernels::formula::LIMITONE;
use proptest::prelude::*;

use super::super::tests::{first_batch, with_poles};
use super::*;
use crate::problem::synthesis::Synthesis;
use crate::problem::{
    CheckedBands, CheckedPairs, EVEN_ON_CPU, Header, Origin, Problem, Slab, SortedCells, Source,
    System,
};
use crate::progress::Bars;

proptest! {
    #[test]
    fn ranges_hold_what_they_hold(
        all in prop::collection::vec(-20.0..20.0f64, 0..60),
        low in -25.0..25.0f64,
        width in prop_oneof![Just(0.0), 0.0..1e-3f64, -1.0..30.0f64],
    ) {
        let energies = Lookup::from_energies(all.iter().copied());
        for low in all.iter().copied().chain([low]) {
            let high = low + width;
            let mut held: Vec<f64> =
                all.iter().copied().filter(|w| (low..=high).contains(w)).collect();
            held.sort_by(f64::total_cmp);
            held.dedup();
            prop_assert_eq!(energies.any(low, high), !held.is_empty());
            prop_assert_eq!(energies.within(low, high), &held[..]);
        }
        prop_assert!(!energies.any(f64::NAN, 1.0) && !energies.any(0.0, f64::NAN));
    }
}

/// A call's frame has them sorted once for all energies.
#[test]
fn poles_are_sorted_once() {
    let made = Synthesis::new(System::find("demo").unwrap(), 1, Bars::NONE).load().unwrap();
    // What was made has its masked columns left out already.
    let header = Header { unmasked: None, ..made.header().clone() };
    let pairs = CheckedPairs::new(&header, made.wtilde().to_vec(), made.eps().to_vec()).unwrap();
    let mut sorted = Vec::new();
    for shift in [0.0, 0.3] {
        let wx = made.wx().iter().map(|w| w + shift).collect();
        let bands = made.bands().clone().with_energies(wx, made.occ().to_vec()).unwrap();
        let problem = pairs.problem("demo", (bands, false), None).unwrap();
        let (batch, slab) = (first_batch(&problem, 3), problem.slab());
        let by_plan = |slab, poles| batch.plan.fallback(slab, poles, None);
        assert_eq!(problem.fallback(slab, &batch, Poles::Real), by_plan(slab, Poles::Real));
        sorted.push(std::ptr::from_ref(problem.sorted_poles(slab).unwrap()));
        let part = slab.part(1..3);
        assert!(problem.sorted_poles(part).is_none());
        assert_eq!(problem.fallback(part, &batch, Poles::Any), by_plan(part, Poles::Any));
    }
    assert_eq!(sorted[0], sorted[1]);
}

/// However many poles are zero, none is summed: neither one by one, nor in cells.
#[test]
fn pairs_without_terms_are_neither_fallback_nor_sorted() {
    let made = Synthesis::new(System::find("tiny").unwrap(), 1, Bars::NONE).load().unwrap();
    let is_zero = |at: usize| at % 5 < 2;
    for off_axis in [0.0, 0.1] {
        let poles = made.wtilde().iter().enumerate().map(|(at, pole)| match is_zero(at) {
            true => Complex64::ZERO,
            false => pole + Complex64::new(1.0, off_axis),
        });
        let problem = with_poles(&made, poles.collect());
        let (slab, batch) = (problem.slab(), first_batch(&problem, 3));
        for takes in [Poles::Real, Poles::Any] {
            let found = problem.fallback(slab, &batch, takes);
            assert!(found.pairs.iter().all(|&pair| !is_zero(pair as usize)));
            let words = Plan::words(slab.ncouls() as u32) as usize;
            for at in (0..slab.wtilde().len()).filter(|&at| is_zero(at)) {
                let (igp, ig) = (at / slab.ncouls(), at % slab.ncouls());
                assert_ne!(found.mask[igp * words + ig / 32] & 1 << (ig % 32), 0);
            }
        }
        let sorted =
            match SortedCells::for_slab(&problem, slab, EVEN_ON_CPU, false).unwrap().pairs() {
                gpp_cpu::problem::ClusterPairs::Real(poles, _) => poles.len(),
                gpp_cpu::problem::ClusterPairs::Any(poles, _) => poles.len(),
            };
        assert_eq!(sorted, (0..slab.wtilde().len()).filter(|&at| !is_zero(at)).count());
    }
}

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
    let bands = CheckedBands::elsewhere(header).unwrap();
    let bands = bands.with_energies(energies.to_vec(), occ).unwrap();
    // Every seventh pair is of no weight.
    let eps = |at: usize| Complex64::from(if at % 7 == 3 { 0.0 } else { 0.5 });
    let eps: Vec<_> = (0..wtilde.len()).map(eps).collect();
    let [wtilde, eps] = [wtilde, &eps].map(|all| all[..4 * ncouls].to_vec());
    let slab = Slab::new(&bands, 0..4, wtilde, eps, vec![Complex64::ONE; 4 * nbands]).unwrap();
    Problem::from_slab("poles", Origin::Made, bands.into(), slab).unwrap()
}

/// What a look at all poles finds, one at marks, and one at sorted ones; none if it leaves that to the first.
fn ways(problem: &Problem, takes: Poles) -> (FallbackPairs, Option<[FallbackPairs; 2]>) {
    let (batch, slab) = (first_batch(problem, 1), problem.slab());
    let plan = &batch.plan;
    let marked = plan.regular(takes).for_poles(usize::MAX);
    let by_marks = FallbackPairs::find(slab, |pole| marked.class(pole));
    let sorted = BySize::sort(slab).and_then(|sorted| sorted.fallback(slab, &plan.regular(takes)));
    let quick = marked.marks.is_some().then_some(by_marks).zip(sorted);
    (plan.fallback(slab, takes, None), quick.map(|(marks, sorted)| [marks, sorted]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Poles at and beside all edges of what is regular, in a crowd of others.
    #[test]
    fn the_same_pairs_fall_back(
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
            let (all, found) = ways(&problem, takes);
            // Of large poles |w² − ω̃²| is the square of their size, which a cutoff at 1 takes for its bound.
            let Some(found) = found else {
                prop_assert!(sexcut == 1.0);
                continue;
            };
            prop_assert_eq!([&all, &all], found.each_ref());
        }
    }
}
