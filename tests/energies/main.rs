//! Any number of energies: every version at every energy against the serial reference, and batches of
//! energies whose sums do not depend on the others.

mod cells;
mod choice;
#[path = "../common/mod.rs"]
mod common;

use common::{FIXTURES, Kind, Make, QUIET, fixture, make};
use gpp::catalogue::{self, BackEnd, Kernel, Listed, best};
use gpp::devices::Device;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::kernels::plan::Poles;
use gpp::problem::grid::{Even, OnGrid};
use gpp::problem::memory::MOST_TOGETHER;
use gpp::problem::{Grid, Problem, Source, Sums, file};
use gpp::reference::verify::{Outcome, verify};
use gpp::reference::{self, Reference};

/// A small problem at some energies.
fn at(kind: Kind, grid: Grid) -> Problem {
    let made = Make { nbands: 13, ngpown: 5, ncouls: 37, nw: 2, kind, seed: 9 };
    OnGrid::new(Box::new(make(made)), grid).load().unwrap()
}

/// So many energies at equal distances, across the poles and beyond.
fn even(count: usize) -> Grid {
    let (from, to) = if count == 1 { (0.7, 0.7) } else { (-9.0, 11.0) };
    Grid::Even(Even::new(from, to, count).unwrap())
}

/// So many at other distances, the farther apart the farther from zero.
fn uneven(count: usize) -> Grid {
    let at = |i: usize| i as f64 - (count / 2) as f64;
    Grid::Listed((0..count).map(|i| 0.3 * at(i) + 0.01 * at(i) * at(i).abs() + 0.123).collect())
}

fn sums(problem: &Problem, version: Kernel) -> Sums {
    let device = Host::new();
    Engine::whole(&device, problem).unwrap().run(version).unwrap().sums
}

fn check(problem: &Problem, reference: &Reference, version: Listed) {
    let found = problem.start().plus(&sums(problem, version.kernel));
    let nw = problem.nw();
    assert_eq!((found.asx.len(), found.ach.len()), (nw, nw), "{}", version.id());
    let verification = verify(problem, &found, Some(reference)).unwrap();
    let outcome = verification.outcome;
    assert_eq!(outcome, Outcome::Passed, "{} at {nw}: {verification:?}", version.id());
}

#[test]
fn every_version_at_any_number_of_energies() {
    for kind in [Kind::Mixed, Kind::Real] {
        for count in [1, 2, 3, 4, 7, 31] {
            for grid in [even(count), uneven(count), Grid::Count(count)] {
                let problem = at(kind, grid);
                assert_eq!(problem.nw(), count);
                let reference = reference::of(&problem, QUIET).unwrap().unwrap();
                for version in catalogue::versions() {
                    check(&problem, &reference, version);
                }
            }
        }
    }
}

#[test]
fn fixtures_at_other_energies() {
    for name in FIXTURES {
        for grid in [even(4), uneven(7), Grid::Count(5)] {
            let problem = OnGrid::new(Box::new(fixture(name)), grid).load().unwrap();
            let reference = reference::of(&problem, QUIET).unwrap().unwrap();
            for version in catalogue::versions() {
                check(&problem, &reference, version);
            }
        }
    }
}

#[test]
fn hundreds_of_energies() {
    for kind in [Kind::Mixed, Kind::Real] {
        for grid in [even(501), uneven(501)] {
            let problem = at(kind, grid);
            let reference = reference::of(&problem, QUIET).unwrap().unwrap();
            for id in ["v3", "v13", best(BackEnd::Cpu).id(), "sigma:cells", "sigma:blocks"] {
                check(&problem, &reference, catalogue::find(id).unwrap());
            }
        }
    }
}

/// The bits of both sums at some energies.
fn bits(sums: &Sums, energies: std::ops::Range<usize>) -> Vec<[u64; 2]> {
    let of = |z: &num_complex::Complex64| [z.re.to_bits(), z.im.to_bits()];
    sums.asx[energies.clone()].iter().chain(&sums.ach[energies]).map(of).collect()
}

