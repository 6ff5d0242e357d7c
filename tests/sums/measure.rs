//! `measure` on a device that does what a script says.

use std::sync::atomic::{AtomicUsize, Ordering};

use gpp::catalogue;
use gpp::devices::cpu::CpuDevice;
use gpp::devices::{Device, DeviceInfo, KernelInfo, SlabSums, Worker};
use gpp::error::{Error, Result};
use gpp::kernels::kernel::{Entry, Kernel};
use gpp::kernels::plan::Poles;
use gpp::kernels::versions::ALL;
use gpp::measure::{flops_per_term, measure};
use gpp::output::exit_code;
use gpp::problem::Problem;
use gpp::record::run::Measurement;
use gpp::reference::Outcome;

use crate::common::{Kind, made};
use crate::engine::hooked::Hooked;
use crate::{referenced, sums};

struct Named(DeviceInfo);

impl Device for Named {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }

    fn kernel(&self, _: &Kernel, _: &Entry) -> Result<KernelInfo> {
        Ok(KernelInfo { registers: Some(77), ..KernelInfo::default() })
    }

    fn worker<'a>(&'a self, _: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        unreachable!("the engine has its worker")
    }
}

/// What each run does: a factor of the right sums and seconds, or a failure.
fn measured(warmup: usize, script: &[Option<(f64, f64)>]) -> (Result<Measurement>, usize, Problem) {
    let problem = made([5, 3, 7, 2], Kind::Mixed, 3);
    let (host, reference) = (CpuDevice::new(), referenced(&problem));
    let mut left = script.iter();
    let finishes = move |sums: SlabSums| {
        let Some((factor, seconds)) = left.next().expect("no more runs") else {
            return Err(Error::driver("run of v8", "code 719"));
        };
        let values = sums.values.into_iter().map(|value| value * factor).collect();
        Ok(SlabSums { values, seconds: *seconds, ..sums })
    };
    let worker = Hooked { finishes: Box::new(finishes), ..Hooked::of(&host, &problem) };
    let (told, mut info) = (AtomicUsize::new(0), host.info().clone());
    info.id = "gpu:7".into();
    let record = measure(
        catalogue::Version::Gpu(ALL[8]),
        &Named(info),
        &mut gpp::engine::Engine::new(&gpp_core::ranks::Alone, &problem, 3, vec![Box::new(worker)])
            .unwrap(),
        Some(&reference),
        gpp::record::Repetition::exactly(warmup, script.len() - warmup),
        &|calculations| {
            assert_eq!(calculations, (told.fetch_add(1, Ordering::Relaxed) + 1) as f64);
        },
    );
    (record, told.into_inner(), problem)
}

#[test]
fn warm_up_is_not_timed_and_samples_keep_their_order() {
    let script = [9.0, 8.0, 3.0, 1.0, 2.0, 7.0].map(|seconds| Some((1.0, seconds)));
    let (record, told, problem) = measured(2, &script);
    let record = record.unwrap();
    assert_eq!(record.times.samples, [3.0, 1.0, 2.0, 7.0]);
    assert_eq!((record.times.min, record.times.median, record.times.max), (1.0, 2.5, 7.0));
    assert_eq!(told, 6);
    assert_eq!((record.version.as_str(), record.device.as_str()), ("v8", "gpu:7"));
    assert_eq!(record.registers, Some(77));
    assert_eq!((record.kernel.as_deref(), record.threads_per_block), (Some("gpp_v8"), Some(512)));
    let flops = flops_per_term("v8", Poles::Any).unwrap() * problem.terms() as f64;
    assert_eq!((record.flops, record.tflops), (Some(flops), Some(flops / 2.5 / 1e12)));
    assert_eq!(record.sums, sums(&problem, catalogue::Version::Gpu(ALL[8])));
    assert_eq!(record.verification.outcome, Outcome::Passed);
    assert!(record.deterministic);
}

#[test]
fn the_last_sums_are_judged_and_all_are_compared() {
    let [right, off, wrong, nan] =
        [1.0, 1.0 + f64::EPSILON, 1.1, f64::NAN].map(|factor| Some((factor, 1.0)));
    for (script, outcome) in [
        ([right, right, right], Outcome::Passed),
        // The warm-up counts: a first run that differs is as bad as any.
        ([off, right, right], Outcome::Nondeterministic),
        ([right, right, wrong], Outcome::Incorrect),
        ([wrong, right, right], Outcome::Nondeterministic),
        ([wrong, wrong, wrong], Outcome::Incorrect),
        ([nan, nan, nan], Outcome::Incorrect),
    ] {
        assert_eq!(measured(1, &script).0.unwrap().verification.outcome, outcome, "{script:?}");
    }
}

#[test]
fn a_run_that_fails_ends_the_measurement() {
    let (record, told, _) = measured(0, &[Some((1.0, 1.0)), None, Some((1.0, 1.0))]);
    let error = record.unwrap_err();
    assert_eq!(exit_code(&error), 3);
    assert!(error.to_string().contains("run of v8"), "{error}");
    assert_eq!(exit_code(&Error::device_memory("a slab", 8, 4)), 3);
    assert_eq!(told, 1);
}
