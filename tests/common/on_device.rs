//! What holds on every device: the static CH by a kernel, and that slabs are told apart by more than their range.

use std::sync::Arc;

use gpp::catalogue::{self, BackEnd, Kernel, versions};
use gpp::devices::gpu::Gpu;
use gpp::devices::{Device, Watch, Worker};
use gpp::engine::Engine;
use gpp::problem::{Problem, Slab};
use gpp::reference;
use gpp::reference::{Outcome, verify_static_ch};
use num_complex::Complex64;

use super::{Kind, QUIET, made};

pub fn found(
    device: &dyn Device,
    problem: &Problem,
    kernel: Kernel,
    igp: usize,
    workers: usize,
) -> gpp::error::Result<Complex64> {
    let workers =
        (0..workers).map(|_| device.worker(problem)).collect::<gpp::error::Result<_>>()?;
    let mut engine = Engine::new(problem, igp, workers)?;
    let first = engine.run_at(&[0], kernel, Watch::none())?.sums.ach[0];
    let again = engine.run_at(&[0], kernel, Watch::none())?.sums.ach[0];
    assert_eq!(bits(first), bits(again), "{}: two runs differ", problem.name());
    Ok(first)
}

pub fn bits(z: Complex64) -> [u64; 2] {
    [z.re.to_bits(), z.im.to_bits()]
}

pub fn on_gpu() -> Result<(), gpp::error::Error> {
    compare(&Gpu::open(0)?, catalogue::static_ch(BackEnd::Gpu))
}

pub fn compare(device: &dyn Device, kernel: Kernel) -> Result<(), gpp::error::Error> {
    for kind in [Kind::Mixed, Kind::Real] {
        let problem = made([131, 149, 170, 2], kind, 12);
        let whole = found(device, &problem, kernel, 149, 1)?;
        let reference = reference::static_ch(&problem, QUIET)?;
        let verification = verify_static_ch(&problem, whole, Some(reference));
        assert_eq!(verification.outcome, Outcome::Passed, "{verification:?}");
        for (igp, workers) in [(16, 1), (16, 4), (48, 2), (80, 3)] {
            let parted = found(device, &problem, kernel, igp, workers)?;
            assert_eq!(bits(parted), bits(whole), "{igp} igp on {workers} workers");
        }
    }
    Ok(())
}

/// Two problems with the same bands and igp in turn through a worker of the first: the sums are each one's own.
pub fn two_problems(device: &dyn Device) -> gpp::error::Result<()> {
    for kind in [Kind::Mixed, Kind::Real] {
        let first = made([19, 85, 70, 2], kind, 12);
        let [mut wtilde, eps, aqsm_local] =
            first.slab().copied(first.bands()).unwrap().into_matrices();
        wtilde.reverse();
        let igp = first.slab().igp();
        let slab = Slab::new(first.bands(), igp, wtilde, eps, aqsm_local).unwrap();
        let bands = Arc::new(first.bands().clone());
        let second = Problem::of("second", first.origin().clone(), bands, slab).unwrap();
        let of_device = |kernel: &Kernel| {
            device.back_end() == BackEnd::Cpu || kernel.back_end() == BackEnd::Gpu
        };
        let mut both = device.worker(&first)?;
        for kernel in versions().map(|listed| listed.kernel).filter(of_device) {
            let batch = &kernel.batches(&first).first();
            let mut own = device.worker(&second)?;
            let of = |worker: &mut dyn Worker, problem: &Problem| {
                worker.begin(problem.slab(), batch, kernel, Watch::none())?;
                Ok::<_, gpp::error::Error>(worker.finish()?.values)
            };
            let own = of(own.as_mut(), &second)?;
            let [one, two, again] = [
                of(both.as_mut(), &first)?,
                of(both.as_mut(), &second)?,
                of(both.as_mut(), &first)?,
            ];
            assert_eq!(two, own, "{}", kernel.id());
            assert_eq!(one, again, "{}", kernel.id());
            assert_ne!(one, two, "{}", kernel.id());
        }
    }
    Ok(())
}
