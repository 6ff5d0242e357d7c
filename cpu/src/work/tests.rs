use super::*;

fn total(terms: &[f64]) -> f64 {
    let mut total = CompensatedSum::default();
    terms.iter().for_each(|&term| total.add(term));
    total.value()
}

#[test]
fn what_additions_round_off_comes_back_and_what_is_not_finite_stays_so() {
    assert_eq!(total(&[1e16, 1.0, -1e16]), 1.0);
    assert_eq!(total(&[1.0, 1e100, 1.0, -1e100]), 2.0);
    assert_eq!(total(&[]), 0.0);
    assert_eq!(total(&[0.1]).to_bits(), 0.1f64.to_bits());
    assert!(total(&[1.0, f64::NAN, 2.0]).is_nan());
    assert_eq!(total(&[1.0, f64::INFINITY]), f64::INFINITY);
}

#[test]
fn the_first_request_counts_and_never_takes_none() {
    let stop = Stop::new();
    assert_eq!((stop.asked(), stop.is_asked()), (None, false));
    assert!(stop.ask(0) && !stop.ask(7));
    assert_eq!((stop.asked(), stop.is_asked()), (Some(0), true));
    assert!(!NEVER.ask(1) && !NEVER.is_asked());
}
