//! The GPU during runs: a scripted gauge in place of NVML, and what is made of the samples.

mod common;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Kind, QUIET, made};
use gpp::devices::cpu::CpuDevice;
use gpp::devices::gauge::{Gauge, GaugeSample, Reading, Sampler};
use gpp::devices::{Device, DeviceInfo, KernelInfo, Worker};
use gpp::kernels::kernel::{self, Entry};
use gpp::kernels::versions::ALL;
use gpp::measure::{MOST, measure, state, timed, window};
use gpp::problem::Problem;
use gpp::record::run::{Measurement, Times, differ};
use gpp::record::{Repetition, Span};
use gpp::reference;

struct Shows<F>(F);

impl<F: Fn() -> Reading + Send + Sync> Gauge for Shows<F> {
    fn read(&self) -> Reading {
        (self.0)()
    }

    fn power_limit_w(&self) -> Option<f64> {
        Some(700.0)
    }
}

type Shown = Option<Arc<dyn Gauge>>;

fn fixed(shows: Reading) -> Shown {
    Some(Arc::new(Shows(move || shows.clone())))
}

fn throttled() -> Reading {
    Reading {
        sm_mhz: Some(1500.0),
        memory_mhz: Some(3201.0),
        power_w: Some(700.0),
        temperature_c: Some(60.0),
        energy_j: None,
        clock_limited_by: Some(vec!["power cap"]),
    }
}

struct Gauged {
    host: CpuDevice,
    gauge: Shown,
}

impl Device for Gauged {
    fn info(&self) -> &DeviceInfo {
        self.host.info()
    }

    fn kernel(&self, kernel: &kernel::Kernel, entry: &Entry) -> gpp::error::Result<KernelInfo> {
        self.host.kernel(kernel, entry)
    }

    fn gauge(&self) -> Shown {
        self.gauge.clone()
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> gpp::error::Result<Box<dyn Worker + 'a>> {
        self.host.worker(problem)
    }
}

fn measured(gauge: Shown, repetition: Repetition) -> Measurement {
    let problem = made([5, 3, 7, 2], Kind::Mixed, 3);
    let reference = reference::for_problem(&problem, QUIET).unwrap();
    let device = Gauged { host: CpuDevice::new(), gauge };
    let mut engine = gpp::engine::Engine::whole(&device, &problem).unwrap();
    let version = gpp::catalogue::Version::Gpu(ALL[8]);
    measure(version, &device, &mut engine, reference.as_ref(), repetition, &|_| ()).unwrap()
}

#[test]
fn all_runs_throttled_have_numbers_and_marks() {
    let record = measured(fixed(throttled()), Repetition::exactly(1, 7));
    assert!(record.passed());
    assert_eq!(record.times.samples.len(), 7);
    let state = record.clock_and_power.unwrap();
    let of = |value| Some(Span { median: value, min: value, max: value });
    assert_eq!((state.sm_mhz, state.memory_mhz), (of(1500.0), of(3201.0)));
    assert_eq!((state.power_w, state.temperature_c), (of(700.0), of(60.0)));
    assert_eq!((state.power_limit_w, state.clock_limited_by["power cap"]), (Some(700.0), 1.0));
    assert_eq!(record.energy_j, None);
    let again = measured(fixed(throttled()), Repetition::exactly(0, 6));
    assert_eq!(again.cycles(), Some(1500e6 * again.times.median));
    let shown = gpp::summary::results_table(&[again], None);
    let column = shown.headings.iter().position(|heading| heading == "clock [MHz]").unwrap();
    assert_eq!(shown.rows[0][column], "1500");
}

#[test]
fn without_a_gauge_or_an_answer_all_is_null() {
    for gauge in [None, fixed(Reading::default())] {
        let record = measured(gauge, Repetition::exactly(0, 2));
        assert_eq!((record.cycles(), record.energy_j), (None, None));
        assert_eq!(record.clock_and_power, None);
        assert_eq!(record.times.samples.len(), 2);
    }
}

