use gpp_cpu::simd::Level;

use super::*;
use crate::devices::cpu::CpuDevice;
use crate::engine::Engine;
use crate::progress::Bars;

/// Milliseconds of whole calls by cpu:simd, cpu:paired and sigma:cells, of 700 × 300 pairs with real poles on one thread
/// with AVX-512: bands and energies, a call alone, one of a placed screening.
const CALLS: [([usize; 2], [[f64; 3]; 2]); 15] = [
    ([1, 1], [[1.09, 3.21, 12.36], [0.36, 1.20, 2.28]]),
    ([1, 2], [[1.41, 3.63, 13.12], [0.67, 1.55, 2.42]]),
    ([1, 8], [[3.29, 11.74, 13.30], [2.53, 5.96, 2.49]]),
    ([2, 1], [[1.39, 3.37, 13.41], [0.66, 1.31, 2.48]]),
    ([2, 2], [[2.02, 3.98, 13.52], [1.26, 1.84, 2.50]]),
    ([2, 8], [[5.72, 13.17, 13.97], [4.91, 7.03, 2.55]]),
    ([4, 1], [[2.01, 3.61, 13.60], [1.26, 1.62, 2.46]]),
    ([4, 2], [[3.1, 4.3, 14.5], [2.44, 2.20, 2.55]]),
    ([4, 8], [[10.45, 14.98, 14.53], [10.01, 8.68, 2.62]]),
    ([8, 1], [[3.23, 3.98, 14.35], [2.44, 1.86, 2.58]]),
    ([8, 2], [[5.69, 4.56, 14.55], [4.83, 2.32, 2.64]]),
    ([8, 8], [[20.19, 15.42, 14.36], [19.57, 9.12, 2.76]]),
    ([60, 1], [[18.61, 6.91, 21.34], [18.17, 4.78, 9.93]]),
    ([60, 2], [[35.63, 8.24, 20.55], [35.12, 6.08, 10.10]]),
    ([60, 8], [[141.55, 28.64, 21.60], [141.53, 22.44, 10.39]]),
];

#[test]
fn the_best_on_a_cpu_is_the_fastest_of_measured_calls() {
    for ([nbands, nw], times) in CALLS {
        for (lists_once, times) in [true, false].into_iter().zip(times) {
            let extents = Extents { nbands, ngpown: 300, ncouls: 700, nw };
            let outline = Outline { extents, cut_bands: 0, poles: Poles::Real, lists_once };
            let id = best_for(BackEnd::Cpu, outline).id();
            let ids = ["cpu:simd", "cpu:paired", "sigma:cells"];
            let at = ids.iter().position(|known| *known == id).expect("one of these");
            let least = times.into_iter().fold(f64::INFINITY, f64::min);
            assert!(times[at] <= 1.2 * least, "{id} at {outline:?}");
        }
    }
}

#[test]
fn batches_have_room_in_constant_memory() {
    let of = |nbands, nw| {
        let extents = Extents { nbands, ngpown: 1, ncouls: 1, nw };
        let outline = Outline { extents, cut_bands: 0, poles: Poles::Real, lists_once: false };
        found("v15").energies(outline).map(|batch| batch.len()).collect::<Vec<_>>()
    };
    assert_eq!([of(2730, 3), of(2731, 3), of(2731, 5)], [vec![3], vec![2, 1], vec![2, 2, 1]]);
    assert_eq!([of(4096, 2), of(4097, 5), of(4097, 1)], [vec![2], vec![3, 2], vec![1]]);
}

#[test]
fn ids_ranges_best_and_versions() {
    let ids = |names: &str| -> Vec<&str> {
        named(names, BackEnd::Gpu).unwrap().iter().map(|version| version.id()).collect()
    };
    assert_eq!(ids("v3"), ["v3"]);
    assert_eq!(ids("v1-v3, v8"), ["v1", "v2", "v3", "v8"]);
    assert_eq!(ids("v2,v1-v2"), ["v2", "v1"]);
    let runs = |back_end| named("v0,all", back_end).unwrap().len();
    let made_for_gpus = |version: &Version| version.back_end() == BackEnd::Gpu;
    assert_eq!(runs(BackEnd::Gpu), versions().filter(made_for_gpus).count());
    assert_eq!(runs(BackEnd::Cpu), versions().count());
    for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
        let best_named = single("--version", "best", back_end).unwrap();
        assert_eq!(best_named.id(), best(back_end).id());
        assert_eq!(series_of(best_named.id()).unwrap().best, best_named.id());
    }
    assert!(ids(MAIN).starts_with(&ids("v0-v15")));
    assert_eq!(ids("v8-v9,blog:step3"), ["v8", "v9", "blog:step3"]);
    assert_eq!(ids("talk:V1-V9"), ids("talk:V1-talk:V9"));
    assert_eq!(ids("blog"), ids("blog:baseline-step4"));
    assert_eq!(ids("talk:V9-bgw"), ["talk:V9", "talk:bgw"]);
    for series in SERIES {
        assert_eq!(ids(series.id), series.ids());
        assert!(series.ids().contains(&series.best), "{}", series.id);
        assert_eq!(ids(&format!("{}:best", series.id)), [series.best]);
    }
    for wrong in ["", "v8-v0", "v0-x", "8", "v0,", "v0..v8", "v0-talk:V1", "talk:V9-V1", "talk:"] {
        assert!(named(wrong, BackEnd::Gpu).is_err(), "{wrong}");
    }
    assert!(single("--version", "v0,v1", BackEnd::Gpu).is_err());
}

#[test]
fn what_was_meant() {
    let nearest = |name: &str| match named(name, BackEnd::Gpu) {
        Err(Error::Unknown { nearest, .. }) => nearest.unwrap_or_default(),
        _ => panic!("{name} is known, or no name"),
    };
    assert_eq!(nearest("talk:v7"), "talk:V7");
    assert_eq!(nearest("step3"), "blog:step3");
    assert_eq!(nearest("blog:step5-step6"), "blog:step4");
    assert_eq!(nearest("blogs"), "blog");
}

/// The files' sums come from BerkeleyGW, those of three-energies from a program in Fortran. Relative to the sum, a few roundings of each term add up at random.
#[test]
fn every_cpu_version_finds_the_sums_of_real_files_at_every_level() {
    assert_eq!(Level::best() == Level::Neon, cfg!(target_arch = "aarch64"));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/fixtures");
    for name in ["real/silicon-q0", "real/gaas-complex", "real/gaas-grid", "three-energies"] {
        let path = format!("{folder}/{name}.dat");
        let problem = crate::problem::input_file::read(path.as_ref(), Bars::NONE).unwrap();
        let stored = problem.stored.as_ref().unwrap();
        let tolerance = 8.0 * f64::EPSILON * (problem.terms() as f64).sqrt();
        let on_cpu = versions().filter(|it| it.cpu().is_some() && !it.is_single());
        let levels = || Level::available().into_iter();
        for (level, listed) in on_cpu.flat_map(|listed| levels().map(move |at| (at, listed))) {
            let host = CpuDevice::at(level);
            let found = Engine::whole(&host, &problem).unwrap().run(listed).unwrap().sums;
            let (start, stored) = match listed.is_sigma_alone() {
                true => (problem.start().alone(), stored.alone()),
                false => (problem.start().clone(), stored.clone()),
            };
            let found = start.plus(&found);
            for ((_, found), (_, stored)) in found.named(1).zip(stored.named(1)) {
                let close = (found - stored).norm() <= tolerance * stored.norm();
                assert!(close, "{} at {level}, {name}: {found} {stored}", listed.id());
            }
        }
    }
}
