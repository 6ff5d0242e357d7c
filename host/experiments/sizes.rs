//! How many groups a slab has, where that is for the program to choose.

use gpp_kernels::extents::Extents;
use gpp_kernels::intrinsics::WARP;

use crate::catalogue::{BackEnd, Kernel};
use crate::devices::Device;
use crate::devices::entry;
use crate::error::Result;
use crate::problem::Frame;

/// What a slab costs beside its terms, in terms: 0.13 ms of v13's on an H200. On a processor it is less.
const SLAB: f64 = 1.5e8;

/// What is waited for the first slab's upload, over the time of its kernels: less where uploads are short (si510),
/// more where they take nearly as long as kernels (si214).
const FILL: f64 = 0.2;

/// How a launch fills a device: with as many blocks at a time as there are places, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waves {
    /// Blocks of a group, those for odd pairs aside.
    pub blocks: u64,
    /// Blocks that the device holds at a time.
    pub places: u64,
}

impl Waves {
    /// Of the last of these versions that keeps sums of groups, on a GPU.
    ///
    /// # Errors
    /// Those of loading its kernel.
    pub fn on(device: &dyn Device, frame: &Frame, versions: &[Kernel]) -> Result<Option<Waves>> {
        let of_groups = versions.iter().rev().find_map(|version| {
            let batch = frame.batches_for(*version).first();
            let kernel = batch.plan().kernel(version.gpu()?);
            kernel.igp_of_group().map(|_| (kernel, batch.nw()))
        });
        let Some((kernel, nw)) = of_groups.filter(|_| device.back_end() == BackEnd::Gpu) else {
            return Ok(None);
        };
        let info = device.kernel(kernel, entry(kernel, nw))?;
        let (header, nw) = (frame.header(), nw as u32);
        let extents = Extents {
            nbands: header.nbands as u32,
            ngpown: kernel.igp_of_group().unwrap_or(1),
            ncouls: header.ncouls as u32,
            nw,
            odd_begins: &[],
            parts: 0,
        };
        let of_multiprocessor = info.warps_per_sm.unwrap_or(0) * WARP / kernel.threads;
        let places = u64::from(of_multiprocessor) * u64::from(device.info().multiprocessors);
        let blocks = u64::from(kernel.grid(&extents).blocks());
        Ok((places > 0).then_some(Waves { blocks, places }))
    }

    /// The number of groups that would fill every place in the time that these take.
    fn filled(self, groups: usize) -> f64 {
        let waves = (groups as u64 * self.blocks).div_ceil(self.places);
        (waves * self.places) as f64 / self.blocks as f64
    }
}

/// What there is to share out.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// All groups.
    pub groups: usize,
    /// Terms of a group at the energies that are summed together.
    pub terms: f64,
    /// Who shares them.
    pub workers: usize,
    /// How launches fill a device, where that is known.
    pub waves: Option<Waves>,
}

impl Share {
    /// The groups of a slab where memory sets no bound to it.
    pub fn unbounded(self) -> usize {
        self.at_most(self.groups)
    }

    /// The groups of a slab, at most `most`, with which all are done first, data coming from the host: many
    /// slabs can be shared out evenly and begin soon, few cost little beside their terms.
    pub fn at_most(self, most: usize) -> usize {
        let Share { groups, terms, workers, waves } = self;
        let time = |size: usize| {
            let of_busiest = groups.div_ceil(size).div_ceil(workers) as f64;
            let filled = waves.map_or(size as f64, |waves| waves.filled(size));
            of_busiest * (SLAB + filled * terms) + FILL * size as f64 * terms
        };
        let sizes = (1..=most.clamp(1, groups.max(1))).rev();
        sizes.min_by(|&a, &b| time(a).total_cmp(&time(b))).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(groups: usize, terms: f64, workers: usize) -> Share {
        Share { groups, terms, workers, waves: None }
    }

    #[test]
    fn workers_have_about_the_same_to_do() {
        for groups in [1, 2, 7, 9, 87, 208, 415, 1000] {
            for workers in [1, 2, 3, 4, 5, 8] {
                for most in [1, 3, 10, 1000] {
                    // So much that what a slab costs is nothing.
                    let size = share(groups, 1e12, workers).at_most(most);
                    assert!((1..=most).contains(&size), "{groups} {workers} {most}: {size}");
                    let busiest = groups.div_ceil(size).div_ceil(workers) * size;
                    let ideal = groups.div_ceil(workers);
                    assert!(
                        busiest <= ideal + ideal / 16 + 1,
                        "{groups} groups on {workers}: {busiest} of {ideal}"
                    );
                }
            }
        }
    }

    #[test]
    fn slabs_are_worth_their_cost() {
        // si510's groups of 16 on four devices, si214's, and the demo's, which are soon done.
        let slabs = |groups: usize, terms: f64, workers| {
            groups.div_ceil(share(groups, terms / groups as f64, workers).unbounded())
        };
        assert!((20..=60).contains(&slabs(208, 3.3e11, 4)));
        assert!((8..=20).contains(&slabs(87, 2.45e10, 4)));
        assert_eq!((slabs(9, 3e7, 1), slabs(9, 3e7, 3)), (1, 3));
    }

    #[test]
    fn slabs_fill_the_devices() {
        // v13 on an H200.
        let waves = Waves { blocks: 830, places: 264 };
        assert!((waves.filled(4) - 13.0 * 264.0 / 830.0).abs() < 1e-12, "{}", waves.filled(4));
        for workers in [1, 2, 4] {
            let of = Share { waves: Some(waves), ..share(208, 3.3e11 / 208.0, workers) };
            let size = of.unbounded();
            let (slabs, part) = (208usize.div_ceil(size), size as f64 / waves.filled(size));
            assert!(slabs >= 2 * workers && part > 0.99, "{workers}: {size} groups, {part} filled");
            assert!(slabs.is_multiple_of(workers), "{workers}: {slabs} slabs");
            // Where that does not find room, it is the best of those that do.
            assert!((1..=5).contains(&of.at_most(5)), "{workers}");
        }
    }
}
