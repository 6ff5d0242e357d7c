use super::*;

#[test]
fn batches_are_pairs_where_a_kernel_does_not_hold_all() {
    let of = |nw, holds| batches(nw, holds).map(|at| (at.start, at.end)).collect::<Vec<_>>();
    assert_eq!(of(1, 3), [(0, 1)]);
    assert_eq!(of(3, 3), [(0, 3)]);
    assert_eq!(of(4, 3), [(0, 2), (2, 4)]);
    assert_eq!(of(7, 3), [(0, 2), (2, 4), (4, 6), (6, 7)]);
    assert_eq!(of(501, 512), [(0, 501)]);
    assert_eq!(of(1025, 512), [(0, 512), (512, 1024), (1024, 1025)]);
    assert_eq!(of(3, 1), [(0, 1), (1, 2), (2, 3)]);
}

fn chosen(back_end: BackEnd, [nbands, pairs, nw]: [usize; 3], poles: Poles) -> &'static str {
    best_for(back_end, &Task { nbands, pairs: pairs as u64, nw, poles }).id()
}

const SI214: [usize; 2] = [800, 1385 * 11075];
const DEMO: [usize; 2] = [96, 139 * 1111];
const TINY: [usize; 2] = [21, 9 * 67];

#[test]
fn the_choice_is_by_energies_size_and_poles() {
    let at = |back_end, [nbands, pairs]: [usize; 2], nw| {
        chosen(back_end, [nbands, pairs, nw], Poles::Real)
    };
    for system in [SI214, DEMO] {
        assert_eq!(at(BackEnd::Cpu, system, 2), "cpu:paired");
        assert_eq!(at(BackEnd::Gpu, system, 2), "v13");
        for nw in [16, 64, 501, 100_000] {
            assert_eq!(at(BackEnd::Cpu, system, nw), "sigma:cells");
            assert_eq!(at(BackEnd::Gpu, system, nw), "sigma:blocks");
        }
    }
    for nw in [1, 2, 6, 64, 501, 100_000] {
        assert_eq!(at(BackEnd::Cpu, TINY, nw), "cpu:paired");
    }
    // Moments of poles off the real axis take longer.
    let [nbands, pairs] = SI214;
    let any = |back_end, nw| chosen(back_end, [nbands, pairs, nw], Poles::Any);
    assert_eq!([6, 64].map(|nw| any(BackEnd::Cpu, nw)), ["cpu:paired", "sigma:cells"]);
    assert_eq!([6, 64].map(|nw| any(BackEnd::Gpu, nw)), ["v13", "sigma:blocks"]);
    // Launches are what takes long.
    assert_eq!(
        [3, 4, 501].map(|nw| at(BackEnd::Gpu, TINY, nw)),
        ["v13", "sigma:blocks", "sigma:blocks"]
    );
}

#[test]
fn every_version_is_the_best_of_its_journey() {
    for cost in &COSTS {
        let journey = super::journey_of(cost.version).unwrap();
        assert_eq!(journey.best(cost.back_end).unwrap().version, cost.version);
    }
}