#[test]
fn runs_settle_and_go_on_but_not_for_ever() {
    let gauge = fixed(throttled());
    assert_eq!(measured(gauge.clone(), Repetition::exactly(0, 1)).times.samples.len(), 1);
    let longer = Repetition { window: Duration::from_millis(30), ..Repetition::exactly(0, 2) };
    let begin = Instant::now();
    let samples = measured(gauge.clone(), longer).times.samples.len();
    assert!(begin.elapsed() >= Duration::from_millis(30));
    assert!((2..=MOST).contains(&samples), "{samples} samples");
    let asked = Repetition { repeat: MOST + 3, ..longer };
    assert_eq!(measured(gauge.clone(), asked).times.samples.len(), MOST + 3);
    let device = |gauge| Gauged { host: CpuDevice::new(), gauge };
    assert_eq!(window(&device(gauge.clone()), None), Duration::from_secs(1));
    // As ncu and compute-sanitizer have it run.
    assert_eq!(window(&device(gauge), Some(0)), Duration::ZERO);
    assert_eq!(window(&device(None), None), Duration::ZERO);
}

/// A quick measurement that leaves a doubt is followed by a long one, with a warm-up of its own.
#[test]
fn short_windows_are_for_gpus_far_from_their_power_limit() {
    let free = || Reading { sm_mhz: Some(1980.0), power_w: Some(500.0), ..Reading::default() };
    let measurements = |gauge: Shown, quick: bool, slower: f64, takes: u64| {
        let window = Duration::from_millis(20);
        let repetition = Repetition { quick, window, ..Repetition::exactly(1, 5) };
        let (mut count, mut warm_ups) = (0.0, 0);
        let mut run = |before| {
            (count, warm_ups) = (count + 1.0, warm_ups + usize::from(before == 0));
            sleep(Duration::from_millis(takes));
            Ok((1.0 + slower * count, Instant::now()..Instant::now()))
        };
        timed(gauge, repetition, &mut run).unwrap();
        warm_ups
    };
    assert_eq!(measurements(fixed(free()), true, 0.0, 0), 1);
    assert_eq!(measurements(fixed(free()), false, 1.0, 0), 1);
    assert_eq!(measurements(fixed(free()), true, 1.0, 1), 2);
    // A long window would have no more runs.
    assert_eq!(measurements(fixed(free()), true, 1.0, 0), 1);
    for doubtful in [
        Reading { power_w: Some(565.0), ..free() },
        Reading { power_w: None, ..free() },
        Reading { sm_mhz: None, ..free() },
        Reading { clock_limited_by: Some(vec!["power cap"]), ..free() },
    ] {
        assert_eq!(measurements(fixed(doubtful), true, 0.0, 0), 2);
    }
    let samples = AtomicUsize::new(0);
    let falls = move || {
        let sample = samples.fetch_add(1, Ordering::Relaxed) as f64;
        Reading { sm_mhz: Some(1980.0 - sample), ..free() }
    };
    assert_eq!(measurements(Some(Arc::new(Shows(falls))), true, 0.0, 20), 2);
}

