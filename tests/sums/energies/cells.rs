//! How wide cells are, and batches that are made at their turns.

use gpp::kernels::sigma::FarField;
use gpp::kernels::sigma::Interval as Part;
use gpp::kernels::sigma::real::far_field;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{EnergyGrid, Evaluator, Even, Problem, SortedCells, Source, System};

use super::{at, even};
use crate::common::{Kind, QUIET};

/// Which part of a problem's terms is summed one by one where pairs are sorted, for Σ alone or not, and how many parts
/// there are.
fn one_by_one(problem: &Problem, alone: bool) -> (f64, usize) {
    let nw = problem.nw();
    let SortedCells::Real(cells) =
        SortedCells::for_slab(problem, problem.slab(), Evaluator::Gpu, alone).unwrap()
    else {
        panic!("the poles are real")
    };
    let (every, mut left) = (problem.wx().len().div_ceil(997), 0);
    for (at, &w) in problem.wx().iter().enumerate().step_by(every) {
        let (occ, limits) = (problem.occ()[at / nw], problem.limits());
        let far = |part: &Part| {
            let both = |w, occupied| far_field(w, part, occupied, &limits);
            if alone { FarField::alone(part, both, [w, occ]) } else { both(w, occ != 0.0) }
        };
        let is_left = |part: &&Part| part.low.is_nan() || far(part).is_none();
        left += cells.parts.iter().filter(is_left).map(|part| part.end - part.begin).sum::<u32>();
    }
    let energies = problem.wx().len().div_ceil(every);
    (f64::from(left) / (energies * cells.poles.len()) as f64, cells.parts.len())
}

#[test]
fn cells_do_not_hang_on_the_number_of_energies() {
    let cases = [("tiny", 0.03, &[6, 501, 100_000][..]), ("demo", 0.02, &[6, 501, 5000])];
    for ((name, most, counts), alone) in
        cases.into_iter().flat_map(|case| [(case, false), (case, true)])
    {
        let system = System::find(name).unwrap();
        let synthesis = || Synthesis::new(system, 214, QUIET);
        let found = counts.iter().map(|&count| {
            let grid = EnergyGrid::Even(Even::new(-10.0, 10.0, count).unwrap());
            let (part, parts) = one_by_one(&synthesis().at(&grid).load().unwrap(), alone);
            assert!(part <= most, "{name} at {count}: {part} one by one");
            parts as f64
        });
        let found: Vec<f64> = found.collect();
        let (least, largest) =
            found.iter().fold((f64::MAX, 0.0f64), |(a, b), &n| (a.min(n), b.max(n)));
        assert!(largest <= 1.2 * least, "{name}: {found:?} parts");
    }
}

#[test]
fn a_problem_of_many_energies_has_many_batches() {
    let problem = at(Kind::Real, even(99_999));
    let batches = problem.batches(3);
    assert_eq!((batches.count(), batches.nw()), (50_000, 99_999));
    assert_eq!([0, 49_999].map(|at| batches.get(at).nw()), [2, 1]);
}
