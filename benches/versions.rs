//! Every version on the demo system: wall-clock on the host, event times on a GPU where there is one.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpp::catalogue;
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
    let reference = reference::of(&problem, quiet);

    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(Host::new())];
    match Gpu::open(0) {
        Ok(gpu) => devices.push(Box::new(gpu)),
        Err(error) => eprintln!("no GPU benches: {error}"),
    }
    for device in &devices {
        let mut engine = Engine::whole(device.as_ref(), &problem).unwrap();
        let mut group = criterion.benchmark_group(format!("demo on {}", device.info().id));
        group.throughput(Throughput::Elements(problem.terms()));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        for version in catalogue::versions() {
            // What is timed is what was verified.
            let sums = engine.run(version.kernel).unwrap().sums;
            let outcome =
                verify(&problem, &problem.start().plus(&sums), reference.as_ref()).outcome;
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
