//! What a record tells of its problem.

use gpp_kernels::plan;
use serde::{Deserialize, Serialize};

use crate::problem::Frame;

/// Extents of a problem: a built-in system or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemInfo {
    /// System name or file name.
    pub name: String,
    /// Bands.
    pub nbands: usize,
    /// Occupied bands.
    pub nvband: i32,
    /// G′ vectors, without the masked ones.
    pub ngpown: usize,
    /// Masked G′ vectors, whose columns are left out.
    #[serde(default)]
    pub masked: usize,
    /// G vectors.
    pub ncouls: usize,
    /// First energy, from 1.
    pub nstart: usize,
    /// Last energy.
    pub nend: usize,
    /// Energy of the state, `e_lk`, in eV; null in older records.
    pub state_ev: Option<f64>,
    /// Energies in eV above it, those of `nstart..=nend`; null in older records.
    pub energies_ev: Option<Vec<f64>>,
}

impl SystemInfo {
    /// Of a problem.
    pub fn of(problem: &Frame) -> SystemInfo {
        let h = problem.header();
        SystemInfo {
            name: problem.name().into(),
            nbands: h.nbands,
            nvband: h.nvband,
            ngpown: h.ngpown,
            masked: h.given_ngpown() - h.ngpown,
            ncouls: h.ncouls,
            nstart: h.nstart,
            nend: h.nend,
            state_ev: Some(h.e_lk),
            energies_ev: Some(h.above_state()),
        }
    }

    /// Energies.
    pub fn nw(&self) -> usize {
        (self.nend + 1).saturating_sub(self.nstart)
    }

    /// Terms of the sum: (n, igp, ig, iw).
    pub fn terms(&self) -> u64 {
        [self.nbands, self.ngpown, self.ncouls, self.nw()].map(|n| n as u64).iter().product()
    }
}

/// The poles of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Poles {
    /// Real, but for a few.
    Real,
    /// Of any kind.
    #[serde(alias = "any")]
    Complex,
}

impl Poles {
    /// As in texts.
    pub fn name(self) -> &'static str {
        match self {
            Poles::Real => "real",
            Poles::Complex => "complex",
        }
    }
}

impl From<plan::Poles> for Poles {
    fn from(poles: plan::Poles) -> Poles {
        match poles {
            plan::Poles::Real => Poles::Real,
            plan::Poles::Any | plan::Poles::Unread => Poles::Complex,
        }
    }
}

impl From<Poles> for plan::Poles {
    fn from(poles: Poles) -> plan::Poles {
        match poles {
            Poles::Real => plan::Poles::Real,
            Poles::Complex => plan::Poles::Any,
        }
    }
}
