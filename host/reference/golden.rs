//! Golden sums of the built-in systems, made once by `gpp golden` and kept in `data/golden.json`.

use std::sync::LazyLock;

use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::problem::{Header, Sums};

/// Golden sums of one system and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// The system's name.
    pub system: String,
    /// The seed it was synthesised with.
    pub seed: u64,
    /// Its energies, where they are not the system's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Energies other than a system's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct At {
    /// The state's energy in eV.
    pub state_ev: f64,
    /// Energies in eV above it.
    pub above_state_ev: Vec<f64>,
}

impl At {
    /// Those of a problem.
    pub fn of(header: &Header) -> At {
        At { state_ev: header.e_lk, above_state_ev: header.above_state() }
    }
}

/// All golden sums.
pub static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/golden.json"))
        .expect("data/golden.json is checked by a test")
});

fn of(system: &str, seed: u64) -> impl Iterator<Item = &'static Golden> {
    GOLDEN.iter().filter(move |golden| golden.system == system && golden.seed == seed)
}

/// The golden sums of that system and seed at the system's own energies.
pub fn find(system: &str, seed: u64) -> Option<&'static Sums> {
    of(system, seed).find(|golden| golden.at.is_none()).map(|golden| &golden.sums)
}

/// Those of the energies asked for (0-based) that there are golden sums at, and these.
pub fn find_among(system: &str, seed: u64, asked: &At) -> Option<(Vec<usize>, Sums)> {
    let known = |energy: f64| -> Option<[Complex64; 2]> {
        of(system, seed).find_map(|Golden { at, sums, .. }| {
            let at = at.as_ref().filter(|at| at.state_ev == asked.state_ev)?;
            let place = at.above_state_ev.iter().position(|&own| own == energy)?;
            Some([sums.asx[place], sums.ach[place]])
        })
    };
    let energies = asked.above_state_ev.iter().enumerate();
    let (places, found): (Vec<usize>, Vec<[Complex64; 2]>) =
        energies.filter_map(|(place, &energy)| Some((place, known(energy)?))).unzip();
    let of = |which: usize| found.iter().map(|sums| sums[which]).collect();
    (!places.is_empty()).then(|| (places, Sums { asx: of(0), ach: of(1) }))
}
