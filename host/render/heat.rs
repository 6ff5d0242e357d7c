//! The sizes of a matrix' elements on a terminal.

use crate::record::map::Grid;

/// Cells along a side, at most; a cell is two columns of a line.
const MOST: usize = 32;

/// From the largest to the smallest.
const SHADES: [char; 5] = ['█', '▓', '▒', '░', '·'];

/// What is no number.
const BROKEN: char = '?';

/// Two lines that explain it, and between them a line for each cell along l; nothing in a terminal that is too narrow.
pub fn lines(grid: &Grid, bands: [usize; 2], at: &str, width: u16) -> Vec<String> {
    let most = MOST.min(usize::from(width) / 2);
    if most == 0 {
        return Vec::new();
    }
    let grid = grid.at_most(most);
    let sizes = || grid.sizes.iter().copied().filter(|size| *size > 0.0 && size.is_finite());
    let (largest, smallest) = (grid.largest(), sizes().fold(grid.largest(), f64::min));
    let span = (largest / smallest).ln();
    let shade = |size: &f64| {
        let part = (largest / size).ln() / span;
        // Of sizes that are all the same the span is zero: they are the largest.
        let at = if part.is_nan() { 0.0 } else { part * SHADES.len() as f64 };
        let at = (at as usize).min(SHADES.len() - 1);
        if size.is_finite() { SHADES[at] } else { BROKEN }
    };
    let row = |row: &[f64]| row.iter().flat_map(|size| [shade(size); 2]).collect::<String>();
    let [from, to] = bands;
    let of = match grid.bands {
        1 => String::new(),
        each => format!(", the largest of {each} × {each}"),
    };
    let title = format!("|Σ_lm| at {at}, l from {from} down to {to}, m to the right{of}:");
    let [most, .., least] = SHADES;
    let told = format!("{most} {largest:.1e} to {least} {smallest:.1e}, in steps of equal ratio");
    let rows = grid.sizes.chunks(grid.count.max(1)).map(row);
    [title].into_iter().chain(rows).chain([told]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(count: usize, size: impl Fn(usize) -> f64) -> Grid {
        Grid { bands: 1, count, sizes: (0..count * count).map(size).collect() }
    }

    #[test]
    fn shades_are_equal_parts_of_the_powers_of_ten() {
        let drawn = lines(&grid(3, |at| 10f64.powi(-(at as i32))), [4, 6], "0 eV", 80);
        assert_eq!(drawn[1..4], ["████▓▓", "▓▓▒▒░░", "░░····"]);
        assert_eq!(drawn[0], "|Σ_lm| at 0 eV, l from 4 down to 6, m to the right:");
        assert!(drawn[4].starts_with("█ 1.0e0 to · 1.0e-8,"), "{drawn:?}");
        let broken =
            lines(&grid(2, |at| [1.0, f64::NAN, 0.0, f64::INFINITY][at]), [1, 2], "0 eV", 80);
        assert_eq!(broken[1..3], ["██??", "··??"]);
        assert_eq!(lines(&grid(2, |_| 0.0), [1, 2], "0 eV", 80)[1..3], ["████", "████"]);
    }

    #[test]
    fn a_map_is_no_wider_than_the_terminal() {
        for (count, width, lines_of, wide) in [(64, 80, 32, 64), (64, 40, 16, 32), (5, 3, 1, 2)] {
            let drawn = lines(&grid(count, |at| 1.0 + at as f64), [1, count], "", width);
            assert_eq!(drawn.len(), lines_of + 2, "{count} {width}");
            assert!(
                drawn[1..=lines_of].iter().all(|line| line.chars().count() == wide),
                "{drawn:?}"
            );
        }
        assert!(lines(&grid(2, |_| 1.0), [1, 2], "", 1).is_empty());
    }
}
