//! The demo system, 30 million terms: every version for CPUs and the best one for GPUs, on a GPU if there is
//! one and otherwise emulated. Wall-clock on the host, event times on a GPU.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpp::catalogue::{self, BackEnd, Version, best};
use gpp::devices::Device;
use gpp::devices::cpu::CpuDevice;
use gpp::devices::gpu::Gpu;
use gpp::engine::Engine;
use gpp::output::Progress;
use gpp::problem::{Source, System, synthesis};
use gpp::reference::{self, Outcome, verify_version};

const QUIET: Progress = Progress { shown: false };

fn versions(criterion: &mut Criterion) {
    let demo = System::find("demo").unwrap();
    let problem = synthesis::Synthesis::new(demo, synthesis::DEFAULT_SEED, QUIET).load().unwrap();
    let reference = reference::for_problem(&problem, QUIET).unwrap();
    let of_cpu = |listed: &Version| matches!(listed, Version::Cpu(_));
    let for_cpu: Vec<Version> = catalogue::versions().filter(of_cpu).collect();
    let best = vec![best(BackEnd::Gpu)];
    let host: Box<dyn Device> = Box::new(CpuDevice::new());
    let runs: Vec<(Box<dyn Device>, Vec<Version>)> = match Gpu::limited(0, None) {
        Ok(gpu) => vec![(host, for_cpu), (Box::new(gpu), best)],
        Err(error) => {
            eprintln!("the best version for GPUs is emulated: {error}");
            vec![(host, [for_cpu, best].concat())]
        }
    };
    for (device, versions) in runs {
        let name = format!("demo on {}", device.info().id);
        let mut engine = Engine::whole(device.as_ref(), &problem).unwrap();
        let mut group = criterion.benchmark_group(&name);
        group.throughput(Throughput::Elements(problem.terms()));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        for version in versions {
            let sums = engine.run(version).unwrap().sums;
            let (_, found) = verify_version(version, &problem, &sums, reference.as_ref()).unwrap();
            assert_eq!(found.outcome, Outcome::Passed, "{name}: {}", version.id());
            group.bench_function(version.id(), |bencher| {
                bencher.iter_custom(|runs| {
                    let seconds = (0..runs).map(|_| engine.run(version).unwrap().seconds);
                    Duration::from_secs_f64(seconds.sum())
                });
            });
        }
    }
}

criterion_group!(benches, versions);
criterion_main!(benches);
