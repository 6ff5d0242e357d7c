//! What a device can do: measured ceilings, and those that its clocks and widths promise.

use crate::devices::Device as _;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::ceilings::Limits;
use crate::error::Result;
use crate::record::SCHEMA;
use crate::record::ceilings::{Ceilings, Theoretical};
use crate::record::provenance::kernels_by;

/// Measures the ceilings of a GPU.
///
/// # Errors
/// [`crate::Error::Driver`].
pub fn ceilings(gpu: &Gpu) -> Result<Ceilings> {
    let limits = gpu.limits()?;
    Ok(Ceilings {
        schema: SCHEMA,
        device: gpu.info().name.clone(),
        kernels_by: kernels_by(),
        fp64: limits.fp64,
        hbm: limits.hbm,
        l2: limits.l2,
        l1: limits.l1,
        theoretical: theoretical(&limits),
    })
}

/// What clocks and widths promise.
fn theoretical(limits: &Limits) -> Theoretical {
    let cycles = f64::from(limits.multiprocessors) * limits.hertz;
    Theoretical {
        fp64: fp64_lanes(limits.capability).map(|lanes| 2.0 * lanes * cycles),
        // Two transfers a clock.
        hbm: 2.0 * limits.memory_hertz * limits.bus_bits / 8.0,
        l1: 128.0 * cycles,
        // SMs × 4 B × lanes × clock (rules of thumb for shared memory).
        shared: 4.0 * 32.0 * cycles,
    }
}

/// FP64 lanes of a multiprocessor by compute capability.
fn fp64_lanes(capability: (u32, u32)) -> Option<f64> {
    match capability {
        (6..=8, 0) => Some(32.0),
        (9 | 10, 0) => Some(64.0),
        (6..=12, _) => Some(2.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_h200_by_its_clocks_and_widths() {
        let limits = Limits {
            fp64: 0.0,
            hbm: 0.0,
            l2: 0.0,
            l1: 0.0,
            capability: (9, 0),
            multiprocessors: 132,
            hertz: 1.98e9,
            memory_hertz: 3.201e9,
            bus_bits: 6016.0,
        };
        let theoretical = theoretical(&limits);
        // The archive's, to a millionth.
        let near = |value: f64, archived: f64| (value / archived - 1.0).abs() <= 1e-6;
        assert!(near(theoretical.fp64.unwrap(), 33_454_080_000_000.0));
        assert!(near(theoretical.hbm, 4_814_304_000_000.0), "{}", theoretical.hbm);
        assert!(near(theoretical.shared, 33_454_080_000_000.0));
        assert_eq!(fp64_lanes((13, 0)), None);
    }
}
