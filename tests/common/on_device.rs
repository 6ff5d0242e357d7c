//! What holds on every device: slabs and workers change no bit, and slabs are distinguished by more than their range.

use std::sync::Arc;

use gpp::catalogue::{BackEnd, Kernel, versions};
use gpp::devices::{Device, Watch, Worker};
use gpp::engine::Engine;
use gpp::measure::same_bits;
use gpp::problem::{Problem, Slab, Sums};
use gpp::reference::{self, Outcome, verify, verify_static_ch};
use num_complex::Complex64;

use super::{Kind, QUIET, made};

/// The sums of two runs, which have the same bits.
pub fn summed(
    device: &dyn Device,
    problem: &Problem,
    kernel: Kernel,
    igp: usize,
    workers: usize,
) -> gpp::error::Result<Sums> {
    let workers =
        (0..workers).map(|_| device.worker(problem)).collect::<gpp::error::Result<_>>()?;
    let mut engine = Engine::new(problem, igp, workers)?;
    let [first, again] = [engine.run(kernel)?.sums, engine.run(kernel)?.sums];
    assert!(same_bits(&first, &again), "{} of {}: two runs differ", kernel.id(), problem.name());
    Ok(first)
}

/// `igp` of a group of the kernels that sum this problem; `None` if the slab is one.
pub fn group(problem: &Problem, kernel: Kernel) -> Option<usize> {
    kernel.igp_of_group(&kernel.batches(problem).first().plan)
}

/// Slabs of whole groups on several workers give the bits of the whole, the paper's grids those of the same slabs on one.
/// Returns how often parts of a grouped problem were compared.
pub fn slabs(
    device: &dyn Device,
    problem: &Problem,
    kernels: impl Iterator<Item = Kernel>,
) -> gpp::error::Result<usize> {
    let (ngpown, mut compared) = (problem.header().ngpown, 0);
    let reference = reference::of(problem, QUIET)?;
    for kernel in kernels {
        let group = group(problem, kernel);
        let whole = group.map(|_| summed(device, problem, kernel, ngpown, 1)).transpose()?;
        let cases = match group {
            Some(group) => {
                [(1, 1), (1, 5), (2, 2), (3, 5), (5, 2)].map(|(n, of)| (n * group, of)).to_vec()
            }
            None => vec![(7, 3), (48, 3)],
        };
        for (igp, workers) in cases {
            let what = format!("{} of {}: {igp} igp on {workers}", kernel.id(), problem.name());
            let parted = summed(device, problem, kernel, igp, workers)?;
            match &whole {
                Some(whole) => assert!(same_bits(whole, &parted), "{what}"),
                None => {
                    let one = summed(device, problem, kernel, igp, 1)?;
                    assert!(same_bits(&one, &parted), "{what}");
                    let sums = problem.start().plus(&parted);
                    let found = verify(problem, &sums, reference.as_ref()).unwrap();
                    assert_eq!(found.outcome, Outcome::Passed, "{what}");
                }
            }
            compared += usize::from(group.is_some() && igp < ngpown);
        }
    }
    Ok(compared)
}

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
