//! Sums by the definition in double-double numbers, of some 30 digits.

use gpp::reference::{Evaluation, evaluate};
use gpp_kernels::arrays::Limits;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::common::double::*;

/// `ssx` and `sch` of a pair at an energy.
fn term(w: f64, wtilde: Complex64, eps: Complex64, limits: &Limits) -> [Double; 2] {
    let (wtilde, eps) = (double(wtilde), double(eps));
    // `ω̃/(w − ω̃)` and `ω̃/(w + ω̃)`.
    let [delw, behind] = [-1.0, 1.0].map(|sign| {
        let x = scaled(wtilde, sign);
        times(wtilde, inverse([x[0] + w, x[1]]))
    });
    let distance = norm_sqr([wtilde[0] - w, wtilde[1]]);
    let is_first = distance > limits.limittwo && norm_sqr(delw) < limits.limitone;
    let ssx = if is_first { times(delw, behind) } else { scaled(behind, -0.5) };
    let is_some = is_first || norm_sqr(delw) > 1e-12;
    let is_kept = w >= 0.0 || norm_sqr(ssx) <= limits.sexcut * limits.sexcut;
    [
        if is_some && is_kept { times(ssx, eps) } else { ZERO },
        if is_first { times(delw, eps) } else { ZERO },
    ]
}

/// The sums of a problem in memory; their scale is that of the reference.
pub fn precisely(problem: &gpp::problem::Problem) -> Evaluation {
    let (nbands, nw, limits) = (problem.header().nbands, problem.nw(), problem.limits());
    let (ncouls, slab) = (problem.header().ncouls, problem.slab());
    let column = |igp: usize| {
        let mut sums = vec![[ZERO; 2]; nw];
        for (n, ig) in (0..nbands).flat_map(|n| (0..ncouls).map(move |ig| (n, ig))) {
            let aqsm = double(slab.aqsm_local().column(n)[igp].conj());
            let m = times(aqsm, double(problem.aqsn()[n * ncouls + ig]));
            let m = scaled(m, slab.vcoul_loc()[igp]);
            let pair = igp * ncouls + ig;
            for (sum, &w) in sums.iter_mut().zip(problem.energies(n)) {
                let [ssx, sch] = term(w, slab.wtilde()[pair], slab.eps()[pair], &limits);
                sum[0] = plus(sum[0], scaled(times(ssx, m), -problem.occ()[n]));
                sum[1] = plus(sum[1], scaled(times(sch, m), 0.5));
            }
        }
        sums
    };
    let columns: Vec<_> = (0..slab.len()).into_par_iter().map(column).collect();
    let mut evaluation = evaluate(problem, crate::common::QUIET).unwrap();
    let total = |part: usize, iw: usize| {
        rounded(columns.iter().fold(ZERO, |sum, column| plus(sum, column[iw][part])))
    };
    evaluation.sums.asx = (0..nw).map(|iw| total(0, iw)).collect();
    evaluation.sums.ach = (0..nw).map(|iw| total(1, iw)).collect();
    evaluation
}
