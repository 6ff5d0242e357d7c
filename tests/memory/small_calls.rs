//! Small calls read no file and start no thread, and sizes are computed without an allocation.

use std::fs;
use std::time::Instant;

use gpp_core::{Calculator, Error};

use crate::common::arrays::{Own, formula, screening, sizes};
use crate::common::{alone, fixture};

fn counts() -> [u64; 2] {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let reads = io.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    [reads, load.split_whitespace().last().unwrap()].map(|number| number.parse().unwrap())
}

const CALLS: u64 = 2000;

#[test]
fn small_calls_read_no_file_and_start_no_thread() {
    let _turn = alone();
    for name in ["silicon-spin", "silicon-offdiag"] {
        let problem = fixture(&format!("real/{name}"));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let bands = own.bands(&problem);
        let calculator = Calculator::open("cpu").unwrap().with_static_ch(true);
        let calculator = calculator.with_ach_of_bands(Some(0));
        let mut placed = calculator.place(&given).unwrap();
        let mut before = counts();
        for call in 0..CALLS {
            if call == 1 {
                before = counts();
            }
            calculator.sums(&given, &bands, &own.omega, formula).unwrap();
            calculator.sums_at(&mut placed, &bands, &own.omega, formula).unwrap();
        }
        let after = counts();
        let [reads, threads] = [0, 1].map(|at| after[at] - before[at]);
        assert!(reads < 20, "{name}: {reads} reads");
        assert!(threads < CALLS / 2, "{name}: {threads} threads");
    }
}

#[test]
fn sizes_that_no_problem_has_are_refused_at_once() {
    let _turn = alone();
    let calculator = Calculator::open("cpu").unwrap();
    let of = |extents: [usize; 4]| {
        let begin = Instant::now();
        let said = calculator.workspace(sizes(extents));
        assert!(begin.elapsed().as_secs_f64() < 0.05, "{extents:?}");
        said
    };
    for version in ["best", "v0", "v13", "sigma:blocks", "sigma:cells"] {
        let calculator = calculator.clone().with_version(version).unwrap();
        let said = calculator.workspace(sizes([1000, 1000, 20_000, 10_000])).unwrap();
        // Energies of all bands alone.
        assert!(said.host > 8 * 20_000 * 10_000, "{version}: {said:?}");
    }
    let large = 1_000_000_000_000;
    for extents in [
        [large, large, 10, 3],
        [10, 10, large, 3],
        [10, 10, 10, large],
        [10, 10, 10, 0],
        [usize::MAX; 4],
        [1 << 17, 1 << 16, 1, 1],
    ] {
        assert!(matches!(of(extents), Err(Error::Input { .. })), "{extents:?}");
    }
    for nothing in [[0, 10, 10, 3], [10, 0, 10, 3], [1000, 10, 0, 3]] {
        assert_eq!(of(nothing).unwrap().host, 0, "{nothing:?}");
    }
}
