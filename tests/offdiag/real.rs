//! Elements that BerkeleyGW summed.

use gpp::reference::matrix::{Sample, evaluate, tolerance};
use gpp_core::offdiag::Task;

use super::common::matrices::Given;
use super::common::{fixture, real};
use super::ways;

/// The matrix between the two states of each file, one and the same where it is of a diagonal element.
#[test]
fn elements_are_berkeleygw_s() {
    for name in real() {
        let problem = fixture(name);
        let stored = problem.stored().unwrap();
        let elements = Given::own(&problem);
        let task = Task::new(&problem, &elements);
        let scale = evaluate(&task, &Sample::all(&task), super::QUIET);
        for (way, sum) in ways(problem.nw() < 3) {
            let sums = sum(&task).unwrap();
            for iw in 0..problem.nw() {
                let at = sums.at(0, 1, iw);
                let both = [(sums.sx[at], stored.asx[iw]), (sums.ch[at], stored.ach[iw])];
                for (part, (found, expected)) in both.into_iter().enumerate() {
                    let allowed = tolerance(&task) * scale[at].magnitude[part];
                    let error = (found - expected).norm();
                    assert!(error <= allowed, "{way}, {name}, {iw}: {found}, not {expected}");
                }
            }
        }
    }
}
