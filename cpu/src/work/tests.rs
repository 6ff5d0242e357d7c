use super::*;

#[test]
fn tiles_hold_every_pair_once() {
    for (igp, ig, tiles) in [
        (5, 17, Tiles { igp: 2, ig: 8 }),
        (1, 1, Tiles { igp: 16, ig: 512 }),
        (3, 9, Tiles { igp: 1, ig: usize::MAX }),
    ] {
        let mut seen = vec![0; igp * ig];
        for tile in tiles.of(igp, ig) {
            for at in tile.igp {
                tile.ig.clone().for_each(|ig_at| seen[at * ig + ig_at] += 1);
            }
        }
        assert_eq!(seen, vec![1; igp * ig]);
    }
}

fn total(terms: &[f64]) -> f64 {
    let mut total = Compensated::default();
    terms.iter().for_each(|&term| total.add(term));
    total.value()
}

#[test]
fn what_additions_round_off_comes_back() {
    assert_eq!(total(&[1e16, 1.0, -1e16]), 1.0);
    assert_eq!(total(&[1.0, 1e100, 1.0, -1e100]), 2.0);
    assert_eq!(total(&[]), 0.0);
    assert_eq!(total(&[0.1]).to_bits(), 0.1f64.to_bits());
}

#[test]
fn what_is_not_finite_stays_so() {
    assert!(total(&[1.0, f64::NAN, 2.0]).is_nan());
    assert_eq!(total(&[1.0, f64::INFINITY]), f64::INFINITY);
}
