//! The built-in systems, read from `data/systems.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::problem::arrays::Extents;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct System {
    pub name: String,
    pub nbands: usize,
    pub nvband: usize,
    pub ngpown: usize,
    pub ncouls: usize,
    pub nstart: usize,
    pub nend: usize,
    /// Whether modes are complex, as Godby-Needs gives them; otherwise all are real, BerkeleyGW's default.
    #[serde(default)]
    pub complex_modes: bool,
    /// Share of G′ that are masked.
    pub masked: f64,
    pub note: String,
}

/// The usual seed of the built-in systems.
pub const DEFAULT_SEED: u64 = 214;

/// The sources of the statistics of their poles.
pub const STATISTICS: &str = "\
Poles have the shares and quantiles of BerkeleyGW's: real ones of Hybertsen-Louie for 16 silicon atoms at q → 0,
complex ones of Godby-Needs for two atoms of GaAs. See docs/usage.md.";

pub static SYSTEMS: LazyLock<Vec<System>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/systems.json"))
        .expect("data/systems.json is checked by a test")
});

pub fn find(name: &str) -> Result<&'static System> {
    SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
        Error::unknown("system", name, SYSTEMS.iter().map(|system| system.name.as_str()))
    })
}

impl System {
    pub fn extents(&self) -> Extents {
        let System { nbands, ngpown, ncouls, nstart, nend, .. } = *self;
        Extents { nbands, ngpown, ncouls, nw: (nend + 1).saturating_sub(nstart) }
    }
}