#[test]
fn a_batch_has_the_same_bits_whatever_the_others_are() {
    for (kind, grid) in [(Kind::Mixed, uneven(7)), (Kind::Real, even(5)), (Kind::Mixed, even(8))] {
        let problem = at(kind, grid);
        let above = problem.header().above_state();
        for version in catalogue::versions() {
            let all = sums(&problem, version.kernel);
            for batch in problem.batches_for(version.kernel).iter() {
                let energies = batch.energies();
                assert!(energies.len() <= version.kernel.holds(problem.frame().poles()));
                let alone = at(kind, Grid::Listed(above[energies.clone()].to_vec()));
                let alone = bits(&sums(&alone, version.kernel), 0..energies.len());
                assert_eq!(bits(&all, energies.clone()), alone, "{} {energies:?}", version.id());
            }
        }
    }
}

#[test]
fn slabs_and_workers_give_the_same_bits_at_all_energies() {
    let made = Make { nbands: 13, ngpown: 85, ncouls: 37, nw: 2, kind: Kind::Mixed, seed: 4 };
    let problem = OnGrid::new(Box::new(make(made)), uneven(7)).load().unwrap();
    let device = Host::new();
    for id in ["v9", "v13", "cpu:threads", best(BackEnd::Cpu).id()] {
        let version = catalogue::find(id).unwrap().kernel;
        let whole = sums(&problem, version);
        for (igp, workers) in [(16, 1), (48, 2), (32, 3)] {
            let workers = (0..workers).map(|_| device.worker(&problem).unwrap()).collect();
            let mut engine = Engine::new(&problem, igp, workers).unwrap();
            let parted = engine.run(version).unwrap().sums;
            assert_eq!(bits(&parted, 0..7), bits(&whole, 0..7), "{id}, slabs of {igp}");
        }
    }
}

/// What is evaluated of an energy is what is evaluated of it alone.
#[test]
fn the_reference_at_many_energies_is_that_at_each() {
    let problem = at(Kind::Mixed, uneven(9));
    for evaluate in [
        |problem: &Problem| reference::serial::evaluate(problem.into(), QUIET).unwrap(),
        |problem: &Problem| reference::precise::evaluate(problem.into()).unwrap(),
    ] {
        let all = evaluate(&problem);
        for (iw, above) in problem.header().above_state().into_iter().enumerate() {
            let alone = evaluate(&at(Kind::Mixed, Grid::Listed(vec![above])));
            assert_eq!(bits(&all.sums, iw..iw + 1), bits(&alone.sums, 0..1));
            assert_eq!(all.scale.magnitudes[iw], alone.scale.magnitudes[0]);
        }
    }
}

/// There the formula has 1e-12 eV for the difference.
#[test]
fn an_energy_at_a_bands_own() {
    for kind in [Kind::Mixed, Kind::Real] {
        let problem = at(kind, Grid::Count(2));
        let header = problem.header();
        let found = header.wfnkq_ekq.iter().map(|e| e - header.e_lk);
        let exact = found.filter(|above| header.wfnkq_ekq.contains(&(header.e_lk + above)));
        let energies: Vec<f64> = exact.collect();
        assert!(energies.len() > 4, "{energies:?}");
        let nw = energies.len();
        let problem = at(kind, Grid::Listed(energies));
        assert_eq!(problem.wx().iter().filter(|&&w| w == 1e-12).count(), nw);
        assert!(problem.wx().iter().all(|w| w.abs() >= 1e-12));
        let reference = reference::of(&problem, QUIET).unwrap().unwrap();
        for version in catalogue::versions() {
            check(&problem, &reference, version);
        }
    }
}

/// A pair's term is zero there, whichever batch the energy is in.
#[test]
fn an_energy_on_a_bands_pole() {
    let mut found = 0;
    for seed in 0..40 {
        let made = Make { nbands: 1, ngpown: 1, ncouls: 1, nw: 1, kind: Kind::Real, seed };
        let problem = make(made);
        let (header, pole) = (problem.header(), problem.slab().wtilde()[0].re);
        let e = header.wfnkq_ekq[0];
        let on = e + pole - header.e_lk;
        // Of most poles an energy is a rounding away.
        if pole == 0.0 || header.e_lk + on - e != pole {
            continue;
        }
        found += 1;
        for (nw, at) in [(1, 0), (2, 1), (4, 2), (5, 4)] {
            let energies = (0..nw).map(|iw| on + 0.3 * (iw as f64 - at as f64)).collect();
            let problem = OnGrid::new(Box::new(make(made)), Grid::Listed(energies)).load().unwrap();
            assert_eq!(problem.wx()[at], pole);
            let reference = reference::of(&problem, QUIET).unwrap().unwrap();
            for version in catalogue::versions() {
                check(&problem, &reference, version);
                let sums = sums(&problem, version.kernel);
                for (iw, (asx, ach)) in sums.asx.iter().zip(&sums.ach).enumerate() {
                    let is_zero = asx.norm() == 0.0 && ach.norm() == 0.0;
                    assert_eq!(is_zero, iw == at, "{} at {iw}: {asx} {ach}", version.id());
                }
            }
        }
    }
    assert!(found > 2, "{found} energies on poles");
}

