//! The static CH: every kernel of it against sums written out here, in slabs and on workers with the same bits.

use gpp::catalogue::{self, BackEnd};
use gpp::devices::cpu::CpuDevice;
use gpp::problem::{EnergyGrid, Problem};
use gpp::reference::{Outcome, StaticCh, static_ch as reference, verify_static_ch};
use gpp_core::Calculator;
use gpp_cpu::simd::Level;
use num_complex::Complex64;

use crate::common::arrays::{Own, formula, screening, synthesised};
use crate::common::on_device::{bits, compare, found};
use crate::common::{FIXTURES, KINDS, Kind, QUIET, fixture, hard, made};

const KERNELS: [BackEnd; 2] = [BackEnd::Cpu, BackEnd::Gpu];

fn problems() -> Vec<Problem> {
    let system = |name| synthesised(name, EnergyGrid::Count(2));
    let sizes = [(1, 1, 1), (7, 16, 32), (70, 17, 33), (19, 85, 70), (130, 5, 9)];
    let sizes = KINDS.into_iter().zip(sizes.into_iter().cycle());
    let made = sizes.map(|(kind, (n, igp, ig))| made([n, igp, ig, 2], kind, 3));
    let files = hard().into_iter().map(|name| fixture(&name));
    let all = ["tiny", "tiny-complex", "demo"].into_iter().map(system).chain(made);
    all.chain(FIXTURES.into_iter().map(fixture)).chain(files).collect()
}

/// The sum in another order than any kernel's: over bands and columns of the sums over G. And Σ|terms|.
fn by_definition(problem: &Problem) -> (Complex64, f64) {
    let header = problem.header();
    let (mut sum, mut size) = (Complex64::ZERO, 0.0);
    for (n, aqsn) in problem.aqsn().chunks_exact(header.ncouls).enumerate() {
        for (igp, eps) in problem.eps().chunks_exact(header.ncouls).enumerate() {
            let aqsm = problem.aqsm_local()[n * header.ngpown + igp];
            let factor = aqsm.conj() * problem.vcoul_loc()[igp] * -0.5;
            let over_ig: Complex64 = eps.iter().zip(aqsn).map(|(eps, aqsn)| eps * aqsn).sum();
            let sizes = eps.iter().zip(aqsn).map(|(eps, aqsn)| eps.norm() * aqsn.norm());
            sum += factor * over_ig;
            size += factor.norm() * sizes.sum::<f64>();
        }
    }
    (sum, size)
}

#[test]
fn kernels_and_the_reference_find_the_sum() {
    let problems = problems();
    assert!(problems.len() > 25, "{}", problems.len());
    for problem in &problems {
        let (name, ngpown) = (problem.name(), problem.header().ngpown);
        let (expected, size) = by_definition(problem);
        let roundings = (256 + 2 * problem.header().nbands + problem.header().ncouls) as f64;
        let near = |what: &str, found: Complex64| {
            let off = (found - expected).norm();
            assert!(
                off <= f64::EPSILON * roundings * size + 1e-300,
                "{what} of {name}: {found}, not {expected}"
            );
        };
        let StaticCh { sum, magnitude } = reference(problem, QUIET).unwrap();
        near("the reference", sum);
        let is_alike = (0.99 * size..=2.01 * size).contains(&magnitude);
        assert!(is_alike || size < 1e-200, "{name}: {magnitude}, {size}");
        let judged = |found| verify_static_ch(problem, found, Some(StaticCh { sum, magnitude }));
        for back_end in KERNELS {
            let kernel = catalogue::static_ch(back_end);
            let found = found(&CpuDevice::new(), problem, kernel, ngpown, 1).unwrap();
            near(&format!("{back_end:?}"), found);
            assert_eq!(judged(found).outcome, Outcome::Passed, "{name}");
        }
        if size > 1e-200 {
            let off = Complex64::new(sum.re + 1e-3 * size, sum.im);
            assert_eq!(judged(off).outcome, Outcome::Incorrect, "{name}");
            let none = Complex64::new(f64::NAN, 0.0);
            assert_eq!(judged(none).outcome, Outcome::Incorrect, "{name}");
        }
    }
}

#[test]
fn slabs_workers_and_threads_change_no_bit() {
    for back_end in KERNELS {
        compare(&CpuDevice::new(), catalogue::static_ch(back_end)).unwrap();
    }
    let problem = made([70, 85, 70, 2], Kind::Mixed, 12);
    let kernel = catalogue::static_ch(BackEnd::Cpu);
    let on = |host: CpuDevice| found(&host, &problem, kernel, 85, 1).unwrap();
    let whole = on(CpuDevice::new());
    for threads in [1, 3] {
        assert_eq!(bits(on(CpuDevice::new().with_threads(threads))), bits(whole));
    }
    let (_, size) = by_definition(&problem);
    for level in Level::available() {
        assert!((on(CpuDevice::at(level)) - whole).norm() <= 1e-13 * size, "{level}");
    }
}

#[test]
fn a_call_that_asks_for_it_gets_it() {
    for name in ["tiny", "tiny-complex"] {
        let problem = synthesised(name, EnergyGrid::Count(5));
        let own = Own::of(&problem);
        let (given, formula) = (screening(&problem), formula(&problem));
        let kernel = catalogue::static_ch(BackEnd::Cpu);
        let ngpown = problem.header().ngpown;
        let expected = found(&CpuDevice::new(), &problem, kernel, ngpown, 1).unwrap();
        for version in ["best", "v0", "v13", "cpu:paired", "sigma:cells", "sigma:blocks"] {
            let without = Calculator::open("cpu").unwrap().with_version(version).unwrap();
            let with = without.clone().with_static_ch(true);
            let alone = without.sums(&given, &own.bands(&problem), &own.omega, formula).unwrap();
            assert_eq!(alone.static_ch, None);
            let mut placed = with.place(&given).unwrap();
            let bands = own.whole(&problem);
            let found = with.sums_at(&mut placed, &bands, &own.omega, formula).unwrap();
            assert_eq!(found.static_ch.map(bits), Some(bits(expected)), "{version}");
            assert_eq!((found.sums, found.version), (alone.sums, alone.version));
        }
    }
}
