use gpp_kernels::plan::Poles;

use super::*;
use crate::problem::Extents;

fn chosen(back_end: BackEnd, extents: Extents, poles: Poles) -> &'static str {
    best_for(back_end, Outline { extents, poles, keeps_order: true }).id()
}

#[test]
fn the_choice_is_by_energies_and_poles() {
    let si214 = Extents { nbands: 800, ngpown: 1385, ncouls: 11075, nw: 2 };
    let tiny = Extents { nbands: 21, ngpown: 9, ncouls: 67, nw: 2 };
    let at = |back_end, nw, poles| {
        let [large, small] = [si214, tiny].map(|of| chosen(back_end, Extents { nw, ..of }, poles));
        let by_bands = back_end == BackEnd::Cpu && poles == Poles::Real && nw < 5;
        assert_eq!(large, if by_bands { "cpu:static" } else { small }, "{nw} energies");
        small
    };
    for poles in [Poles::Real, Poles::Any] {
        for nw in 1..5 {
            assert_eq!(at(BackEnd::Cpu, nw, poles), "cpu:paired");
            assert_eq!(at(BackEnd::Gpu, nw, poles), "v13");
        }
        // However small the problem is: cpu:paired makes a plan for every two energies.
        for nw in [16, 64, 501, 100_000] {
            assert_eq!(at(BackEnd::Cpu, nw, poles), "sigma:cells");
            assert_eq!(at(BackEnd::Gpu, nw, poles), "sigma:blocks");
        }
    }
    assert_eq!(at(BackEnd::Gpu, 5, Poles::Real), "sigma:blocks");
    // Moments of poles off the real axis take longer.
    assert_eq!([6, 7].map(|nw| at(BackEnd::Gpu, nw, Poles::Any)), ["v13", "sigma:blocks"]);
}

#[test]
fn what_the_table_states_exists() {
    for journey in JOURNEYS {
        let ids = journey.ids();
        assert!(ids.contains(&journey.baseline), "{}", journey.id);
        assert!(ids.contains(&journey.best), "{}", journey.id);
    }
    for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
        let best = best(back_end).id();
        assert_eq!(journey_of(best).unwrap().best, best);
    }
}

#[test]
fn a_journey_goes_on_from_another() {
    assert_eq!(order::before("v0"), None);
    assert_eq!(order::before("v3"), Some("v2"));
    assert_eq!(order::before("v9"), Some("v8"));
    assert_eq!(order::before("none"), None);
}
