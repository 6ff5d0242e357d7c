use gpp_kernels::sigma::FarField;
use gpp_kernels::sigma::complex::Acceptance as Bounds;
use gpp_kernels::sigma::real::far_field as way;

use super::*;
use crate::problem::synthesis::Synthesis;
use crate::problem::{Even, Id, Source, System, range};
use crate::progress::Bars;

/// Where a sample shows no pole there may still be some, and many energies to sum them one by one.
#[test]
fn cells_of_poles_that_no_sample_shows_are_told_by_moments() {
    let limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };
    let spread = |a: f64, b: f64| (0..1000).map(move |i| a + (b - a) * f64::from(i) / 999.0);
    let energies: Vec<f64> = spread(-8.0, 3.0).collect();
    let weighed = Weighed {
        poles: WeightedSample::new(spread(0.1, 40.0).collect(), 200.0),
        energies: WeightedSample::new(energies.clone(), 1e-3),
        limits,
    };
    for even in [EVEN_ON_GPU, EVEN_ON_CPU] {
        let bounds = weighed.bounds(even);
        let mut seen = 0;
        for cell in bounds.windows(2).filter(|cell| cell[0] >= 50.0) {
            let part = Interval { low: cell[0], high: cell[1], begin: 0, end: 1 };
            let left =
                energies.iter().filter(|&&w| way(w, &part, false, &limits).is_none()).count();
            assert!(left * 200 <= energies.len(), "{cell:?}: {left} one by one");
            seen += 1;
        }
        assert!(seen > 100, "{seen} cells");
    }
}

#[test]
fn most_terms_are_told_by_discs_that_hold_their_poles() {
    for name in ["tiny-complex", "demo-complex", "tiny"] {
        let problem = Synthesis::new(System::find(name).unwrap(), 1, Bars::NONE).load().unwrap();
        let (slab, limits) = (problem.slab(), problem.limits());
        let energy = |at: usize| (problem.wx()[at], problem.occ()[at / problem.nw()]);
        let squares = Squares::new(problem.wx().len(), energy, limits);
        let sorted = discs(slab, squares, &Lookup::from_energies([])).unwrap();
        let pairs = slab.wtilde().iter().zip(slab.eps());
        let contributing = pairs.filter(|(pole, eps)| range::contributes(**pole, **eps)).count();
        assert_eq!(sorted.poles.len(), contributing);
        let (mut told, mut discs) = (0, 0);
        for part in &sorted.parts {
            let own = part.begin as usize..part.end as usize;
            if !part.radius.is_nan() {
                let off = |at: usize| (sorted.poles[at].wtilde - part.middle).norm();
                assert!(own.clone().all(|at| off(at) <= part.radius), "{name}: {part:?}");
                assert!(MIN_DISTANCE_OF_DISCS * part.radius <= part.middle.norm());
                discs += 1;
                let bounds = Bounds::for_disc(part, &limits);
                let ways = problem.wx().iter().filter(|w| bounds.far_field(**w, true).is_some());
                told += ways.count() * own.len();
            }
        }
        let all = contributing * problem.wx().len();
        assert!(discs > 0 && told > all / 2, "{name}: {told} of {all} by {discs} discs");
    }
}

/// Of every kind of work, in instructions: moments, the far field, the near field.
#[test]
fn shares_of_sorted_pairs_have_equal_work() {
    let even = Even::new(-10.0, 10.0, 501).unwrap();
    let synthesis = || Synthesis::new(System::find("demo").unwrap(), 1, Bars::NONE);
    let mut source = synthesis();
    let header = even.apply_to(source.header());
    source.set_header(header);
    let problem = source.load().unwrap();
    let (limits, nw, devices) = (problem.limits(), problem.nw(), 2);
    let work = |device: usize| {
        let share = problem.slab().shared(Id::unique(), [device, devices]);
        let sorted = SortedCells::for_slab(&problem, share, EVEN_ON_GPU, true).unwrap();
        let ClusterPairs::Real(poles, parts) = sorted.pairs() else { panic!("poles are real") };
        let of_part = |part: &Interval| {
            let far = |at: usize| {
                let both = |w, occupied| way(w, part, occupied, &limits);
                FarField::alone(part, both, [problem.wx()[at], problem.occ()[at / nw]]).is_some()
            };
            let far = (0..problem.wx().len()).filter(|&at| far(at)).count();
            let near = (part.end - part.begin) as usize * (problem.wx().len() - far);
            60 * far + 150 * near
        };
        let moments = 24 * poles.len() * problem.header().nbands;
        (poles.len(), moments + parts.iter().map(of_part).sum::<usize>())
    };
    let (pairs, work): (Vec<_>, Vec<_>) = (0..devices).map(work).unzip();
    let sorted = SortedCells::for_slab(&problem, problem.slab(), EVEN_ON_GPU, true).unwrap();
    let ClusterPairs::Real(poles, _) = sorted.pairs() else { panic!("poles are real") };
    assert_eq!(pairs.iter().sum::<usize>(), poles.len());
    let mean = work.iter().sum::<usize>() as f64 / devices as f64;
    assert!(work.iter().all(|&work| work as f64 <= 1.05 * mean), "{work:?}");
}
