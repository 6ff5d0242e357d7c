//! Single precision: weights of pairs are upper bounds, heavy pairs are few, and errors are below their bounds.

use gpp::catalogue;
use gpp::devices::cpu::CpuDevice;
use gpp::devices::{Control, Device};
use gpp::engine::Engine;
use gpp::measure::measure;
use gpp::problem::Problem;
use gpp::problem::heavy::{LOST, Weights};
use gpp::reference::{Outcome, verify_version};
use gpp_core::reference::Energy;
use gpp_kernels::plan::Poles;

use crate::common::families::{FAMILIES, family};
use crate::common::{
    FIXTURES, Kind, assorted, at_energies, changed, first_batch, fixture, made, remade,
};
use crate::engine::hooked::Hooked;

/// The largest Σ|terms| over bands of Σ alone at any energy, of a pair, less what rounding may add to it.
fn terms(problem: &Problem, pair: usize) -> f64 {
    let (nw, ncouls) = (problem.nw(), problem.header().ncouls);
    let (igp, ig) = (pair / ncouls, pair % ncouls);
    let (pole, eps) = (problem.wtilde()[pair], problem.eps()[pair]);
    let of_energy = |e: usize| -> f64 {
        let of_band = |n: usize| {
            let term = Energy::new(problem.wx()[n * nw + e], problem.limits()).term(pole, eps);
            let (half, exchange) = (term.sch * 0.5, term.ssx * problem.occ()[n]);
            let rounding = 1e-13 * (half.norm() + exchange.norm());
            let [aqsn, aqsm] =
                [problem.aqsn()[n * ncouls + ig], problem.slab().aqsm_local().column(n)[igp]];
            (((half - exchange).norm() - rounding).max(0.0) * aqsn.norm()) * aqsm.norm()
        };
        (0..problem.header().nbands).map(of_band).sum()
    };
    (0..nw).map(of_energy).fold(0.0, f64::max) * problem.vcoul_loc()[igp].abs()
}

fn problems() -> impl Iterator<Item = Problem> {
    let families = FAMILIES.into_iter().flat_map(|kind| (0..8).map(move |at| family(kind, at)));
    let broad = [0.1, 1e-3, 0.0].into_iter().flat_map(|eta| {
        [Kind::Real, Kind::Mixed]
            .map(|kind| remade(&made([70, 9, 70, 2], kind, 6), |header, _| header.eta = Some(eta)))
    });
    let all = families.chain(FIXTURES.map(fixture)).chain(assorted().step_by(7)).chain(broad);
    all.filter(|problem| problem.nw() <= 3)
}

