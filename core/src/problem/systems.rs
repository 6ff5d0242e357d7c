//! The built-in systems, read from `data/systems.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::memory::Extents;
use crate::error::{Error, Result};

/// Extents of one built-in system.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct System {
    /// Name on the command line.
    pub name: String,
    /// Bands.
    pub nbands: usize,
    /// Occupied bands.
    pub nvband: usize,
    /// G′ vectors of the rank.
    pub ngpown: usize,
    /// G vectors.
    pub ncouls: usize,
    /// First energy.
    pub nstart: usize,
    /// Last energy.
    pub nend: usize,
    /// Whether modes are complex, as Godby-Needs gives them; otherwise all are real, BerkeleyGW's default.
    #[serde(default)]
    pub complex_modes: bool,
    /// Share of G′ that are masked.
    pub masked: f64,
    /// Where the extents come from.
    pub note: String,
}

/// Seed of the built-in systems where none is given.
pub const DEFAULT_SEED: u64 = 214;

/// Where the statistics of their poles come from.
pub const STATISTICS: &str = "\
Poles have the shares and quantiles of BerkeleyGW's: real ones of Hybertsen-Louie for 16 silicon atoms at q → 0,
complex ones of Godby-Needs for two atoms of GaAs. See docs/limits.md.";

/// All built-in systems.
pub static SYSTEMS: LazyLock<Vec<System>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/systems.json"))
        .expect("data/systems.json is checked by a test")
});

/// The system of that name.
///
/// # Errors
/// [`Error::UnknownName`].
pub fn find(name: &str) -> Result<&'static System> {
    SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
        Error::unknown("system", name, SYSTEMS.iter().map(|system| system.name.as_str()))
    })
}

impl System {
    /// What the sizes of its arrays depend on.
    pub fn extents(&self) -> Extents {
        let System { nbands, ngpown, ncouls, nstart, nend, .. } = *self;
        Extents { nbands, ngpown, ncouls, nw: (nend + 1).saturating_sub(nstart) }
    }

    /// Bytes of the arrays that the kernels read.
    pub fn bytes(&self) -> u64 {
        self.extents().bytes()
    }
}
