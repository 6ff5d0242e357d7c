//! Golden sums of the built-in systems, made once by `gpp golden` and kept in `data/golden.json`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::problem::Sums;

/// Golden sums of one system and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// The system's name.
    pub system: String,
    /// The seed it was synthesised with.
    pub seed: u64,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// All golden sums.
pub static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/golden.json"))
        .expect("data/golden.json is checked by a test")
});

/// The golden sums of that system and seed.
pub fn find(system: &str, seed: u64) -> Option<&'static Sums> {
    let golden = GOLDEN.iter().find(|golden| golden.system == system && golden.seed == seed)?;
    Some(&golden.sums)
}
