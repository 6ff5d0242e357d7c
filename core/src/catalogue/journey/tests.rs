use super::*;

#[test]
fn what_is_stated_exists() {
    for journey in JOURNEYS {
        assert!(journey.has(journey.baseline), "{}", journey.id);
        assert!(!journey.best.is_empty(), "{}", journey.id);
        for best in journey.best {
            assert!(journey.has(best.version), "{}", best.version);
            assert!(!best.condition.is_empty());
        }
    }
    for (back_end, id) in LEADING {
        assert!(journey(id).unwrap().has(best(back_end).id()));
    }
}

#[test]
fn a_journey_goes_on_from_another() {
    let before = |id: &str| journey_of(id).and_then(|journey| journey.before(id));
    assert_eq!(before("v0"), None);
    assert_eq!(before("v3"), Some("v2"));
    assert_eq!(before("v9"), Some("v8"));
    assert_eq!(before("none"), None);
}
