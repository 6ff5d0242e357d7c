//! The static CH: every kernel of it against sums written out here, in slabs and on workers with the same bits, and
//! against the CH of poles that no energy reaches.

mod common;

use std::fs;

use common::arrays::{Own, formula, screening, synthesised};
use common::static_ch::{bits, compare, found};
use common::{FIXTURES, HARD, KINDS, Kind, Make, QUIET, fixture, hard_path, make, repository};
use gpp::catalogue::{self, BackEnd};
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::kernels::plan::Poles;
use gpp::kernels::versions::{self, v13};
use gpp::problem::file::read;
use gpp::problem::{Grid, Matrices, Origin, Problem};
use gpp::reference::verify::{Outcome, verify_static_ch};
use gpp::reference::{StaticCh, static_ch as reference};
use gpp_core::{Aqsm, Bands, Calculator};
use gpp_cpu::level::Level;
use num_complex::Complex64;

const KERNELS: [BackEnd; 2] = [BackEnd::Cpu, BackEnd::Gpu];

/// Built-in systems, files, dumps of real calls, and problems of every kind and of awkward extents.
fn problems() -> Vec<Problem> {
    let system = |name| synthesised(name, Grid::Count(2));
    let extents = [(1, 1, 1), (7, 16, 32), (70, 17, 33), (19, 85, 70), (130, 5, 9)];
    let made = KINDS.into_iter().zip(extents.into_iter().cycle());
    let made = made.map(|(kind, (nbands, ngpown, ncouls))| {
        make(Make { nbands, ngpown, ncouls, nw: 2, kind, seed: 3 })
    });
    let files = HARD.into_iter().map(hard_path).chain(real());
    let files = files.filter_map(|path| read(&path, QUIET).ok());
    let all = ["tiny", "tiny-complex", "demo"].into_iter().map(system).chain(made);
    all.chain(FIXTURES.into_iter().map(fixture)).chain(files).collect()
}

/// Dumps of BerkeleyGW's own calls.
fn real() -> Vec<std::path::PathBuf> {
    let folder = fs::read_dir(repository("data/fixtures/real"));
    let all = folder.into_iter().flatten().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "dat")).collect()
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
            let found = found(&Host::new(), problem, kernel, ngpown, 1).unwrap();
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
        compare(&Host::new(), catalogue::static_ch(back_end)).unwrap();
    }
    let made = Make { nbands: 70, ngpown: 85, ncouls: 70, nw: 2, kind: Kind::Mixed, seed: 12 };
    let problem = make(made);
    let kernel = catalogue::static_ch(BackEnd::Cpu);
    let on = |host: Host| found(&host, &problem, kernel, 85, 1).unwrap();
    let whole = on(Host::new());
    for threads in [1, 3] {
        assert_eq!(bits(on(Host::new().with_threads(threads))), bits(whole));
    }
    let (_, size) = by_definition(&problem);
    for level in Level::available() {
        assert!((on(Host::at(level)) - whole).norm() <= 1e-13 * size, "{level}");
    }
}

#[test]
fn it_is_none_of_the_versions() {
    assert!(catalogue::find("static_ch").is_none());
    let (gpu, kernel, _) = versions::find("gpp_static_ch").unwrap();
    assert_eq!(gpu.id(), "static_ch");
    for poles in [Poles::Any, Poles::Real] {
        assert!(std::ptr::eq(gpu.kernel(poles), &gpu.kernels[0]));
        // Slabs that suit v13 suit it.
        assert_eq!(kernel.igp_of_group(), v13::GPU.kernel(poles).igp_of_group());
    }
    assert_eq!(kernel.holds(), 1);
}

/// Where all poles are far beyond all energies, ω̃/(w − ω̃) is −1: CH is the static one.
#[test]
fn it_is_the_ch_of_poles_that_no_energy_reaches() {
    let problem =
        make(Make { nbands: 9, ngpown: 21, ncouls: 40, nw: 2, kind: Kind::Real, seed: 5 });
    let matrices = Matrices {
        wtilde: vec![Complex64::new(1e12, 0.0); problem.wtilde().len()],
        eps: problem.eps().to_vec(),
        aqsn: problem.aqsn().to_vec(),
        aqsm_local: problem.aqsm_local().to_vec(),
    };
    let far = Problem::new("far", Origin::Made, problem.header().clone(), matrices).unwrap();
    let host = Host::new();
    let by_v3 = catalogue::find("v3").unwrap().kernel;
    let ach = Engine::whole(&host, &far).unwrap().run(by_v3).unwrap().sums.ach;
    for back_end in KERNELS {
        let kernel = catalogue::static_ch(back_end);
        let static_ch = found(&host, &problem, kernel, 21, 1).unwrap();
        for ach in &ach {
            assert!((ach - static_ch).norm() <= 1e-10 * static_ch.norm(), "{ach}, {static_ch}");
        }
    }
}

/// Beside the sums of any version, placed or not; these have the bits that they have without it.
#[test]
fn a_call_that_asks_for_it_gets_it() {
    for name in ["tiny", "tiny-complex"] {
        let problem = synthesised(name, Grid::Count(5));
        let own = Own::of(&problem);
        let (given, formula) = (screening(&problem), formula(&problem));
        let kernel = catalogue::static_ch(BackEnd::Cpu);
        let ngpown = problem.header().ngpown;
        let expected = found(&Host::new(), &problem, kernel, ngpown, 1).unwrap();
        for version in ["best", "v0", "v13", "cpu:paired", "sigma:cells", "sigma:blocks"] {
            let without = Calculator::open("cpu").unwrap().with_version(version).unwrap();
            let with = without.clone().with_static_ch(true);
            let mut placed = with.place(&given).unwrap();
            for aqsm in [Aqsm::Local(problem.aqsm_local()), Aqsm::Whole(&own.aqsmtemp)] {
                let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
                let alone = without.sums(&given, &bands, &own.omega, formula).unwrap();
                assert_eq!(alone.static_ch, None);
                for found in [
                    with.sums(&given, &bands, &own.omega, formula).unwrap(),
                    with.sums_at(&mut placed, &bands, &own.omega, formula).unwrap(),
                ] {
                    assert_eq!(found.static_ch.map(bits), Some(bits(expected)), "{version}");
                    assert_eq!((found.sums, found.version), (alone.sums.clone(), alone.version));
                    assert!(found.seconds > 0.0);
                }
            }
        }
        // It stops as sums do.
        let mut told = Calculator::open("cpu").unwrap().with_static_ch(true);
        told.set_progress(|_| Some(7));
        let aqsm = Aqsm::Local(problem.aqsm_local());
        let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
        let error = told.sums(&given, &bands, &own.omega, formula).unwrap_err();
        assert!(matches!(error, gpp::error::Error::Stopped { code: 7, .. }), "{error}");
    }
}
