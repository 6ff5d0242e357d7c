//! Small calls read no file and start no thread.

use std::fs;

use crate::common::arrays::{Own, formula, screening};
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
        let calculator = gpp_core::Calculator::open("cpu").unwrap().with_static_ch(true);
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
