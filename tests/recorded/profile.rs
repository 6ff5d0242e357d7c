//! Recorded output of the profiler, and the profiles made from it.

use std::os::unix::fs::PermissionsExt;

use gpp::profile::ncu::{self, ProfileError, aggregate};
use gpp::record::run::RunRecord;
use gpp::record::{self, Ceilings, LEVELS, MemoryLevel, Profile, point, share_of_peak};

use crate::common::repository;

fn recorded(name: &str) -> String {
    std::fs::read_to_string(repository(&format!("tests/data/{name}"))).unwrap()
}

fn profiles(csv: &str) -> Result<Vec<Profile>, ProfileError> {
    let folder = repository("tests/data/records/si214");
    let mut run: RunRecord = record::read(&folder.join("run.json")).unwrap();
    run.results.clear();
    let ceilings: Ceilings = record::read(&folder.join("ceilings.json")).unwrap();
    aggregate(&ncu::parse(csv)?, (&run, &ceilings), "recorded")
}

#[test]
fn the_raw_page_of_two_versions() {
    let profiles = profiles(&recorded("ncu-2025.3-raw.csv")).unwrap();
    let [v0, v5] = &profiles[..] else { panic!("{profiles:?}") };
    assert_eq!(v0.launches, ["gpp_v0_nw2", "gpp_second_stage"]);
    assert_eq!(v5.launches, ["gpp_v5", "gpp_v5", "gpp_second_stage"]);
    assert_eq!(v0.device, "NVIDIA H200");
    assert_eq!((v0.registers, v5.registers), (Some(96), Some(72)));
    assert!((v0.flops() / v0.terms as f64 - 147.9).abs() < 0.1);
    assert!((v5.flops() / v5.terms as f64 - 80.1).abs() < 0.1);
    assert!((0.62..0.64).contains(&v0.fma_ratio()));
    assert!((0.3..0.4).contains(&v0.duration_s), "{}", v0.duration_s);
    assert!((v0.stalls.values().sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(v0.main_stall().unwrap().0, "wait");
    let dots: Vec<_> = LEVELS.into_iter().filter_map(|level| point(v0, level)).collect();
    let levels: Vec<MemoryLevel> = dots.iter().map(|dot| dot.level).collect();
    assert_eq!(levels, [MemoryLevel::Hbm, MemoryLevel::L1]);
    assert!((dots[0].intensity - v0.flops() / v0.bytes.hbm).abs() < 1e-12);
    // No time without the profiler: its durations.
    assert_eq!(dots[0].flops_per_s, v0.flops() / v0.duration_s);
    // What older CSV, or a chip, lacks is null and loses nothing else.
    let Profile { bytes, pipes_percent, .. } = v0;
    assert_eq!((bytes.l2, bytes.shared), (None, None));
    assert!(pipes_percent.is_empty() && v0.fp64_pipe_percent.is_some());
    assert!((v0.cycles.unwrap() / 637_273_311.4 - 1.0).abs() < 1e-9, "{:?}", v0.cycles);
}

/// A metric, its unit, and its value in each of two launches.
type Metric<'a> = (&'a str, &'a str, [&'a str; 2]);

fn page(rows: &[Metric]) -> String {
    let line = |first: [&str; 2], cell: &dyn Fn(&Metric) -> String| {
        let cells = first.map(String::from).into_iter().chain(rows.iter().map(cell));
        cells.map(|cell| format!("\"{cell}\"")).collect::<Vec<_>>().join(",") + "\n"
    };
    [
        line(["ID", "Kernel Name"], &|row| row.0.into()),
        line(["", ""], &|row| row.1.into()),
        line(["0", "gpp_v3_nw2"], &|row| row.2[0].into()),
        line(["1", "gpp_second_stage"], &|row| row.2[1].into()),
    ]
    .concat()
}

#[test]
fn traffic_and_pipes_of_a_version() {
    let rows = [
        (ncu::DURATION, "ns", ["3,000", "1,000"]),
        (ncu::CYCLES, "cycle", ["4,500", "1,500"]),
        (ncu::DADD, "inst", ["10", "2"]),
        (ncu::DMUL, "inst", ["20", "0"]),
        (ncu::DFMA, "inst", ["40", "0"]),
        (ncu::HBM, "byte", ["1,500", "500"]),
        (ncu::L2, "sector", ["1,000", "10"]),
        (ncu::L1, "byte", ["64,000", "640"]),
        (ncu::SHARED, "", ["2,000", "20"]),
        (ncu::PIPES[0].1, "%", ["60", "20"]),
        (ncu::PIPES[2].1, "%", ["8", "n/a"]),
    ];
    let [v3] = &profiles(&page(&rows)).unwrap()[..] else { panic!("one version") };
    let Profile { bytes, pipes_percent, .. } = v3;
    assert_eq!((bytes.hbm, bytes.l1), (2000.0, Some(64_640.0)));
    assert_eq!(bytes.l2, Some(32.0 * 1010.0));
    assert_eq!((bytes.shared, v3.cycles), (Some(128.0 * 2020.0), Some(6000.0)));
    // By time; what a launch lacks is no average.
    assert_eq!(pipes_percent.len(), 1);
    assert!((pipes_percent["issue slots"] - 50.0).abs() < 1e-9, "{pipes_percent:?}");
}

