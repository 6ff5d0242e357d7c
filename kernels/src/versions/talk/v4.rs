//! V4: energies leave the kernel, one launch each.
//!
//! Without the loop over energies a thread branches less and keeps two complex sums instead of two for
//! each energy; the talk counts 16 % fewer branches and needs 122 registers (talk, V4).
//!
//! Lines of the nest: 4.

use super::v3;
use crate::entries::entries;
use crate::kernel::{Energies, Gpu, Kernel, Version};
use crate::versions::blog::step1::body;

/// What talk:V4 is.
pub static VERSION: Version =
    Version { id: "talk:V4", change: "one launch for each energy", source: "talk, V4" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    energies: Energies::OneLaunchEach,
    flops_per_term: Some(142.4),
    entries: entries!(
        body:
        gpp_talk_v4 = 1,
    ),
    ..v3::KERNEL
};
