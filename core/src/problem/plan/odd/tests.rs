use super::*;
use crate::problem::synthesis::synthesise;
use crate::problem::{Evaluator, Matrices, Origin, Problem, systems};
use crate::progress::Progress;

/// However many poles are zero, none is summed: neither one by one, nor in cells.
#[test]
fn pairs_without_terms_are_neither_odd_nor_sorted() {
    let made = synthesise(systems::find("tiny").unwrap(), 1, Progress::NONE).unwrap();
    let is_zero = |at: usize| at % 5 < 2;
    for off_axis in [0.0, 0.1] {
        let poles = made.wtilde().iter().enumerate().map(|(at, pole)| match is_zero(at) {
            true => Complex64::ZERO,
            false => pole + Complex64::new(1.0, off_axis),
        });
        let matrices = Matrices {
            wtilde: poles.collect(),
            eps: vec![Complex64::ONE; made.eps().len()],
            aqsn: made.aqsn().to_vec(),
            aqsm_local: made.aqsm_local().to_vec(),
        };
        let problem = Problem::new("zeros", Origin::Made, made.header().clone(), matrices).unwrap();
        let (slab, batch) = (problem.slab(), problem.batches(3).first());
        for takes in [gpp_kernels::plan::Poles::Real, gpp_kernels::plan::Poles::Any] {
            let found = [problem.odd(slab, &batch, takes)];
            for odd in found {
                assert!(odd.pairs().iter().all(|&pair| !is_zero(pair as usize)));
                let words = Plan::words(slab.ncouls() as u32) as usize;
                for at in (0..slab.wtilde().len()).filter(|&at| is_zero(at)) {
                    let (igp, ig) = (at / slab.ncouls(), at % slab.ncouls());
                    assert_ne!(odd.mask()[igp * words + ig / 32] & 1 << (ig % 32), 0);
                }
            }
        }
        let summed = (0..slab.wtilde().len()).filter(|&at| !is_zero(at)).count();
        let sorted = match problem.cells(slab, Evaluator::Processor).pairs() {
            gpp_cpu::problem::Pairs::Real(poles, _) => poles.len(),
            gpp_cpu::problem::Pairs::Any(poles, _) => poles.len(),
        };
        assert_eq!(sorted, summed);
    }
}
