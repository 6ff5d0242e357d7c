//! The demo system, 30 million terms: every version for processors and the best one for GPUs, on a GPU where
//! there is one and otherwise emulated. Wall-clock on the host, event times on a GPU.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpp::catalogue::{BackEnd, JOURNEYS, Kernel, Listed, best};
use gpp::devices::{Device, gpu::Gpu, host::Host};
use gpp::engine::Engine;
use gpp::problem::{synthesis, systems};
use gpp::process::progress::Progress;
use gpp::reference;
use gpp::reference::verify::{Outcome, verify};

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

criterion_group!(benches, versions);
criterion_main!(benches);
