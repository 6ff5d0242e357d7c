//! Golden elements of the matrices of built-in systems, made once by `gpp golden --bands` and kept in
//! `data/golden-matrices.json`.

use std::sync::LazyLock;

use gpp_core::offdiag::{At, Task};
use serde::{Deserialize, Serialize};

use super::{Element, Sample};
use crate::problem::Origin;
use crate::reference::golden::At as Energies;
use crate::reference::is_own_but_for_energies;

/// Elements between some bands of one system and seed, by the definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoldenMatrix {
    /// The system's name.
    pub system: String,
    /// The seed it was synthesised with.
    pub seed: u64,
    /// Its energies.
    pub at: Energies,
    /// Bands l and m, from 1, ascending.
    pub bands: Vec<usize>,
    /// Elements: l fastest, then m, then the energy.
    pub elements: Vec<Element>,
}

/// All of them.
pub static GOLDEN: LazyLock<Vec<GoldenMatrix>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/golden-matrices.json"))
        .expect("data/golden-matrices.json is checked by a test")
});

/// The golden elements of a task of bands from the first on, at those of its energies that there are some at.
/// None unless the task's last band is among theirs: an element of the last tile has to be compared.
pub fn find(task: &Task, first: usize) -> Option<(Sample, Vec<Element>)> {
    let Origin::System(system, seed) = task.problem.origin() else { return None };
    if first > 0 || task.at != At::Energies || !is_own_but_for_energies(task.problem) {
        return None;
    }
    let asked = Energies::of(task.problem.header());
    GOLDEN.iter().find_map(|golden| {
        let is_of_it = golden.system == system.name
            && golden.seed == *seed
            && golden.at.state_ev == asked.state_ev
            && golden.bands.contains(&task.bands());
        if !is_of_it {
            return None;
        }
        let count = golden.bands.iter().take_while(|&&band| band <= task.bands()).count();
        let bands = golden.bands[..count].iter().map(|band| band - 1).collect();
        let (mut energies, mut elements) = (Vec::new(), Vec::new());
        let all = golden.bands.len();
        for (iw, energy) in asked.above_state_ev.iter().enumerate() {
            let own = golden.at.above_state_ev.iter().position(|own| own == energy);
            let Some(own) = own else { continue };
            energies.push(iw);
            for m in 0..count {
                let at = (own * all + m) * all;
                elements.extend(&golden.elements[at..at + count]);
            }
        }
        (!energies.is_empty()).then_some((Sample { bands, energies }, elements))
    })
}
