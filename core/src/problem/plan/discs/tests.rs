//! Discs hold the poles that they say.

use gpp_kernels::discs::series::Bounds;

use super::*;
use crate::problem::synthesis::synthesise;
use crate::problem::systems;
use crate::progress::Progress;

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
                assert!(LEAST * part.radius <= part.middle.norm());
                discs += 1;
                let bounds = Bounds::of(part, &limits);
                let ways = problem.wx().iter().filter(|w| bounds.way(**w, true).is_some());
                told += ways.count() * own.len();
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
        let all = contributing * problem.wx().len();
        assert!(discs > 0 && told > all / 2, "{name}: {told} of {all} by {discs} discs");
    }
}
