use num_complex::Complex64;

use super::*;

/// Sizes `10^-(l + m / 10)` of so many bands, one of which is no number.
fn sums(bands: usize) -> Sums {
    let mut sums = Sums {
        bands,
        sx: vec![Complex64::ZERO; bands * bands],
        ch: vec![Complex64::ZERO; bands * bands],
    };
    for (l, m) in (0..bands).flat_map(|l| (0..bands).map(move |m| (l, m))) {
        let at = sums.at(l, m, 0);
        sums.ch[at].im = -(10f64.powf(2.0 - l as f64 - 0.1 * m as f64));
    }
    let broken = sums.at(1, 2, 0);
    sums.sx[broken].re = f64::NAN;
    sums
}

#[test]
fn a_record_holds_sizes_in_tenths_of_powers_of_ten() {
    let map = Map::of(&sums(9), 0);
    assert_eq!((map.bands, &*map.rows[0], &*map.rows[1]), (1, "012345678", "AB?DEFGHI"));
    assert_eq!((&*map.rows[6], &*map.rows[8]), ("yyyyyyyyy", "yyyyyyyyy"));
    assert!((map.largest - 100.0).abs() < 1e-9);
    let (grid, own) = (map.grid(), Grid::of(&sums(9), 0, 9));
    assert_eq!((grid.count, grid.sizes.len()), (9, 81));
    for (at, (read, size)) in grid.sizes.iter().zip(&own.sizes).enumerate().take(54) {
        assert!(at == 11 && read.is_nan() || (read / size - 1.0).abs() < 1e-9, "{at}: {read}");
    }
}

#[test]
fn cells_of_several_bands_have_the_largest_of_them() {
    let sums = sums(9);
    let grid = Grid::of(&sums, 0, 4);
    assert_eq!((grid.bands, grid.count), (3, 3));
    assert!(grid.sizes[0].is_nan() && (grid.sizes[4] - 10f64.powf(-1.3)).abs() < 1e-12);
    let coarser = Grid::of(&sums, 0, 9).at_most(4);
    assert_eq!((coarser.bands, coarser.count), (3, 3));
    assert_eq!(coarser.sizes[1..], grid.sizes[1..]);
    let large = Map::of(&tests::sums(130), 0);
    assert_eq!((large.bands, large.rows.len()), (3, 44));
}

#[test]
fn what_is_damaged_is_no_number() {
    let map = Map { bands: 1, largest: 1.0, rows: vec!["0!".into(), String::new()] };
    let sizes = map.grid().sizes;
    assert!(sizes[0] == 1.0 && sizes[1..].iter().all(|size| size.is_nan()));
    let zero = Sums { bands: 1, sx: vec![Complex64::ZERO], ch: vec![Complex64::ZERO] };
    assert_eq!(Map::of(&zero, 0).rows, ["0"]);
}
