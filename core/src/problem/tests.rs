use super::*;
use crate::problem::System;
use crate::problem::synthesis::synthesise;
use crate::progress::Progress;

/// A call's frame has them sorted once for all energies.
#[test]
fn poles_are_sorted_once() {
    let made = synthesise(System::find("demo").unwrap(), 1, Progress::NONE).unwrap();
    // What was made has its masked columns left out already.
    let header = Header { unmasked: None, ..made.header().clone() };
    let pairs = CheckedPairs::new(&header, made.wtilde().to_vec(), made.eps().to_vec()).unwrap();
    let mut sorted = Vec::new();
    for shift in [0.0, 0.3] {
        let wx = made.wx().iter().map(|w| w + shift).collect();
        let bands = made.bands().clone().with_energies(wx, made.occ().to_vec()).unwrap();
        let problem = pairs.problem("demo", (bands, false), None).unwrap();
        let (batch, slab) = (problem.batches(3).first(), problem.slab());
        let by_plan = |slab, poles| batch.plan.fallback(slab, poles, None);
        assert_eq!(problem.fallback(slab, &batch, Poles::Real), by_plan(slab, Poles::Real));
        sorted.push(std::ptr::from_ref(problem.sorted_poles(slab).unwrap()));
        let part = slab.part(1..3);
        assert!(problem.sorted_poles(part).is_none());
        assert_eq!(problem.fallback(part, &batch, Poles::Any), by_plan(part, Poles::Any));
    }
    assert_eq!(sorted[0], sorted[1]);
}
