use super::*;

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
