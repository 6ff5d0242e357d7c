//! Any number of energies: every version at every energy against the serial reference, and batches of
//! energies whose sums do not depend on the others.

mod cells;
mod choice;

use gpp::catalogue::{self, BackEnd, best};
use gpp::problem::{EnergyGrid, Even, Problem, Sums};
use gpp::reference;

use crate::common::{self, Kind, QUIET, made};
use crate::{check, failures_of, referenced, sums};

fn at(kind: Kind, grid: EnergyGrid) -> Problem {
    common::at(&made([13, 5, 37, 2], kind, 9), &grid).unwrap()
}

/// So many energies at equal distances, across the poles and beyond.
fn even(count: usize) -> EnergyGrid {
    let (from, to) = if count == 1 { (0.7, 0.7) } else { (-9.0, 11.0) };
    EnergyGrid::Even(Even::new(from, to, count).unwrap())
}

/// So many at other distances, the farther apart the farther from zero.
fn uneven(count: usize) -> EnergyGrid {
    let at = |i: usize| i as f64 - (count / 2) as f64;
    let energy = |i| 0.3 * at(i) + 0.01 * at(i) * at(i).abs() + 0.123;
    EnergyGrid::Listed((0..count).map(energy).collect())
}

#[test]
fn every_version_at_any_number_of_energies() {
    for kind in [Kind::Mixed, Kind::Real] {
        for count in [1, 2, 3, 4, 7, 31] {
            for grid in [even(count), uneven(count), EnergyGrid::Count(count)] {
                let problem = at(kind, grid);
                assert_eq!(problem.nw(), count);
                check(&problem);
            }
        }
    }
}

#[test]
fn hundreds_of_energies() {
    for kind in [Kind::Mixed, Kind::Real] {
        for grid in [even(501), uneven(501)] {
            let problem = at(kind, grid);
            let ids = ["v3", "v13", best(BackEnd::Cpu).id()].map(|id| catalogue::find(id).unwrap());
            let sorts = catalogue::versions().filter(|version| version.sorts(problem.poles()));
            let versions = ids.into_iter().chain(sorts);
            assert_eq!(failures_of(versions, &problem, &referenced(&problem)), [""; 0]);
        }
    }
}

fn bits(sums: &Sums, energies: std::ops::Range<usize>) -> Vec<[u64; 2]> {
    let both = [&sums.asx[energies.clone()], &sums.ach[energies]];
    both.map(crate::common::on_device::bits).concat()
}

#[test]
fn a_batch_has_the_same_bits_whatever_the_others_are() {
    for (kind, grid) in [(Kind::Mixed, uneven(7)), (Kind::Real, even(5)), (Kind::Mixed, even(8))] {
        let problem = at(kind, grid);
        let above = problem.header().above_state();
        for version in catalogue::versions() {
            let all = sums(&problem, version);
            for batch in version.batches(&problem).iter() {
                let energies = batch.energies();
                assert!(energies.len() <= version.holds(problem.poles()));
                let alone = at(kind, EnergyGrid::Listed(above[energies.clone()].to_vec()));
                let alone = bits(&sums(&alone, version), 0..energies.len());
                assert_eq!(bits(&all, energies.clone()), alone, "{} {energies:?}", version.id());
            }
        }
    }
}

#[test]
fn the_reference_at_many_energies_is_that_at_each() {
    let problem = at(Kind::Mixed, uneven(9));
    let evaluate = |problem: &Problem| reference::evaluate(problem, QUIET).unwrap();
    let all = evaluate(&problem);
    for (iw, above) in problem.header().above_state().into_iter().enumerate() {
        let alone = evaluate(&at(Kind::Mixed, EnergyGrid::Listed(vec![above])));
        assert_eq!(bits(&all.sums, iw..iw + 1), bits(&alone.sums, 0..1));
        assert_eq!(all.scale.magnitudes[iw], alone.scale.magnitudes[0]);
    }
}

/// A pair's term is zero there, whichever batch the energy is in.
#[test]
fn an_energy_on_a_bands_pole() {
    let mut found = 0;
    for seed in 0..40 {
        let problem = made([1, 1, 1, 1], Kind::Real, seed);
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
            let problem = common::at(&problem, &EnergyGrid::Listed(energies)).unwrap();
            assert_eq!(problem.wx()[at], pole);
            check(&problem);
            for version in catalogue::versions() {
                let sums = sums(&problem, version);
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
fn ends_of_a_grid_are_what_was_given() {
    let small = made([3, 1, 2, 2], Kind::First, 1);
    let header = small.header();
    let energies =
        |text: &str| EnergyGrid::Even(text.parse().unwrap()).apply_to(header).above_state();
    assert_eq!(energies("-0.1:0.3:3"), [-0.1, 0.1, 0.3]);
    assert_eq!(energies("0.07:0.35:5"), [0.07, 0.14, 0.21, 0.28, 0.35]);
    assert_eq!(energies("-50:50:101"), (-50..=50).map(f64::from).collect::<Vec<_>>());
    assert_eq!(energies("0.25"), [0.25]);
    assert_eq!(energies("7:7:1"), [7.0]);
    let many = energies("-10:10:501");
    assert_eq!((many.len(), many[0], many[500]), (501, -10.0, 10.0));
    assert!(many.is_sorted_by(|a, b| a < b));
    let at = |i: usize| format!("{}e-2", 4 * i as i32 - 1000).parse::<f64>().unwrap();
    assert!((0..=500).all(|i| many[i] == at(i)));
    let counted = EnergyGrid::Count(5).apply_to(header);
    assert_eq!((counted.nstart, counted.nend), (header.nstart, header.nstart + 4));
    assert_eq!(counted.above_state(), [0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn energies_that_are_none() {
    for (text, needed) in [
        ("", "needs FROM:TO:COUNT"),
        ("1:2:3:4", "needs FROM:TO:COUNT"),
        ("a:2:3", "FROM needs a finite number, found `a`"),
        ("-1e308:1e308:3", "TO − FROM needs a finite number"),
        ("1:2:-3", "found `-3`"),
        ("1:1:2", "several energies need FROM below TO, found 1 and 1"),
    ] {
        let error = text.parse::<Even>().unwrap_err().to_string();
        assert!(error.contains(needed), "{text}: {error}");
    }
    for energies in [vec![], vec![f64::NAN], vec![0.0; 100_001], vec![1e200]] {
        let small = made([3, 1, 2, 2], Kind::First, 1);
        assert!(common::at(&small, &EnergyGrid::Listed(energies)).is_err());
    }
}
