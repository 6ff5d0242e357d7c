//! Single precision: weights of pairs are upper bounds, heavy pairs are few, and errors are below their bounds.

use gpp::catalogue;
use gpp::devices::cpu::CpuDevice;
use gpp::engine::Engine;
use gpp::problem::heavy::{LOST, Weights};
use gpp::problem::{Problem, Sums};
use gpp::reference::{Energy, precisely};
use gpp_cpu::simd::Level;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::common::families::{FAMILIES, family};
use crate::common::{FIXTURES, Kind, assorted, fixture, made, remade};

/// The largest Σ|terms| over bands of Σ alone at any energy, of a pair (0-based offset),
/// less what rounding may add to it.
fn terms(problem: &Problem, pair: usize) -> f64 {
    let (nw, ncouls) = (problem.nw(), problem.header().ncouls);
    let (igp, ig) = (pair / ncouls, pair % ncouls);
    let (pole, eps) = (problem.wtilde()[pair], problem.eps()[pair]);
    let of_energy = |e: usize| -> f64 {
        let of_band = |n: usize| {
            let energy = Energy::new(problem.wx()[n * nw + e], problem.limits());
            let term = energy.term::<f64>(pole, eps);
            let (half, exchange) = (term.sch * 0.5, term.ssx * problem.occ()[n]);
            let rounding = 1e-13 * (half.norm() + exchange.norm());
            let aqsm = problem.slab().aqsm_local().column(n)[igp];
            (((half - exchange).norm() - rounding).max(0.0)
                * problem.aqsn()[n * ncouls + ig].norm())
                * aqsm.norm()
        };
        (0..problem.header().nbands).map(of_band).sum()
    };
    (0..nw).map(of_energy).fold(0.0, f64::max) * problem.vcoul_loc()[igp].abs()
}

fn few(problem: Problem) -> Option<Problem> {
    (problem.nw() <= 3).then_some(problem)
}

fn problems() -> impl Iterator<Item = Problem> {
    let families = FAMILIES.into_iter().flat_map(|kind| (0..8).map(move |at| family(kind, at)));
    families.chain(FIXTURES.map(fixture)).chain(assorted().step_by(7)).filter_map(few)
}

#[test]
fn weights_are_upper_bounds() {
    for problem in problems() {
        let (slab, batch) = (problem.slab(), problem.batches(3).first());
        let takes = if problem.poles() == Poles::Real { Poles::Real } else { Poles::AnySize };
        let fallback = problem.fallback(slab, &batch, takes);
        let weights = Weights::new(problem.bands(), slab, &batch, &fallback);
        let (mut ratios, mut sums, mut finite) = (Vec::new(), [0.0; 2], 0);
        for pair in 0..slab.wtilde().len() {
            let (weight, terms) = (weights.get(pair), terms(&problem, pair));
            if weight == 0.0 {
                let word = fallback.mask
                    [pair / slab.ncouls() * slab.ncouls().div_ceil(32) + pair % slab.ncouls() / 32];
                assert!(word >> (pair % slab.ncouls() % 32) & 1 == 1, "{}", problem.name());
                continue;
            }
            // Rounding, and products that vanish.
            let least = terms * (1.0 - 1e-12) - 1e-290;
            assert!(weight >= least, "{}: {pair}: {weight:e} < {terms:e}", problem.name());
            if weight.is_finite() {
                finite += 1;
                sums[0] += weight;
                sums[1] += terms;
                ratios.push(weight / terms);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
        println!(
            "{}: {finite} pairs, median {median:.2}, sums {:.2}",
            problem.name(),
            sums[0] / sums[1]
        );
        if problem.name().contains("real/") {
            assert!(median <= 4.0 && sums[0] <= 4.0 * sums[1], "{}: not tight", problem.name());
        }
    }
}

/// What a version sums, and its bound.
fn found(host: &CpuDevice, problem: &Problem, id: &str) -> (Sums, f64) {
    let mut engine = Engine::whole(host, problem).unwrap();
    let found = engine.run(catalogue::find(id).unwrap()).unwrap();
    (found.sums, found.bound)
}