/// Looks of 5 ms, one every 10 ms from `begin` on: clock, reasons and energy of each.
fn samples(begin: Instant, shown: &[(f64, &'static [&'static str], f64)]) -> Vec<GaugeSample> {
    let sample = |(at, (mhz, reasons, joules)): (u64, &(f64, &[&'static str], f64))| GaugeSample {
        begin: begin + Duration::from_millis(10 * at),
        end: begin + Duration::from_millis(10 * at + 5),
        reading: Reading {
            sm_mhz: Some(*mhz),
            energy_j: Some(*joules),
            clock_limited_by: Some(reasons.to_vec()),
            ..Reading::default()
        },
    };
    (0..).zip(shown).map(sample).collect()
}

fn run(begin: Instant, from: u64, to: u64) -> Range<Instant> {
    begin + Duration::from_millis(from)..begin + Duration::from_millis(to)
}

#[test]
fn looks_within_the_runs_make_the_state() {
    let begin = Instant::now();
    let shown = [
        (300.0, &["thermal (software)"][..], 0.0),
        (1900.0, &[], 0.0),
        (1600.0, &["power cap"], 0.0),
        (1500.0, &["power cap", "power brake"], 0.0),
        (1800.0, &[], 0.0),
        (345.0, &["sync boost"], 0.0),
    ];
    let samples = samples(begin, &shown);
    // The first sample and the last are of no run.
    let runs = [run(begin, 8, 33), run(begin, 36, 38), run(begin, 39, 52)];
    let state = state(&samples, &runs, None).unwrap();
    assert_eq!(state.samples, 4);
    assert_eq!(state.sm_mhz, Some(Span { median: 1700.0, min: 1500.0, max: 1900.0 }));
    let limited_by = [("power cap", 0.5), ("power brake", 0.25)];
    assert_eq!(state.clock_limited_by, limited_by.map(|(by, part)| (by.into(), part)).into());
    assert_eq!((state.power_w, state.power_limit_w), (None, None));
    // Too short for the counter, which did not move either.
    assert_eq!(state.mean_w, None);
}

#[test]
fn energy_is_by_the_moves_of_the_counter() {
    let begin = Instant::now();
    // 100 W: 4 J every 40 ms, for half a second before and after the runs as well.
    let shown: Vec<_> = (0..150).map(|at| (1000.0, &[][..], f64::from(at / 4 * 4))).collect();
    let samples = samples(begin, &shown);
    let runs: Vec<_> = (0..5).map(|at| run(begin, 500 + 100 * at, 595 + 100 * at)).collect();
    let watts = |runs: &[Range<Instant>]| state(&samples, runs, None)?.mean_w;
    let found = watts(&runs).unwrap();
    assert!((found - 100.0).abs() <= 1e-9, "{found}");
    assert_eq!((watts(&runs[..2]), watts(&[])), (None, None), "200 ms");
}

#[test]
fn a_watch_looks_until_it_ends() {
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, read) = (count.clone(), || count.load(Ordering::Relaxed));
    let gauge = Arc::new(Shows(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        throttled()
    }));
    let (watch, begin) = (Sampler::begin(gauge.clone()), Instant::now());
    while read() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "nobody looks");
        std::thread::sleep(Duration::from_millis(1));
    }
    let samples = watch.end();
    assert_eq!(samples.len(), read());
    assert!(samples.is_sorted_by_key(|sample| sample.end));
    drop(Sampler::begin(gauge));
    let after = read();
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(read(), after, "a dropped watch looks on");
}

#[test]
fn noise_and_differences() {
    let times = |from: f64, step: f64, count: u32| {
        Times::from_samples((0..count).map(|at| from + step * f64::from(at)).collect())
    };
    let a = times(1.0, 0.01, 10);
    assert!((a.sigma().unwrap() - 0.030277).abs() < 1e-6);
    assert_eq!(times(1.0, 0.0, 1).sigma(), None);
    for (one, other, verdict) in [
        (&a, &times(2.0, 0.01, 10), Some(true)),
        (&times(2.0, 0.01, 10), &a, Some(true)),
        (&a, &times(1.005, 0.01, 10), Some(false)),
        (&a, &a, Some(false)),
        (&times(1.0, 0.1, 5), &times(9.0, 0.1, 5), Some(true)),
        // Three a side lie apart by chance in one of ten cases.
        (&times(1.0, 0.1, 3), &times(9.0, 0.1, 3), None),
        (&a, &times(1.0, 0.0, 1), None),
        (&a, &times(f64::NAN, 0.1, 10), None),
    ] {
        assert_eq!(differ(one, other), verdict);
    }
}
