//! The demo system, 30 million terms: every version for CPUs and the best one for GPUs, on a GPU if there is
//! one and otherwise emulated. Wall-clock on the host, event times on a GPU.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gpp::catalogue::{self, BackEnd, Kernel, Listed, best};
use gpp::devices::Device;
use gpp::devices::cpu::CpuDevice;
use gpp::devices::gpu::Gpu;
use gpp::engine::Engine;
use gpp::output::Progress;
use gpp::problem::{Problem, System, synthesis};
use gpp::reference::{self, Outcome, Reference, verify};

const QUIET: Progress = Progress { shown: false };

fn time(
    criterion: &mut Criterion,
    name: &str,
    (problem, reference): (&Problem, Option<&Reference>),
    device: &dyn Device,
    versions: &[Listed],
) {
    let mut engine = Engine::whole(device, problem).unwrap();
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(problem.terms()));
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for version in versions {
        let sums = problem.start().plus(&engine.run(version.kernel).unwrap().sums);
        let outcome = verify(problem, &sums, reference).unwrap().outcome;
        assert_eq!(outcome, Outcome::Passed, "{name}: {}", version.id());
        group.bench_function(version.id(), |bencher| {
            bencher.iter_custom(|runs| {
                let seconds = (0..runs).map(|_| engine.run(version.kernel).unwrap().seconds);
                Duration::from_secs_f64(seconds.sum())
            });
        });
    }
}

fn versions(criterion: &mut Criterion) {
    let demo = System::find("demo").unwrap();
    let problem = synthesis::synthesise(demo, synthesis::DEFAULT_SEED, QUIET).unwrap();
    let reference = reference::of(&problem, QUIET).unwrap();
    let of_cpu = |listed: &Listed| matches!(listed.kernel, Kernel::Cpu(_));
    let own: Vec<Listed> = catalogue::versions().filter(of_cpu).collect();
    let best = vec![best(BackEnd::Gpu)];
    let host: Box<dyn Device> = Box::new(CpuDevice::new());
    let runs: Vec<(Box<dyn Device>, Vec<Listed>)> = match Gpu::open(0) {
        Ok(gpu) => vec![(host, own), (Box::new(gpu), best)],
        Err(error) => {
            eprintln!("the best version for GPUs is emulated: {error}");
            vec![(host, [own, best].concat())]
        }
    };
    for (device, versions) in runs {
        let name = format!("demo on {}", device.info().id);
        time(criterion, &name, (&problem, reference.as_ref()), device.as_ref(), &versions);
    }
}

criterion_group!(benches, versions);
criterion_main!(benches);
