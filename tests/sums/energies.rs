//! Any number of energies: every version against the serial reference, and batches that do not depend on each other.

use gpp::catalogue::{self, BackEnd, best, best_for};
use gpp::kernels::plan::Poles;
use gpp::kernels::sigma::real::far_field;
use gpp::kernels::sigma::{FarField, Interval as Part};
use gpp::problem::synthesis::{self, Synthesis};
use gpp::problem::{
    Batch, EVEN_ON_GPU, Even, Extents, Outline, Problem, SortedCells, Source, Sums, System,
};
use gpp::record::run::{Measurement, RunRecord};
use gpp::{record, reference};

use crate::common::{self, EnergyGrid, Kind, QUIET, json, made, repository};
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
    [&sums.asx[energies.clone()], &sums.ach[energies]].map(common::on_device::bits).concat()
}

#[test]
fn a_batch_has_the_same_bits_whatever_the_others_are() {
    for (kind, grid) in [(Kind::Mixed, uneven(7)), (Kind::Real, even(5)), (Kind::Mixed, even(8))] {
        let problem = at(kind, grid);
        let above = problem.header().above_state();
        for version in catalogue::versions() {
            let all = sums(&problem, version);
            for energies in version.energies(problem.outline()) {
                let batch = Batch::new(&problem, energies);
                let energies = batch.energies.clone();
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
    let energies = |of: &str| EnergyGrid::Even(of.parse().unwrap()).apply_to(header).above_state();
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

/// Which part of a problem's terms is summed one by one where pairs are sorted, and how many parts there are.
fn one_by_one(problem: &Problem, alone: bool) -> (f64, usize) {
    let nw = problem.nw();
    let SortedCells::Real(cells) =
        SortedCells::for_slab(problem, problem.slab(), EVEN_ON_GPU, alone).unwrap()
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
            let mut source = synthesis();
            let header = grid.apply_to(source.header());
            source.set_header(header);
            let (part, parts) = one_by_one(&source.load().unwrap(), alone);
            assert!(part <= most, "{name} at {count}: {part} one by one");
            parts as f64
        });
        let found: Vec<f64> = found.collect();
        let (low, high) = found.iter().fold((f64::MAX, 0f64), |(a, b), &n| (a.min(n), b.max(n)));
        assert!(high <= 1.2 * low, "{name}: {found:?} parts");
    }
}

#[test]
fn the_choice_is_the_fastest_of_archived_runs() {
    let mut compared = 0;
    let archive = std::fs::read_dir(repository("data/runs")).unwrap();
    let folders = archive.map(|entry| entry.unwrap().path()).flat_map(|run| {
        ["energies", "energies-wide", "energies-complex", "energies-demo-complex"]
            .map(|name| run.join(name))
    });
    for path in folders.filter(|folder| folder.exists()).flat_map(|folder| json(&folder)) {
        let Ok(run) = record::read::<RunRecord>(&path) else { continue };
        let system = &run.system;
        let is_any = System::find(&system.name).unwrap().complex_modes;
        let extents = Extents { nw: system.nw(), ..System::find(&system.name).unwrap().extents() };
        let poles = if is_any { Poles::Any } else { Poles::Real };
        let header = synthesis::header(System::find(&system.name).unwrap(), 0);
        let least = system.energies_ev.iter().copied().fold(f64::INFINITY, f64::min);
        let least = system.state_ev.unwrap_or(0.0) + least;
        let cut_bands = (0..system.nvband as usize).filter(|&n| header.e(n) > least).count();
        let outline = Outline { extents, cut_bands, poles, lists_once: false };
        let sorts = |result: &Measurement| result.version.starts_with("sigma:");
        if run.results.len() > 1 && run.results.iter().any(sorts) {
            let chosen = best_for(run.head.device.back_end(), outline);
            // v14 is for those who ask for it: its last bits depend on slabs.
            let is_asked = |of: &&Measurement| of.version != "v14" && !of.is_sigma_alone();
            let times = run.results.iter().filter(is_asked).map(|result| result.times.median);
            let least = times.fold(f64::INFINITY, f64::min);
            // No archived run has the versions that came after it.
            let own = run.results.iter().find(|result| result.version == chosen.id());
            let Some(time) = own.map(|own| own.times.median) else { continue };
            assert!(time <= 1.1 * least, "{} at {outline:?}: {time} s, {least} s", chosen.id());
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared} records");
}