#[test]
fn no_version_holds_more_energies_than_there_is_memory_for() {
    for version in catalogue::versions() {
        for poles in [Poles::Any, Poles::Real] {
            let holds = version.kernel.holds(poles);
            assert!((1..=MOST_TOGETHER).contains(&holds), "{} holds {holds}", version.id());
        }
    }
}

#[test]
fn files_come_back_with_all_energies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("many.dat");
    for count in [1, 2, 4, 7, 501] {
        let problem = at(Kind::Mixed, Grid::Count(count));
        let sums = reference::of(&problem, QUIET).unwrap().unwrap().sums;
        file::write(&path, &problem, &sums, QUIET).unwrap();
        let copy = file::read(&path, QUIET).unwrap();
        assert_eq!(copy.frame().bands(), problem.frame().bands());
        assert_eq!(copy.frame().start(), problem.frame().start());
        assert_eq!(copy.frame().stored(), Some(&sums));
    }
    let listed = at(Kind::Mixed, uneven(3));
    let refused = file::write(&path, &listed, &Sums::zero(3), QUIET).unwrap_err().to_string();
    assert!(refused.contains("nstart, nend, sig_dw and e_lk"), "{refused}");
}

#[test]
fn ends_of_a_grid_are_what_was_given() {
    let energies = |text: &str| {
        let grid = Grid::Even(text.parse().unwrap());
        grid.of(make(SMALL).header()).above_state()
    };
    assert_eq!(energies("-0.1:0.3:3"), [-0.1, -0.1 + 0.4 * 0.5, 0.3]);
    assert_eq!(energies("0.25"), [0.25]);
    assert_eq!(energies("7:7:1"), [7.0]);
    let many = energies("-10:10:501");
    assert_eq!((many.len(), many[0], many[500]), (501, -10.0, 10.0));
    assert!(many.is_sorted_by(|a, b| a < b));
    // The spacing of the problem, from its first energy on.
    let header = make(SMALL).header().clone();
    let counted = Grid::Count(5).of(&header);
    assert_eq!((counted.nstart, counted.nend), (header.nstart, header.nstart + 4));
    assert_eq!(counted.above_state(), [0.0, 1.0, 2.0, 3.0, 4.0]);
}

const SMALL: Make = Make { nbands: 3, ngpown: 1, ncouls: 2, nw: 2, kind: Kind::First, seed: 1 };

#[test]
fn energies_that_are_none() {
    for (text, needed) in [
        ("", "needs FROM:TO:COUNT"),
        ("1:2", "needs FROM:TO:COUNT"),
        ("1:2:3:4", "needs FROM:TO:COUNT"),
        ("a:2:3", "FROM needs a finite number, found `a`"),
        ("nan", "FROM needs a finite number, found `nan`"),
        ("1:inf:3", "TO needs a finite number, found `inf`"),
        ("-1e308:1e308:3", "TO − FROM needs a finite number"),
        ("1:2:0", "COUNT needs a whole number from 1 to 100000, found `0`"),
        ("1:2:-3", "found `-3`"),
        ("1:2:100001", "from 1 to 100000, found `100001`"),
        ("2:1:3", "several energies need FROM below TO, found 2 and 1"),
        ("1:1:2", "several energies need FROM below TO, found 1 and 1"),
        ("1:2:1", "one energy needs FROM = TO, found 1 and 2"),
    ] {
        let error = text.parse::<Even>().unwrap_err().to_string();
        assert!(error.contains(needed), "{text}: {error}");
    }
    for energies in [vec![], vec![f64::NAN], vec![0.0; 100_001], vec![1e200]] {
        let made = Box::new(make(SMALL));
        assert!(OnGrid::new(made, Grid::Listed(energies)).load().is_err());
    }
}
