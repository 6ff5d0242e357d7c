//! Which version sums a task.

pub use gpp_kernels::offdiag::{ALL, Version};

use crate::devices::Device;
use crate::devices::gpu::Gpu;
use crate::error::{Error, Result};

pub fn find(id: &str) -> Option<&'static Version> {
    ALL.into_iter().find(|version| version.id == id)
}

/// Relative times of 16 bands l of real poles on compute capability 9: `ring` at 64 and 128 bands of si214, with l of two
/// bands n in a warp, the others at 96 and 128.
const COSTS: [(&str, usize); 3] = [("ring", 40), ("m16n8k16", 34), ("wide", 35)];

/// The fastest for a compute capability and so many bands l and m; none if no version runs. Of versions that cost as
/// much it is the last.
pub fn fastest(capability: f64, bands: usize) -> Option<&'static Version> {
    let cost = |version: &&Version| {
        let cost = COSTS.iter().find(|(id, _)| *id == version.id);
        cost.map_or(usize::MAX, |(_, cost)| cost * version.fragments(bands))
    };
    let running = ALL.into_iter().rev().filter(|version| runs(version, capability));
    running.min_by_key(cost)
}

/// Whether a version runs on a compute capability. From 12.0 on a block has 99 KiB of shared memory, too little for a
/// ring.
fn runs(version: &Version, capability: f64) -> bool {
    capability >= version.capability && !(version.is_pipelined && capability >= 12.0)
}

/// The version that is asked for, or else the fastest on a GPU.
pub fn on(gpu: &Gpu, asked: Option<&'static Version>, bands: usize) -> Result<&'static Version> {
    let text = gpu.info().compute_capability.as_ref();
    let capability = text.and_then(|text| text.parse().ok()).unwrap_or_default();
    let found = match asked {
        Some(version) => Some(version).filter(|version| runs(version, capability)),
        None => fastest(capability, bands),
    };
    found.ok_or_else(|| {
        let Version { id, capability: needed, is_pipelined, .. } = asked.unwrap_or(ALL[0]);
        let most = if *is_pipelined { ", below 12.0" } else { "" };
        let what = format!("has compute capability {capability:.1}, {id} needs {needed:.1}{most}");
        Error::Input { origin: gpu.info().id.clone(), what }
    })
}

#[cfg(test)]
mod tests;
