//! CH of each band and the static CH: every kernel of them against the formula, in slabs and on workers with the same bits.

use gpp::catalogue::BackEnd;
use gpp::devices::cpu::CpuDevice;
use gpp::problem::Problem;
use num_complex::Complex64;

use crate::common::arrays::{Own, formula, screening, synthesised};
use crate::common::families::{FAMILIES, family};
use crate::common::on_device::{assert_of_bands, bits, by_formula, compare, of_bands, rounding};
use crate::common::{EnergyGrid, FIXTURES, KINDS, Kind, fixture, hard, made};

const KERNELS: [BackEnd; 2] = [BackEnd::Cpu, BackEnd::Gpu];

fn problems() -> Vec<Problem> {
    let system = |name| synthesised(name, EnergyGrid::Count(2));
    let sizes = [(1, 1, 1), (7, 16, 32), (70, 17, 33), (19, 85, 70), (130, 5, 9), (2, 33, 600)];
    let sizes = KINDS.into_iter().zip(sizes.into_iter().cycle());
    let made = sizes.map(|(kind, (n, igp, ig))| made([n, igp, ig, 2], kind, 3));
    let families = FAMILIES.into_iter().flat_map(|kind| (0..4).map(move |seed| family(kind, seed)));
    let files = hard().into_iter().map(|name| fixture(&name));
    let all = ["tiny", "tiny-complex", "demo"].into_iter().map(system).chain(made).chain(families);
    all.chain(FIXTURES.into_iter().map(fixture)).chain(files).collect()
}

#[test]
fn kernels_find_the_sum_of_each_band() {
    let problems = problems();
    assert!(problems.len() > 50, "{}", problems.len());
    for problem in &problems {
        let (ngpown, host) = (problem.header().ngpown, CpuDevice::new());
        for at in [None, Some(0), Some(problem.nw() - 1)] {
            for by in KERNELS {
                let found = of_bands(&host, (problem, at), by, ngpown, 1).unwrap();
                assert_of_bands(&format!("{by:?}"), (problem, at), &found);
            }
        }
    }
}

#[test]
fn slabs_workers_and_threads_change_no_bit() {
    for by in KERNELS {
        compare(&CpuDevice::new(), by).unwrap();
    }
    let problem = made([70, 85, 70, 2], Kind::Mixed, 12);
    for at in [None, Some(1)] {
        let on = |host: CpuDevice| of_bands(&host, (&problem, at), BackEnd::Cpu, 85, 1).unwrap();
        let whole = on(CpuDevice::new());
        for threads in [1, 3] {
            let host = CpuDevice::new();
            host.team().set(threads);
            assert_eq!(bits(&on(host)), bits(&whole));
        }
        for level in gpp_cpu::simd::Level::available() {
            assert_of_bands(level.name(), (&problem, at), &on(CpuDevice::at(level)));
        }
    }
}

#[test]
fn a_call_that_asks_for_it_gets_it() {
    let calls = ["tiny", "tiny-complex"].map(|name| synthesised(name, EnergyGrid::Count(5)));
    let masked = ["real/gaas-skipped", "real/silicon-spin"].map(fixture);
    for problem in calls.into_iter().chain(masked) {
        let own = Own::of(&problem);
        let (given, formula, nw) = (screening(&problem), formula(&problem), problem.nw());
        let (host, igp) = (CpuDevice::new(), problem.header().ngpown);
        let expected = |at| of_bands(&host, (&problem, at), BackEnd::Cpu, igp, 1).unwrap();
        let (static_ch, ach) = (expected(None), expected(Some(nw - 1)));
        let sizes: f64 = by_formula(&problem, Some(nw - 1)).iter().map(|(_, [size, _])| size).sum();
        for version in ["best", "v0", "v13", "cpu:paired", "sigma:cells", "sigma:blocks"] {
            let without = gpp_core::Calculator::open("cpu").unwrap().with_version(version).unwrap();
            let alone = without.sums(&given, &own.bands(&problem), &own.omega, formula).unwrap();
            assert_eq!((alone.static_ch, alone.ach_of_bands), (None, None));
            let with = without.clone().with_static_ch(true).with_ach_of_bands(Some(nw - 1));
            let (mut placed, bands) = (with.place(&given).unwrap(), own.whole(&problem));
            let found = with.sums_at(&mut placed, &bands, &own.omega, formula).unwrap();
            assert_eq!(found.static_ch.as_deref().map(bits), Some(bits(&static_ch)), "{version}");
            let of_bands = found.ach_of_bands.unwrap();
            assert_eq!(bits(&of_bands), bits(&ach), "{version}");
            let off = (of_bands.iter().sum::<Complex64>() - found.sums.ach[nw - 1]).norm();
            let allowed = 2.0 * rounding(&problem) * sizes;
            assert!(off <= allowed, "{version} of {}: {off}, not {allowed}", problem.name());
            // The best of a placed screening may be another version.
            if version != "best" {
                assert_eq!((found.sums, found.version), (alone.sums, alone.version));
            }
            let past = with.with_ach_of_bands(Some(nw)).with_index_base(1);
            let error = past.sums(&given, &bands, &own.omega, formula).unwrap_err().to_string();
            let expected = format!("needs an index of omega, 1 to {nw}; found {}", nw + 1);
            assert!(error.contains(&expected), "{error}");
        }
    }
}