#[test]
fn weights_are_upper_bounds() {
    for problem in problems() {
        let (slab, batch) = (problem.slab(), first_batch(&problem, 3));
        let takes = if problem.poles() == Poles::Real { Poles::Real } else { Poles::AnySize };
        let fallback = problem.fallback(slab, &batch, takes);
        let weights = Weights::new(problem.bands(), slab, &batch, &fallback);
        let (mut ratios, mut sums) = (Vec::new(), [0.0; 2]);
        for pair in 0..slab.wtilde().len() {
            let (weight, terms) = (weights.get(pair), terms(&problem, pair));
            if weight == 0.0 {
                let (igp, ig) = (pair / slab.ncouls(), pair % slab.ncouls());
                let word = fallback.mask[igp * slab.ncouls().div_ceil(32) + ig / 32];
                assert!(word >> (ig % 32) & 1 == 1, "{}", problem.name());
                continue;
            }
            // Rounding, and products that vanish.
            let least = terms * (1.0 - 1e-12) - 1e-290;
            assert!(weight >= least, "{}: {pair}: {weight:e} < {terms:e}", problem.name());
            if weight.is_finite() {
                sums[0] += weight;
                sums[1] += terms;
                ratios.push(weight / terms);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
        if problem.name().contains("real/") {
            assert!(median <= 1.5 && sums[0] <= 1.5 * sums[1], "{}: not tight", problem.name());
        }
    }
}

/// Problems that FP32 finds hard: one pair has nearly all the weight, or factors, poles or an energy are far from one.
fn adversarial() -> impl Iterator<Item = Problem> {
    [Kind::Real, Kind::Mixed].into_iter().flat_map(|kind| {
        let made = made([70, 9, 70, 2], kind, 11);
        let one = remade(&made, |_, matrices| matrices.eps[5] *= 1e9);
        let far = remade(&made, |_, matrices| {
            matrices.aqsn.iter_mut().for_each(|z| *z *= 1e30);
            matrices.aqsm_local.iter_mut().step_by(3).for_each(|z| *z *= 1e-30);
        });
        let poles = remade(&made, |_, matrices| {
            matrices.wtilde.iter_mut().step_by(2).for_each(|z| *z *= 1e20);
            matrices.wtilde.iter_mut().step_by(3).for_each(|z| *z *= 1e-40);
        });
        let energies = changed(remade(&made, |_, _| ()), |_, wx, _| wx[0] = 1e20).unwrap();
        [made, one, far, poles, energies]
    })
}

#[test]
fn errors_are_below_their_bounds() {
    let single = catalogue::find("cpu:single").unwrap();
    for mut problem in problems().chain(adversarial()) {
        problem.stored = None;
        let reference = crate::referenced(&problem);
        for host in gpp_cpu::simd::Level::available().into_iter().map(CpuDevice::at) {
            let mut engine = Engine::whole(&host, &problem).unwrap();
            engine.samples = true;
            let found = engine.run(single).unwrap();
            assert!(found.sample.is_some_and(|sample| sample.is_within(found.bound)));
            let what = format!("{} of {}", host.level(), problem.name());
            let verified = verify_version(single, &problem, &found.sums, Some(&reference));
            let (sums, verified) = verified.unwrap();
            assert_eq!(verified.outcome, Outcome::Passed, "{what}: {verified:?}");
            let Some(scale) = &reference.scale else { panic!("{what}: no Σ|terms|") };
            let expected = reference.sums.alone().ach;
            for (e, (sum, expected)) in sums.ach.iter().zip(&expected).enumerate() {
                let of = |parts: &[[f64; 2]]| parts[e][0] + parts[e][1];
                // Fallback pairs and the reference are rounded too.
                let rounded = 1e-12 * of(&scale.magnitudes) + of(&scale.undecided);
                let error = (sum - expected).norm();
                assert!(error <= found.bound + rounded, "{what}: {error:e} > {:e}", found.bound);
            }
        }
    }
}

/// Without gamma the near form is that within |ω̃|/500: where it begins FP32 is as good as with gamma, unless energies are
/// 270,000 times as large as poles.
#[test]
fn few_pairs_need_double_without_gamma() {
    for (kind, far) in [(Kind::Real, 0.0), (Kind::Mixed, 0.0), (Kind::Real, 1e9)] {
        let pairs = [0.5, 0.0].map(|gamma| {
            let problem = remade(&made([70, 9, 70, 2], kind, 12), |header, _| {
                header.sig_gamma = gamma;
                header.e_lk += far;
            });
            let (slab, batch) = (problem.slab(), first_batch(&problem, 3));
            let takes = if problem.poles() == Poles::Real { Poles::Real } else { Poles::AnySize };
            let found = batch.plan.fallback_in_single(slab, takes, true);
            let with = found.with_heavy(problem.bands(), slab, &batch, 1.0, LOST);
            (with.pairs.len(), slab.wtilde().len())
        });
        let few = |(pairs, all): (usize, usize)| pairs < all / 4;
        assert_eq!(pairs.map(few), [far == 0.0; 2], "{kind:?} {far}: {pairs:?}");
    }
}

/// Of one group of columns a sample is of all of Σ; of more it has one in 48, in whichever slabs they are.
#[test]
fn samples_tell_what_is_lost() {
    let (host, in_double) = (CpuDevice::new(), catalogue::find("v15").unwrap());
    let kinds = [Kind::Real, Kind::Mixed].into_iter();
    for (kind, nw) in kinds.flat_map(|kind| [1, 2, 3].map(|nw| (kind, nw))) {
        for (id, ngpown) in [("cpu:single", 1), ("s2", 9), ("s3", 16), ("s4", 3)] {
            let problem = made([300, ngpown, 70, nw], kind, 4);
            let version = catalogue::find(id).unwrap();
            let mut engine = Engine::whole(&host, &problem).unwrap();
            let double = engine.run(in_double).unwrap().sums;
            assert_eq!(engine.run(version).unwrap().sample, None);
            engine.samples = true;
            let found = engine.run(version).unwrap();
            let off = found.sums.ach.iter().zip(&double.ach).map(|(a, b)| (a - b).norm());
            let (off, size) = (off.fold(0.0, f64::max), double.ach.iter().map(|z| z.norm()));
            let size = size.fold(0.0, f64::max);
            let sample = found.sample.unwrap();
            assert_eq!(sample.igp, [ngpown; 2], "{id}");
            assert!((sample.lost - off).abs() <= 1e-11 * size, "{id}: {} {off}", sample.lost);
            assert!(off > 1e-10 * size && sample.is_within(found.bound), "{id}");
            assert!(sample.rounding < 0.1 * off, "{id}: {} {off}", sample.rounding);
        }
    }
    let problem = made([20, 100, 33, 2], Kind::Mixed, 4);
    for slab in [100, 7] {
        let mut engine = Engine::new(
            &gpp_core::ranks::Alone,
            &problem,
            slab,
            vec![host.worker(&problem).unwrap()],
        )
        .unwrap();
        engine.samples = true;
        let found = engine.run(catalogue::find("cpu:single").unwrap()).unwrap();
        let sample = found.sample.unwrap();
        assert_eq!(sample.igp, [3, 100]);
        assert!(sample.lost > 0.0 && sample.is_within(found.bound));
    }
}

/// Sums of single precision that are off by more than the bound, or no numbers.
#[test]
fn a_wrong_sample_is_incorrect() {
    let problem = made([70, 9, 70, 2], Kind::Real, 11);
    let (host, version) = (CpuDevice::new(), catalogue::find("cpu:single").unwrap());
    for (off, outcome) in
        [(0.0, Outcome::NotVerified), (1.0, Outcome::Incorrect), (f64::NAN, Outcome::Incorrect)]
    {
        let mut worker = Hooked::of(&host, &problem);
        worker.depth = 9;
        worker.finishes = Box::new(move |mut sums| {
            if sums.bound > 0.0 {
                // The last value of the first column.
                let value = sums.values.len() - sums.groups;
                sums.values[value] += off * sums.bound * 1.1;
            }
            Ok(sums)
        });
        let mut engine =
            Engine::new(&gpp_core::ranks::Alone, &problem, 9, vec![Box::new(worker)]).unwrap();
        let once = gpp::record::Repetition::exactly(0, 1);
        let once = gpp::record::Repetition { has_sample: true, ..once };
        let found = measure(version, &host, &mut engine, None, once, &|_| ()).unwrap();
        assert_eq!(found.verification.outcome, outcome, "{off}: {:?}", found.sample);
        let says = gpp::summary::failure(&found).unwrap();
        assert_eq!(says.contains("in a sample, more than the bound"), off != 0.0, "{says}");
    }
}

#[test]
fn heavy_pairs_are_few_and_lower_the_bound() {
    let problem = adversarial().nth(1).unwrap();
    let (slab, batch) = (problem.slab(), first_batch(&problem, 3));
    let fallback = || problem.fallback(slab, &batch, Poles::Real);
    let with = |tolerance| fallback().with_heavy(problem.bands(), slab, &batch, tolerance, LOST);
    // All that FP32 may lose is LOST of the weights.
    let (all, default, none) = (with(0.0), with(1e-7), with(1.001 * LOST));
    assert!(with(0.999 * LOST).pairs.len() > none.pairs.len());
    let weights = Weights::new(problem.bands(), slab, &batch, &fallback());
    let sum: f64 = (0..slab.wtilde().len()).map(|pair| weights.get(pair)).sum();
    assert!((none.bound / (LOST * sum) - 1.0).abs() <= 1e-12, "{} of {sum}", none.bound);
    assert_eq!(none.pairs, fallback().pairs);
    assert!(all.pairs.contains(&5) && default.pairs.contains(&5));
    assert!(all.pairs.len() <= fallback().pairs.len() + slab.wtilde().len() / 100);
    assert!(default.bound < 1e-6 * none.bound && all.bound <= default.bound);
    assert_eq!(with(1e-7), default);
}

/// Without heavy pairs: twice as much on GPUs, the sum of the slabs, the largest of the batches of energies.
#[test]
fn bounds_of_slabs_and_energies() {
    let mut problem = at_energies(&made([70, 64, 40, 2], Kind::Real, 11), 5);
    problem.tolerance = f64::INFINITY;
    let host = CpuDevice::new();
    let bound = |id: &str, igp, energies: Option<&[usize]>| {
        let mut engine = Engine::new(
            &gpp_core::ranks::Alone,
            &problem,
            igp,
            vec![host.worker(&problem).unwrap()],
        )
        .unwrap();
        engine.run_with(catalogue::find(id).unwrap(), energies, Control::none()).unwrap().bound
    };
    for (id, times) in [("cpu:single", 1.0), ("s2", 2.0), ("s3", 2.0)] {
        let whole = bound(id, 64, None);
        assert!((bound(id, 32, None) / whole - 1.0).abs() <= 1e-12, "{id}");
        let of_cpu = bound("cpu:single", 64, Some(&[0]));
        assert!((bound(id, 64, Some(&[0])) / of_cpu - times).abs() <= 1e-12, "{id}");
        let each: Vec<f64> = (0..5).map(|iw| bound(id, 64, Some(&[iw]))).collect();
        assert!(each.iter().all(|each| *each <= whole * (1.0 + 1e-12)), "{id}");
    }
}
