//! What bounds a version: how much of each limit of the device it uses.

use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// Above this share a limit is called what bounds a version; below, latency is.
pub const BOUND: f64 = 0.8;

/// A limit of the device and the share of it that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The limit.
    pub limit: &'static str,
    /// From 0 to 1.
    pub share: f64,
}

/// Shares of the limits that a version uses, the largest first: the bandwidths, relative to the
/// measured ceilings, and the FP64 pipe where its share was counted, on a processor the FP64 peak.
pub fn uses(profile: &Profile, ceilings: &Ceilings) -> Vec<Use> {
    let moved = |bytes: f64, ceiling: f64| bytes / profile.duration_s / ceiling;
    let processor = ceilings.of_processor();
    let pipe = match profile.fp64_pipe_percent {
        Some(busy) => Some(("FP64 pipe", busy / 100.0)),
        None => processor.then(|| ("FP64 peak", profile.rate() / ceilings.fp64)),
    };
    let memory = if processor { "memory bandwidth" } else { "HBM bandwidth" };
    let mut uses: Vec<Use> = [
        (memory, Some(profile.bytes.hbm), ceilings.hbm),
        ("L2 bandwidth", profile.bytes.l2, ceilings.l2),
        ("L1 bandwidth", profile.bytes.l1, ceilings.l1),
    ]
    .into_iter()
    .filter_map(|(limit, bytes, ceiling)| Some((limit, moved(bytes?, ceiling))))
    .chain(pipe)
    .map(|(limit, share)| Use { limit, share })
    .collect();
    uses.sort_by(|a, b| b.share.total_cmp(&a.share));
    uses
}

/// What bounds a version, in a sentence.
pub fn bound(profile: &Profile, ceilings: &Ceilings) -> String {
    let uses = uses(profile, ceilings);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let (first, second) = (uses[0], uses[1]);
    let limit = if first.share >= BOUND {
        format!("bound by the {}, {} used", first.limit, percent(first.share))
    } else {
        format!("bound by latency: the {} is {} used", first.limit, percent(first.share))
    };
    let stall = profile.main_stall().map_or(String::new(), |(why, share)| {
        format!("; warps wait most for {} ({})", why.replace('_', " "), percent(share))
    });
    format!("{limit}, the {} {}{stall}", second.limit, percent(second.share))
}

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}

/// Rates that shared memory allows with one FP64 access for every 2, 1 and ½ operations.
pub fn shared_limits(shared: f64) -> [f64; 3] {
    [2.0, 1.0, 0.5].map(|operations| shared / 8.0 * operations)
}
