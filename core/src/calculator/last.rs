//! What the last call asked for: its identity, by which plans stay, and its problem where that refers to nobody's arrays.

use super::Formula;
use crate::problem::{Id, Problem};

/// Energies, occupations and limits of the last call.
#[derive(Default)]
pub struct Last {
    asked: Option<(Asked, Id)>,
    problem: Option<Problem>,
}

#[derive(PartialEq)]
struct Asked {
    e: Vec<f64>,
    occ: Vec<f64>,
    omega: Vec<f64>,
    formula: Formula,
}

impl Last {
    /// The identity of these: that of the last ones where they are the same.
    pub fn id(&mut self, [e, occ, omega]: [&[f64]; 3], formula: Formula) -> Id {
        if let Some((last, id)) = &self.asked
            && [&last.e, &last.occ, &last.omega] == [e, occ, omega]
            && last.formula == formula
        {
            return *id;
        }
        self.problem = None;
        let [e, occ, omega] = [e, occ, omega].map(<[f64]>::to_vec);
        let (_, id) = self.asked.insert((Asked { e, occ, omega, formula }, Id::unique()));
        *id
    }

    /// The problem of the last call with [other elements](Problem::with_other_elements), where it was kept and no other
    /// identity was asked for since then.
    pub fn problem(&mut self) -> Option<Problem> {
        self.problem.take().map(Problem::with_other_elements)
    }

    /// Keeps a problem of the last identity, whose matrix elements are elsewhere.
    pub fn keep(&mut self, problem: Problem) {
        self.problem = Some(problem);
    }
}
