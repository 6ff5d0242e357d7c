//! Small calls read no file and start no thread, and sizes for which there is no memory are errors: nothing ends the
//! process.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::c_int;
use std::fs;
use std::process::Command;
use std::time::Instant;

use common::arrays::{Own, formula, screening};
use common::matrices::Given;
use common::{Kind, Make, QUIET, alone, make, repository};
use gpp::problem::{Problem, file};
use gpp_core::{Aqsm, Bands, Calculator, Error, MatrixBands, Sizes};
use num_complex::Complex64;

/// Calls of `read` of this process so far, and the number of the system's youngest thread.
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
        let path = repository(&format!("data/fixtures/real/{name}.dat"));
        let problem = file::read(&path, QUIET).unwrap();
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let aqsm = Aqsm::Local(problem.aqsm_local());
        let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
        let calculator = Calculator::open("cpu").unwrap().with_static_ch(true);
        let mut placed = calculator.place(&given).unwrap();
        let mut before = counts();
        for call in 0..CALLS {
            if call == 1 {
                // The first one starts the threads.
                before = counts();
            }
            calculator.sums(&given, &bands, &own.omega, formula).unwrap();
            calculator.sums_at(&mut placed, &bands, &own.omega, formula).unwrap();
        }
        let after = counts();
        let [reads, threads] = [0, 1].map(|at| after[at] - before[at]);
        assert!(reads < 20, "{name}: {reads} reads");
        // Other processes start some too.
        assert!(threads < CALLS / 2, "{name}: {threads} threads");
    }
}

unsafe extern "C" {
    fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
}

/// Lets this process have so many bytes of addresses beside those that it has; any number without.
fn limit(beside: Option<u64>) {
    const RLIMIT_AS: c_int = 9;
    let pages = || fs::read_to_string("/proc/self/statm").unwrap();
    let own = || pages().split(' ').next().unwrap().parse::<u64>().unwrap() * 4096;
    let most = beside.map_or(u64::MAX, |beside| own() + beside);
    // SAFETY: it reads two numbers, the limit now and the largest one allowed.
    assert_eq!(unsafe { setrlimit(RLIMIT_AS, &[most, u64::MAX]) }, 0);
}

/// What a call comes to.
fn is_refused<T>(call: impl FnOnce() -> gpp::Result<T>) -> bool {
    match call() {
        Ok(_) => false,
        Err(Error::Memory { place: "host", .. } | Error::Threads { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

/// All calls under limits of the address space.
fn calls(problem: &Problem) {
    let (own, given, formula) = (Own::of(problem), screening(problem), formula(problem));
    let aqsm = Aqsm::Whole(&own.aqsmtemp);
    let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
    let of_matrix = Given::of(problem, 100, 1);
    let of_matrix = MatrixBands { a: &of_matrix.all, e: &own.e, occ: &own.occ, at_bands: false };
    let mut masked = given.indinv.to_vec();
    let half = masked.len() / 2;
    masked[..half].fill(0);
    let masked = gpp_core::Screening { indinv: &masked, ..given };
    let mut tiny = given.eps.to_vec();
    tiny[0] = Complex64::new(1e-200, 0.0);
    let replaced = gpp_core::Screening { eps: &tiny, ..given };
    let mut is_any_refused = false;
    for version in ["cpu:paired", "sigma:cells", "cpu:threads", "v13"] {
        let calculator =
            Calculator::open("cpu").unwrap().with_version(version).unwrap().with_static_ch(true);
        let small: Vec<f64> = own.omega[..1].to_vec();
        let all = |omega: &[f64]| -> [bool; 5] {
            let mut placed = None;
            [
                is_refused(|| calculator.sums(&given, &bands, omega, formula)),
                is_refused(|| calculator.sums(&masked, &bands, omega, formula)),
                is_refused(|| calculator.sums(&replaced, &bands, omega, formula)),
                is_refused(|| calculator.place(&given).map(|of| placed = Some(of))),
                is_refused(|| {
                    let Some(placed) = &mut placed else { return Ok(()) };
                    calculator.sums_at(placed, &bands, omega, formula)?;
                    calculator.matrix_at(placed, &of_matrix, &omega[..1], formula).map(drop)
                }),
            ]
        };
        // Threads start, and have what they keep.
        assert_eq!(all(&small), [false; 5], "{version}");
        for mib in [1, 2, 4, 8, 16, 32, 64, 1024] {
            limit(Some(mib << 20));
            let refused = all(&own.omega);
            limit(None);
            println!("{version}, {mib} MiB: {refused:?}");
            is_any_refused |= refused.contains(&true);
            assert!(mib < 1024 || refused == [false; 5], "{version}, {mib} MiB: {refused:?}");
        }
    }
    assert!(is_any_refused);
}

/// Marks the process that limits itself.
const LIMITED: &str = "GPP_TEST_LIMITED";

#[test]
fn what_finds_no_memory_is_refused() {
    let _turn = alone();
    if std::env::var_os(LIMITED).is_some() {
        let kind = Kind::Real;
        calls(&make(Make { nbands: 24, ngpown: 256, ncouls: 1000, nw: 3, kind, seed: 1 }));
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    let again = again.args(["what_finds_no_memory_is_refused", "--exact", "--nocapture"]);
    let output = again.env(LIMITED, "1").output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{:?}\n{out}\n{err}", output.status);
}

/// Sizes are computed: however large they are, nothing is allocated for them.
#[test]
fn sizes_that_no_problem_has_are_refused_at_once() {
    let _turn = alone();
    let calculator = Calculator::open("cpu").unwrap();
    let of = |[ncouls, ngpown, nbands, nw]: [usize; 4]| {
        let (screening_lent, bands_lent) = (false, false);
        let sizes = Sizes { ncouls, ngpown, nbands, nw, screening_lent, bands_lent };
        let begin = Instant::now();
        let said = calculator.workspace(sizes);
        assert!(begin.elapsed().as_secs_f64() < 0.05, "{sizes:?}");
        said
    };
    for version in ["best", "v0", "v13", "sigma:blocks", "sigma:cells"] {
        let calculator = calculator.clone().with_version(version).unwrap();
        let (screening_lent, bands_lent) = (false, false);
        let sizes = Sizes {
            ncouls: 1000,
            ngpown: 1000,
            nbands: 20_000,
            nw: 10_000,
            screening_lent,
            bands_lent,
        };
        let said = calculator.workspace(sizes).unwrap();
        // Energies of all bands alone.
        assert!(said.host > 8 * 20_000 * 10_000, "{version}: {said:?}");
    }
    let large = 1_000_000_000_000;
    for sizes in [
        [large, large, 10, 3],
        [10, 10, large, 3],
        [10, 10, 10, large],
        [10, 10, 10, 0],
        [usize::MAX; 4],
        [1 << 17, 1 << 16, 1, 1],
    ] {
        assert!(matches!(of(sizes), Err(Error::Problem { .. })), "{sizes:?}");
    }
    for nothing in [[0, 10, 10, 3], [10, 0, 10, 3], [1000, 10, 0, 3]] {
        assert_eq!(of(nothing).unwrap().host, 0, "{nothing:?}");
    }
}
