//! What a version can reach of the FP64 peak, by its share of fused operations, and how much it does.

use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}

/// Shares of a version's own ceiling, that of its FMA ratio, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfOwnCeiling {
    /// By the peak of a burst, at the highest clock.
    pub burst: f64,
    /// By the peak that is sustained, where it was measured.
    pub sustained: Option<f64>,
}

/// Rate over what the FMA ratio allows of the measured peaks (70 % for the paper's v8 on a V100).
pub fn of_own_ceiling(profile: &Profile, ceilings: &Ceilings) -> OfOwnCeiling {
    let of = |peak: f64| profile.rate() / (share_of_peak(profile.fma_ratio()) * peak);
    OfOwnCeiling { burst: of(ceilings.fp64), sustained: ceilings.fp64_sustained.map(of) }
}

/// FP64 operations a second of a GPU's matrix units at its highest clock: twice those of its vectors, where its compute
/// capability has such units.
pub fn of_matrix_units(ceilings: &Ceilings, capability: Option<&str>) -> Option<f64> {
    let vectors = ceilings.theoretical.fp64?;
    matches!(capability, Some("8.0" | "9.0")).then_some(2.0 * vectors)
}

/// Rates that shared memory allows with one FP64 access for every 2, 1 and ½ operations.
pub fn shared_limits(shared: f64) -> [f64; 3] {
    [2.0, 1.0, 0.5].map(|operations| shared / 8.0 * operations)
}
