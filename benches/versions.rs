//! The demo system, 30 million terms: every version for CPUs and the best one for GPUs, on a GPU where
//! there is one and otherwise emulated. Wall-clock on the host, event times on a GPU. Then the best versions for
//! CPUs at one energy and more.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpp::catalogue::{BackEnd, JOURNEYS, Kernel, Listed, best, find};
use gpp::devices::Device;
use gpp::devices::gpu::Gpu;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{EnergyGrid, Source as _, synthesis, systems};
use gpp::progress::Progress;
use gpp::reference::verify::{Outcome, verify};
use gpp::reference::{self, Reference};

fn versions(criterion: &mut Criterion) {
    let quiet = Progress { shown: false };
    let system = systems::find("demo").unwrap();
    let problem = synthesis::synthesise(system, systems::DEFAULT_SEED, quiet).unwrap();
    let reference = reference::of(&problem, quiet).unwrap();

    let is_for_processors = |listed: &Listed| matches!(listed.kernel, Kernel::Cpu(_));
    let all = JOURNEYS.iter().flat_map(|journey| journey.versions());
    let own: Vec<Listed> = all.filter(is_for_processors).collect();
    let best = vec![best(BackEnd::Gpu)];
    let host: Box<dyn Device> = Box::new(Host::new());
    let runs: Vec<(Box<dyn Device>, Vec<Listed>)> = match Gpu::open(0) {
        Ok(gpu) => vec![(host, own), (Box::new(gpu), best)],
        Err(error) => {
            eprintln!("the best version for GPUs is emulated: {error}");
            vec![(host, [own, best].concat())]
        }
    };
    for (device, versions) in runs {
        let mut engine = Engine::whole(device.as_ref(), &problem).unwrap();
        let mut group = criterion.benchmark_group(format!("demo on {}", device.info().id));
        group.throughput(Throughput::Elements(problem.terms()));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        for version in versions {
            // What is timed is what was verified.
            let sums = engine.run(version.kernel).unwrap().sums;
            let outcome =
                verify(&problem, &problem.start().plus(&sums), reference.as_ref()).unwrap().outcome;
            assert_eq!(outcome, Outcome::Passed, "{}", version.id());
            group.bench_function(version.id(), |bencher| {
                bencher.iter_custom(|runs| {
                    let seconds = (0..runs).map(|_| engine.run(version.kernel).unwrap().seconds);
                    Duration::from_secs_f64(seconds.sum())
                });
            });
        }
    }
}

fn energies(criterion: &mut Criterion) {
    let quiet = Progress { shown: false };
    let system = systems::find("demo").unwrap();
    let host = Host::new();
    for nw in [1, 2, 3, 6, 64] {
        let demo = Synthesis::new(system, systems::DEFAULT_SEED, quiet);
        let problem = demo.at(&EnergyGrid::Count(nw)).load().unwrap();
        let mut engine = Engine::whole(&host, &problem).unwrap();
        let sums_by = |engine: &mut Engine, id: &str| {
            let version = find(id).unwrap().kernel;
            problem.start().plus(&engine.run(version).unwrap().sums)
        };
        let sums = sums_by(&mut engine, "cpu:blocked");
        let reference = Reference::new(sums, reference::Source::Device, quiet);
        let mut group = criterion.benchmark_group(format!("demo at {nw} energies"));
        group.throughput(Throughput::Elements(problem.terms()));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        for version in [best(BackEnd::Cpu), find("sigma:cells").unwrap()] {
            let sums = sums_by(&mut engine, version.id());
            let outcome = verify(&problem, &sums, Some(&reference)).unwrap().outcome;
            assert_eq!(outcome, Outcome::Passed, "{} at {nw}", version.id());
            group.bench_function(version.id(), |bencher| {
                bencher.iter_custom(|runs| {
                    let seconds = (0..runs).map(|_| engine.run(version.kernel).unwrap().seconds);
                    Duration::from_secs_f64(seconds.sum())
                });
            });
        }
    }
}

criterion_group!(benches, versions, energies);
criterion_main!(benches);
