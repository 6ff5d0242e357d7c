//! Σ(ω): what a version of a run found at each energy.

use num_complex::Complex64;

use crate::record::run::{Measurement, Run};

/// The sums of a version by energy, and the run that they are of.
#[derive(Clone, Debug)]
pub struct Sigma<'a> {
    /// The run.
    pub run: &'a Run,
    /// The version's result in it.
    pub result: &'a Measurement,
    /// A row for each energy, one at least, in the run's order.
    pub rows: Vec<Row>,
}

/// The unit of SX, CH and Σ: that in which the problem has `vcoul`, rydbergs in BerkeleyGW.
pub const UNIT: &str = "units of vcoul";

/// An energy and its sums, as records keep them: starting sums included.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// ω in eV above the state's energy.
    pub above_ev: f64,
    /// ω in eV.
    pub omega_ev: f64,
    /// Screened exchange.
    pub sx: Complex64,
    /// Coulomb hole.
    pub ch: Complex64,
}

impl Row {
    /// Σ: both sums together. Bare exchange is no part of it.
    pub fn total(&self) -> Complex64 {
        self.sx + self.ch
    }

    /// The parts of both sums and of Σ, each with its name.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let (Row { sx, ch, .. }, total) = (self, self.total());
        [
            ("Re SX", sx.re),
            ("Im SX", sx.im),
            ("Re CH", ch.re),
            ("Im CH", ch.im),
            ("Re Σ", total.re),
            ("Im Σ", total.im),
        ]
    }

    /// Whether every part is a number.
    pub fn is_finite(&self) -> bool {
        self.parts().iter().all(|(_, part)| part.is_finite())
    }
}

/// Why a run has no Σ(ω).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigmaError {
    /// No version ran.
    #[error("holds no version's sums")]
    Empty,
    /// Which version is left open.
    #[error("holds {0}: --version names one of them")]
    Several(String),
    /// The version is not there.
    #[error("has no version {version}, it holds {held}")]
    Missing {
        /// The version asked for.
        version: String,
        /// Those that are there.
        held: String,
    },
    /// It does not say which energies.
    #[error("does not say its energies: records have them since there may be any number")]
    NoEnergies,
    /// Energies and sums do not belong together.
    #[error("has {energies} energies, and of {version} {sx} sums asx and {ch} sums ach")]
    Counts {
        /// Energies.
        energies: usize,
        /// The version.
        version: String,
        /// Sums of screened exchange.
        sx: usize,
        /// Sums of the Coulomb hole.
        ch: usize,
    },
}

impl<'a> Sigma<'a> {
    /// Of a version, or of the only one that ran.
    ///
    /// # Errors
    /// [`SigmaError`].
    pub fn of(run: &'a Run, version: Option<&str>) -> Result<Sigma<'a>, SigmaError> {
        let held = || {
            let ids: Vec<&str> = run.results.iter().map(|r| r.version.as_str()).collect();
            ids.join(", ")
        };
        let result = match (version, &run.results[..]) {
            (_, []) => Err(SigmaError::Empty),
            (Some(id), results) => results
                .iter()
                .find(|result| result.version == id)
                .ok_or_else(|| SigmaError::Missing { version: id.into(), held: held() }),
            (None, [only]) => Ok(only),
            (None, _) => Err(SigmaError::Several(held())),
        }?;
        let (Some(state), Some(energies)) = (run.system.state_ev, &run.system.energies_ev) else {
            return Err(SigmaError::NoEnergies);
        };
        let (sx, ch) = (&result.sums.asx, &result.sums.ach);
        if [sx.len(), ch.len()] != [energies.len(); 2] {
            let (energies, sx, ch) = (energies.len(), sx.len(), ch.len());
            let version = result.version.clone();
            return Err(SigmaError::Counts { energies, version, sx, ch });
        }
        if energies.is_empty() {
            return Err(SigmaError::NoEnergies);
        }
        let row = |((&above_ev, &sx), &ch)| Row { above_ev, omega_ev: state + above_ev, sx, ch };
        let rows = energies.iter().zip(sx).zip(ch).map(row).collect();
        Ok(Sigma { run, result, rows })
    }

    /// Of the fastest version that passed.
    ///
    /// # Errors
    /// [`SigmaError`].
    pub fn of_fastest(run: &'a Run) -> Result<Sigma<'a>, SigmaError> {
        let passed = run.results.iter().filter(|result| result.passed());
        let fastest = passed.min_by(|a, b| a.times.median.total_cmp(&b.times.median));
        Sigma::of(run, Some(&fastest.ok_or(SigmaError::Empty)?.version))
    }

    /// The energies, in eV above the state's, at which a part is no number.
    pub fn broken(&self) -> Vec<f64> {
        self.rows.iter().filter(|row| !row.is_finite()).map(|row| row.above_ev).collect()
    }
}
