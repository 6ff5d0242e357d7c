//! What a device holds is told apart by more than its range.

use std::sync::Arc;

use gpp::catalogue::{BackEnd, Kernel, versions};
use gpp::devices::{Device, Watch, Worker};
use gpp::problem::{Problem, Slab};

use super::{Kind, made};

/// Two problems with the same bands and the same igp, one after the other through a worker of the first: the sums
/// are each one's own, and those of the first the same when it comes back.
///
/// # Errors
/// Those of the device.
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
