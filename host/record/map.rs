//! The sizes of a matrix' elements, coarse enough for a picture.

use gpp_core::offdiag::Sums;
use serde::{Deserialize, Serialize};

/// Cells along a side of what a record holds, at most.
const MOST: usize = 64;

/// A cell's size in tenths of a power of ten below the largest, from 0 to 60 and less.
const LEVELS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxy";

/// A cell that is no number.
const BROKEN: char = '?';

/// `|SX_lm + CH_lm|` at an energy, as a record holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Bands l, and bands m, of a cell: it has the largest size of their elements.
    pub bands: usize,
    /// The largest size that is a number.
    pub largest: f64,
    /// A row for each cell along l, a letter for each along m: 0–9, A–Z, a–y are 0 to 60 tenths of a power of ten
    /// below the largest, y also all that is smaller; ? is no number.
    pub rows: Vec<String>,
}

/// The same as sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Bands of a cell along either side.
    pub bands: usize,
    /// Cells along a side.
    pub count: usize,
    /// Of cell `(l, m)` at `count · l + m`; what is not finite was no number.
    pub sizes: Vec<f64>,
}

impl Map {
    /// Of the matrix at an energy.
    pub fn of(sums: &Sums, iw: usize) -> Map {
        let grid = Grid::of(sums, iw, MOST);
        let largest = grid.largest();
        let letter = |size: &f64| {
            let tenths = 10.0 * (largest.log10() - size.log10());
            // Where all are zero, so is the difference: no number, which is level 0.
            let level = tenths.round().clamp(0.0, (LEVELS.len() - 1) as f64) as usize;
            if size.is_finite() { char::from(LEVELS.as_bytes()[level]) } else { BROKEN }
        };
        let rows = grid.sizes.chunks(grid.count).map(|row| row.iter().map(letter).collect());
        Map { bands: grid.bands, largest, rows: rows.collect() }
    }

    /// Its cells; a letter that stands for no size is no number.
    pub fn grid(&self) -> Grid {
        let size = |letter: Option<char>| match letter.and_then(|letter| LEVELS.find(letter)) {
            Some(level) => self.largest * 10f64.powf(-0.1 * level as f64),
            None => f64::NAN,
        };
        let count = self.rows.len();
        let row = |row: &String| {
            let mut letters = row.chars();
            (0..count).map(|_| size(letters.next())).collect::<Vec<_>>()
        };
        let sizes = self.rows.iter().flat_map(row).collect();
        Grid { bands: self.bands, count, sizes }
    }
}

impl Grid {
    /// Of the matrix at an energy, of so many cells along a side at most.
    pub fn of(sums: &Sums, iw: usize, most: usize) -> Grid {
        let size = |l, m| {
            let at = sums.at(l, m, iw);
            (sums.sx[at] + sums.ch[at]).norm()
        };
        binned(sums.bands, 1, most, size)
    }

    /// Of so many cells along a side at most.
    #[must_use]
    pub fn at_most(&self, most: usize) -> Grid {
        binned(self.count, self.bands, most, |l, m| self.sizes[self.count * l + m])
    }

    /// The largest that is a number; zero where none is.
    pub fn largest(&self) -> f64 {
        self.sizes.iter().copied().filter(|size| size.is_finite()).fold(0.0, f64::max)
    }
}

/// The largest of neighbouring cells, which are of so many bands each; of one that is no number, that.
fn binned(count: usize, bands: usize, most: usize, size: impl Fn(usize, usize) -> f64) -> Grid {
    let each = count.div_ceil(most.max(1)).max(1);
    let cells = count.div_ceil(each);
    let of = |cell: usize| cell * each..count.min((cell + 1) * each);
    let cell = |at: usize| {
        let all = of(at / cells).flat_map(|l| of(at % cells).map(move |m| (l, m)));
        // NaN comes after all numbers, whatever its sign.
        all.map(|(l, m)| size(l, m).abs()).max_by(f64::total_cmp).unwrap_or(0.0)
    };
    Grid { bands: bands * each, count: cells, sizes: (0..cells * cells).map(cell).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

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
        let large = Map::of(&self::sums(130), 0);
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
}
