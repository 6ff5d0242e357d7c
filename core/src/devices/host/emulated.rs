//! GPU versions on the host: the blocks of a grid side by side, the threads of a block in turn.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpp_kernels::emulator;
use gpp_kernels::kernel::{Gpu, Kernel};
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use gpp_kernels::sums::VALUES;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::devices::launch::Launch;
use crate::devices::{SlabSums, Upload, Watch};
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, MadePairs, preparation};
use crate::problem::{Batch, Frame, SlabView};

/// The arrays of a problem's bands in each layout that was wanted.
#[derive(Default)]
pub struct OfBands<'a>(HashMap<Layout, BandArrays<'a>>);

/// What was made of a slab.
#[derive(Default)]
pub struct OfSlab {
    /// Where it is not the slab's own.
    aqsm_local: HashMap<Layout, Vec<Complex64>>,
    /// With what they depend on beside the slab.
    pairs: HashMap<(Layout, Poles), MadePairs>,
}

impl OfSlab {
    /// Makes what a kernel reads of it at a batch, where it is not there.
    fn want(
        &mut self,
        problem: &Frame,
        batch: &Batch,
        slab: SlabView<'_>,
        kernel: &Kernel,
    ) -> Result<()> {
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        if !self.aqsm_local.contains_key(&layout)
            && let Cow::Owned(made) = prepared.aqsm_local(slab, problem.order())?
        {
            self.aqsm_local.insert(layout, made);
        }
        let (key, at) = ((layout, kernel.poles), prepared.pairs_at(batch, kernel));
        if self.pairs.get(&key).is_none_or(|(of, _)| *of != at) {
            self.pairs.insert(key, (at, prepared.pairs(problem, slab, batch, kernel)));
        }
        Ok(())
    }
}

impl<'a> OfBands<'a> {
    /// Sums a slab at a batch of energies by a GPU version's kernels.
    pub fn sum(
        &mut self,
        problem: &'a Frame,
        batch: &Batch,
        slab: SlabView<'_>,
        made: &mut OfSlab,
        gpu: &Gpu,
        watch: Watch,
    ) -> Result<SlabSums> {
        let (bands, order) = (problem.bands(), problem.order());
        let kernel = batch.plan().kernel(gpu);
        let prepared = preparation(kernel.layout);
        let of_bands = match self.0.entry(kernel.layout) {
            Entry::Occupied(there) => &*there.into_mut(),
            Entry::Vacant(none) => &*none.insert(prepared.of_bands(bands, order)?),
        };
        let wx = &prepared.energies(bands, batch);
        made.want(problem, batch, slab, kernel)?;
        let own = made.aqsm_local.get(&kernel.layout).map(Vec::as_slice);
        let aqsm_local = own.or(slab.aqsm_local().whole()).expect("wanted above");
        let (_, pairs) = &made.pairs[&(kernel.layout, kernel.poles)];
        let Launch { kernel, entry, grid, .. } = Launch::of(gpu, problem, batch, slab, &**pairs)?;
        let laid = Laid { bands, batch, slab, of_bands, wx, aqsm_local };
        let constant = batch.plan().table().wx();

        let begin = Instant::now();
        let blocks = grid.blocks();
        let mut partials = vec![f64::NAN; blocks as usize * batch.nw() * VALUES];
        let launches = kernel.launches(batch.nw());
        let (all, ran) = (launches.len() * blocks as usize, AtomicUsize::new(0));
        for iw in launches {
            let arguments = laid.arguments(kernel, &**pairs, iw, &mut partials);
            (0..blocks).into_par_iter().for_each(|block| {
                if watch.stop.is_asked() {
                    return;
                }
                // SAFETY: the launch contract. OfBands and slab checked their arrays, `arguments` that they
                // have the kernel's layout and what goes with it, and borrows them; `Launch::of` looked at
                // the extents; the launches keep the entry's energies within nw; there is room for the sums
                // of all blocks.
                unsafe { (entry.body)(arguments.address(), constant.as_ptr(), block, grid) };
                (watch.done)((ran.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64);
            });
        }
        let of_groups = partials.chunks(grid.per_group() as usize);
        let values = of_groups.map(emulator::second_stage).collect();
        Ok(SlabSums {
            values,
            groups: grid.groups as usize,
            seconds: begin.elapsed().as_secs_f64(),
            blocks: Some(blocks),
            upload: Upload::default(),
        })
    }
}
