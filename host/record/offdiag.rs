//! The record of Σ as a matrix.

use serde::{Deserialize, Serialize};

use crate::record::run::{Place, State, SystemInfo, Times};
use crate::record::{Head, Record};
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
}

/// Which matrix is drawn: that at the energy nearest to the state's; at the bands' energies that of rows.
pub fn pictured(matrices: &[Matrix]) -> usize {
    let distance = |iw: &usize| matrices[*iw].above_state_ev.map_or(0.0, f64::abs);
    (0..matrices.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

impl Record for Offdiag {
    const KIND: &'static str = "offdiag";
    const WRITTEN_BY: &'static str = "`gpp offdiag --json FILE` writes it";
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
    /// The version that a GPU summed with; null on a CPU.
    pub version: Option<String>,
    /// Time of the products, by the device's clock where it has one.
    pub time_s: Times,
    /// Time in all of the first calculation, with making or reading and moving matrix elements.
    pub total_s: f64,
    /// Operations by the median time, in 10¹² a second.
    pub tflops: f64,
    /// The first GPU during the timed calculations; null without NVML, on a CPU, and where A does not stay, so
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