#[test]
fn a_calculation_in_batches_is_one_profile() {
    let counters = [ncu::DADD, ncu::DMUL, ncu::DFMA, ncu::HBM, ncu::L1, ncu::CYCLES];
    let counters = counters.map(|metric| (metric, "inst", ["10", "1"]));
    let batch = page(&[&counters[..], &[(ncu::DURATION, "ns", ["3,000", "1,000"])]].concat());
    let (_, launches) = batch.split_once("\"\n\"0\"").unwrap();
    let two = format!("{batch}\"0\"{launches}");
    let [v3] = &profiles(&two).unwrap()[..] else { panic!("one version") };
    assert_eq!((v3.launches.len(), v3.dadd, v3.cycles), (4, 22.0, Some(22.0)));
    assert!((v3.duration_s - 8e-6).abs() < 1e-18);
}

#[test]
fn digits_are_grouped_and_other_units_are_left_out() {
    let rows = [(ncu::HBM, "byte", ["1,234,500", "n/a"]), (ncu::L1, "Kbyte", ["1", "1"])];
    let launches = ncu::parse(&page(&rows)).unwrap();
    assert_eq!(launches[0].metrics[ncu::HBM], 1.2345e6);
    assert!(!launches[1].metrics.contains_key(ncu::HBM));
    assert!(!launches[0].metrics.contains_key(ncu::L1));
}

#[test]
fn what_cannot_be_read_says_why() {
    let raw = recorded("ncu-2025.3-raw.csv");
    let without = raw.replace("sm__sass_thread_inst_executed_op_dfma_pred_on.sum", "something");
    for (csv, part) in [
        (without.as_str(), "op_dfma_pred_on.sum is missing for kernel `gpp_v0_nw2`"),
        (&raw.replace("gpp_v5", "a_kernel"), "kernel `a_kernel` belongs to no known version"),
        ("==ERROR== No kernels were profiled.\n", "No kernels were profiled"),
        ("", "no header row"),
        ("a,b\n1,2\n", "no header row"),
        (raw.lines().take(4).collect::<Vec<_>>().join("\n").as_str(), "no launch"),
    ] {
        let error = profiles(csv).unwrap_err().to_string();
        assert!(error.contains(part), "`{part}` is missing in `{error}`");
    }
    let error = profiles(&page(&[(ncu::DURATION, "ns", ["n/a", "n/a"])])).unwrap_err().to_string();
    assert!(error.contains("is missing for kernel `gpp_v3_nw2`"), "{error}");
}

#[test]
fn the_papers_own_numbers() {
    assert!((share_of_peak(0.58) - 0.79).abs() < 1e-12);
    assert!((share_of_peak(0.58) * 6.7 - 5.3).abs() < 0.01);
    assert_eq!((share_of_peak(0.0), share_of_peak(1.0)), (0.5, 1.0));
}

/// `ncu.sh` stands in for ncu: it logs its arguments, and prints the recorded page where it is to read a report.
#[test]
fn a_report_is_kept_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("ncu"), include_str!("../data/ncu.sh")).unwrap();
    std::fs::set_permissions(at("ncu"), PermissionsExt::from_mode(0o755)).unwrap();
    let page = recorded("ncu-2025.3-raw.csv");
    std::fs::write(at("page"), format!("==PROF== a process\n{page}")).unwrap();
    let ncu = ncu::Ncu::find(&at("ncu")).unwrap();
    let printed = ncu.counters("v0,v5", &[], "gpu", &at("counters.ncu-rep")).unwrap();
    assert_eq!(profiles(&printed).unwrap().len(), 2);
    assert!(at("counters.ncu-rep").exists() && !printed.contains("==PROF=="));
    let log = std::fs::read_to_string(at("log")).unwrap();
    assert!(log.contains("--import-source yes") && log.contains("--version v0,v5 --device gpu"));
}
