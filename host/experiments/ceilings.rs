//! What a device can do: measured ceilings, and those that its clocks and widths promise.

use std::time::{Duration, Instant};

use gpp_kernels::ceilings::{FMA_SYMBOL, READ_SYMBOLS};

use super::measure::seen::seen;
use crate::catalogue::sources;
use crate::devices::Device as _;
use crate::devices::gauge::Watch;
use crate::devices::gpu::ceilings::{Limits, SUSTAINED};
use crate::devices::gpu::{self, Gpu};
use crate::error::Result;
use crate::record::SCHEMA;
use crate::record::ceilings::{Ceilings, Theoretical};
use crate::record::provenance::{Provenance, kernels_by};

/// Measures the ceilings of a GPU.
///
/// # Errors
/// [`crate::Error::Driver`].
pub fn ceilings(gpu: &Gpu) -> Result<Ceilings> {
    let watch = gpu.gauge().map(Watch::begin);
    let limits = gpu.limits()?;
    let end = Instant::now();
    let sustained = end - Duration::from_secs_f64(SUSTAINED)..end;
    let looks = watch.map_or(Vec::new(), Watch::end);
    let limit = gpu.gauge().and_then(|gauge| gauge.power_limit_w());
    let symbols = [FMA_SYMBOL].into_iter().chain(READ_SYMBOLS);
    let hashes = symbols.filter_map(|symbol| Some((symbol.into(), gpu::hash(symbol)?)));
    Ok(Ceilings {
        schema: SCHEMA,
        device: gpu.info().name.clone(),
        provenance: Some(Provenance::now(gpu.info())),
        kernel_hashes: Some(hashes.collect()),
        source_hash: sources::hash_at("kernels/src/ceilings.rs"),
        state: seen(&looks, &[sustained], limit).state,
        kernels_by: kernels_by(),
        fp64: limits.fp64,
        fp64_sustained: Some(limits.fp64_sustained),
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
        hbm: Some(2.0 * limits.memory_hertz * limits.bus_bits / 8.0),
        l1: Some(128.0 * cycles),
        // SMs × 4 B × lanes × clock (rules of thumb for shared memory).
        shared: Some(4.0 * 32.0 * cycles),
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
            fp64_sustained: 0.0,
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
        assert!(near(theoretical.hbm.unwrap(), 4_814_304_000_000.0), "{theoretical:?}");
        assert!(near(theoretical.shared.unwrap(), 33_454_080_000_000.0));
        assert_eq!(fp64_lanes((13, 0)), None);
    }
}
