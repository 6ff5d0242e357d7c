use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn ranges_hold_what_they_hold(
        all in prop::collection::vec(-20.0..20.0f64, 0..60),
        low in -25.0..25.0f64,
        width in prop_oneof![Just(0.0), 0.0..1e-3f64, -1.0..30.0f64],
    ) {
        let energies = Lookup::of(all.iter().copied());
        for low in all.iter().copied().chain([low]) {
            let high = low + width;
            let mut held: Vec<f64> =
                all.iter().copied().filter(|w| (low..=high).contains(w)).collect();
            held.sort_by(f64::total_cmp);
            held.dedup();
            prop_assert_eq!(energies.any(low, high), !held.is_empty());
            prop_assert_eq!(energies.within(low, high), &held[..]);
        }
        prop_assert!(!energies.any(f64::NAN, 1.0) && !energies.any(0.0, f64::NAN));
    }
}
