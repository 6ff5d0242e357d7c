//! The static CH by a kernel on a device.

use gpp::catalogue::{self, BackEnd, Kernel};
use gpp::devices::gpu::Gpu;
use gpp::devices::{Device, Watch};
use gpp::engine::Engine;
use gpp::problem::Problem;
use gpp::reference::{self, Outcome, verify_static_ch};
use num_complex::Complex64;

use super::{Kind, QUIET, made};

/// That of a problem in slabs of so many `igp` on so many workers.
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

/// Those of a number.
pub fn bits(z: Complex64) -> [u64; 2] {
    [z.re.to_bits(), z.im.to_bits()]
}

/// [`compare`] on the first GPU.
pub fn on_gpu() -> Result<(), gpp::error::Error> {
    compare(&Gpu::open(0)?, catalogue::static_ch(BackEnd::Gpu))
}

/// Compares it with the reference, and slabs of whole groups on several workers with the whole, bit for bit.
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
