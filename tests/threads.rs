//! How many threads compute on a processor, where they may run, and that neither changes a bit.
//! One test, since it counts the threads of its process.
#![cfg(target_os = "linux")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use common::arrays::{Own, formula, screening, synthesised};
use common::matrices::Given;
use gpp::catalogue::{self, BackEnd};
use gpp::problem::{Grid, Problem};
use gpp_core::{Aqsm, Bands, Calculator, Found, FoundMatrix, MatrixBands, Sizes};
use gpp_cpu::topology::mask;

/// The threads of this process: names, and the processors that they may use.
fn threads() -> BTreeMap<String, (String, String)> {
    let of = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let field = |name: &str| {
            Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_string())
        };
        let id = thread.file_name().into_string().ok()?;
        Some((id, (field("Name:")?, field("Cpus_allowed_list:")?)))
    };
    fs::read_dir("/proc/self/task").unwrap().filter_map(|thread| of(thread.unwrap())).collect()
}

/// Whatever a calculator of a processor computes.
fn all(calculator: &mut Calculator, problem: &Problem) -> (Vec<Found>, FoundMatrix) {
    let (own, given, formula) = (Own::of(problem), screening(problem), formula(problem));
    let bands =
        Bands { aqsn: problem.aqsn(), aqsm: Aqsm::Whole(&own.aqsmtemp), e: &own.e, occ: &own.occ };
    let h = problem.header();
    let sizes = Sizes {
        ncouls: h.ncouls,
        ngpown: h.ngpown,
        nbands: h.nbands,
        nw: own.omega.len(),
        screening_lent: false,
        bands_lent: false,
    };
    calculator.workspace(sizes).unwrap();
    let emulated = ["v0", "v13"].into_iter();
    let versions = catalogue::versions().filter(|listed| listed.kernel.back_end() == BackEnd::Cpu);
    let mut found: Vec<Found> = Vec::new();
    for id in emulated.chain(versions.map(|listed| listed.id())) {
        calculator.set_version(id).unwrap();
        found.push(calculator.sums(&given, &bands, &own.omega, formula).unwrap());
        let mut placed = calculator.place(&given).unwrap();
        found.push(calculator.sums_at(&mut placed, &bands, &own.omega, formula).unwrap());
    }
    found.iter_mut().for_each(|found| found.seconds = 0.0);
    let of_matrix = Given::of(problem, 5, 1);
    let of_matrix = MatrixBands { a: &of_matrix.all, e: &own.e, occ: &own.occ, at_bands: false };
    let mut matrix = calculator.matrix(&given, &of_matrix, &own.omega, formula).unwrap();
    matrix.seconds = 0.0;
    (found, matrix)
}

#[test]
fn as_many_threads_as_said_compute_wherever_the_process_may_and_change_no_bit() {
    // Whoever started this may say how many.
    if std::env::var_os("OMP_NUM_THREADS").is_some() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        assert!(again.env_remove("OMP_NUM_THREADS").status().unwrap().success());
        return;
    }
    let problem = synthesised("tiny-complex", Grid::Count(2));
    let own = mask();
    let room = Calculator::open("cpu").unwrap().threads();
    assert!(1 <= room && room <= own.len());
    // They stay open, each with a number of its own.
    let mut calculators = Vec::new();
    let mut expected = None;
    for count in [3, 1, 2] {
        let before = threads();
        let mut calculator = Calculator::open("cpu").unwrap().with_threads(count).unwrap();
        assert_eq!(calculator.threads(), count);
        let found = all(&mut calculator, &problem);
        assert!(found == *expected.get_or_insert(found.clone()), "{count} threads");
        let started: Vec<_> =
            threads().into_iter().filter(|(id, _)| !before.contains_key(id)).collect();
        let names: Vec<&str> = started.iter().map(|(_, (name, _))| &name[..]).collect();
        assert_eq!(started.len(), count, "{names:?}");
        for (_, (name, allowed)) in &started {
            assert!(name.starts_with("gpp-cpu-"), "{names:?}");
            // Bound to no core: where the process runs they do, whoever else runs there.
            assert_eq!(*allowed, threads()[&std::process::id().to_string()].1, "{name}");
        }
        calculators.push((count, calculator));
    }
    for (count, calculator) in &mut calculators {
        assert_eq!(calculator.threads(), *count);
        assert!(Some(all(calculator, &problem)) == expected, "{count} threads");
        calculator.set_threads(0).unwrap();
        assert_eq!(calculator.threads(), room);
        assert!(
            Some(all(calculator, &problem)) == expected,
            "as many threads as there is room for"
        );
        let error = calculator.set_threads(65_536).unwrap_err().to_string();
        assert!(error.starts_with("threads: needs 1 to 65535, or 0"), "{error}");
        assert_eq!(calculator.threads(), room);
    }
    assert_eq!(mask(), own, "the caller's processors stay the caller's");
}
