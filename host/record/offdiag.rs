//! The record of Σ as a matrix.

use gpp_core::offdiag::Sums;
use serde::{Deserialize, Serialize};

use crate::record::run::{Place, State, SystemInfo, Times};
use crate::record::{Head, Kind, Record};
use crate::reference::matrix::Verdict;
use crate::reference::verify::Outcome;

/// A calculation of Σ between many bands, but for the matrices themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offdiag {
    #[serde(flatten)]
    pub head: Head,
    pub system: SystemInfo,
    /// The file of matrix elements; null for those of a built-in system.
    pub elements: Option<String>,
    /// First and last of the bands l and m, from 1.
    pub bands: [usize; 2],
    /// Operations, 8 for a complex product and its addition, whatever is executed.
    pub flops: f64,
    /// What each version took, and how it came out.
    pub results: Vec<OfVersion>,
    /// Parts of the bands n, which were summed one after the other or at once.
    #[serde(default)]
    pub parts: usize,
    #[serde(default)]
    pub places: Vec<Place>,
    /// What the matrices are like, energy by energy; at the bands' energies that of rows, then that of columns.
    pub matrices: Vec<Matrix>,
    /// The matrix at the bands' own energies; null where other energies were asked for.
    #[serde(default)]
    pub qsgw: Option<Qsgw>,
    /// Sizes of the elements at the energy of [`pictured`].
    #[serde(default)]
    pub map: Option<Map>,
}

/// Which matrix is drawn: that at the energy nearest to the state's; at the bands' energies that of rows.
pub fn pictured(matrices: &[Matrix]) -> usize {
    let distance = |iw: &usize| matrices[*iw].above_state_ev.map_or(0.0, f64::abs);
    (0..matrices.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

impl Record for Offdiag {
    const KIND: Kind = Kind::Offdiag;
}

impl Offdiag {
    /// How many bands l and m.
    pub fn count(&self) -> usize {
        self.bands[1] + 1 - self.bands[0]
    }

    pub fn passed(&self) -> bool {
        self.results.iter().all(OfVersion::is_right)
    }

    /// The fastest version of which nothing came out wrong.
    pub fn fastest(&self) -> Option<&OfVersion> {
        let right = self.results.iter().filter(|of| of.is_right());
        right.min_by(|a, b| a.time_s.median.total_cmp(&b.time_s.median))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfVersion {
    /// The version that a GPU summed with; null on a processor.
    pub version: Option<String>,
    /// Time of the products, by the device's clock where it has one.
    pub time_s: Times,
    /// Time in all of the first calculation, with making or reading and moving matrix elements.
    pub total_s: f64,
    /// Operations by the median time, in 10¹² a second.
    pub tflops: f64,
    /// The first GPU during the timed calculations; null without NVML, on a processor, and where A does not stay, so
    /// that the GPU waits for it.
    pub state: Option<State>,
    /// Whether all its calculations, and the versions before it, gave the same bits.
    pub same_bits: bool,
    /// The comparison; null where there was none.
    pub verification: Option<Verdict>,
}

impl OfVersion {
    pub fn outcome(&self) -> Outcome {
        match &self.verification {
            _ if !self.same_bits => Outcome::Nondeterministic,
            Some(verdict) => verdict.outcome,
            None => Outcome::NotVerified,
        }
    }

    pub fn is_right(&self) -> bool {
        matches!(self.outcome(), Outcome::Passed | Outcome::NotVerified)
    }

    /// Joules of a calculation, by the mean power of the first GPU.
    pub fn joules(&self) -> Option<f64> {
        Some(self.state.as_ref()?.watts()? * self.time_s.median)
    }
}

/// What a matrix at an energy is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The energy in eV above the state's; null for that of each element's band l or m.
    pub above_state_ev: Option<f64>,
    /// Σ of `SX_ll`: real and imaginary part.
    pub trace_sx: [f64; 2],
    /// Σ of `CH_ll`.
    pub trace_ch: [f64; 2],
    /// Largest `|SX_ll + CH_ll|`.
    pub largest_diagonal: Largest,
    /// Largest `|SX_lm + CH_lm|` of the others; null of one band.
    pub largest_off_diagonal: Option<Largest>,
}

/// What the Hermitian part of `½[Σ_lm(E_l) + Σ_lm(E_m)]` is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Qsgw {
    /// Energies of the bands in eV above the state's, those of the problem's bands n of the same numbers.
    pub bands_above_state_ev: Vec<f64>,
    pub eigenvalues: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Largest {
    /// Its bands l and m, from 1.
    pub bands: [usize; 2],
    pub size: f64,
}

// The sizes of a matrix' elements, coarse enough for a picture.

/// Cells along a side of what a record holds, at most.
const MOST: usize = 64;

/// A cell's size in tenths of a power of ten below the largest, from 0 to 60 and less.
const LEVELS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxy";

const BROKEN: char = '?';

/// `|SX_lm + CH_lm|` at an energy, as a record holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Bands l, and bands m, of a cell: it has the largest size of their elements.
    pub bands: usize,
    pub largest: f64,
    /// A row for each cell along l, a letter for each along m: 0–9, A–Z, a–y are 0 to 60 tenths of a power of ten
    /// below the largest, y also all that is smaller; ? is no number.
    pub rows: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Bands of a cell along either side.
    pub bands: usize,
    pub count: usize,
    /// Of cell `(l, m)` at `count · l + m`; what is not finite was no number.
    pub sizes: Vec<f64>,
}

impl Map {
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
mod tests;
