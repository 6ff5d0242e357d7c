//! GPU versions on the host: the blocks of a grid side by side, the threads of a block in turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpp_kernels::emulator::{self, BlockBody, Body};
use gpp_kernels::kernel::Gpu;
use gpp_kernels::layout::Layout;
use gpp_kernels::sums::VALUES;
use gpp_kernels::tiling::Grid;
use rayon::prelude::*;

use super::OfSlab;
use crate::devices::launch::Launch;
use crate::devices::{Done, SlabSums, Upload};
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, energies};
use crate::problem::{Batch, Cells, Frame, SlabView};

/// The arrays of a problem's bands in each layout.
#[derive(Default)]
pub struct Bands<'a>([Option<BandArrays<'a>>; 4]);

impl<'a> Bands<'a> {
    /// Sums a slab at a batch of energies by a GPU version's kernels.
    pub fn sum(
        &mut self,
        problem: &'a Frame,
        batch: &Batch,
        slab: SlabView<'_>,
        made: &mut OfSlab,
        gpu: &Gpu,
        done: Done,
    ) -> Result<SlabSums> {
        let (bands, order) = (problem.bands(), problem.order());
        let kernel = batch.plan().kernel(gpu);
        let layout = kernel.layout;
        let of_bands =
            self.0[layout as usize].get_or_insert_with(|| BandArrays::of(bands, order, layout));
        let wx = energies(bands, batch, layout);
        let follows = (layout == Layout::Planned).then_some(kernel.poles);
        made.want(problem, batch, slab, layout, follows);
        let odd = follows.map(|poles| made.odd(poles));
        let cells = made.cells.as_ref().filter(|_| layout == Layout::Cells);
        let parts = cells.map(Cells::count);
        let Launch { kernel, entry, grid } = Launch::of(gpu, problem, batch, slab, odd, parts)?;
        let aqsm_local = made.aqsm_local(slab, layout);
        let laid = Laid { bands, batch, slab, of_bands, wx: &wx, aqsm_local };
        let host = match entry.body {
            Body::Thread { host, .. } => host,
            Body::Block { host, .. } => {
                let cells = cells.expect("such kernels take sorted pairs");
                return Ok(of_cells(laid, cells, host, grid, done));
            }
        };
        let arrays = laid.arrays(kernel, odd);

        let begin = Instant::now();
        let groups = grid.groups as usize;
        let launches = kernel.launches(batch.nw());
        let (all, ran) = (launches.len() * grid.blocks() as usize, AtomicUsize::new(0));
        let mut values = Vec::with_capacity(batch.nw() * VALUES * groups);
        for iw in launches {
            let blocks: Vec<_> = (0..grid.blocks())
                .into_par_iter()
                .map(|block| {
                    // SAFETY: the launch contract. Bands and slab checked their arrays, `arrays` that they
                    // have the kernel's layout and its plan, and borrows them; `Launch::of` looked at the
                    // extents; the launches keep the entry's energies within nw.
                    let sums = unsafe { emulator::run_block(host, arrays.get(), iw, block, grid) };
                    done((ran.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64);
                    sums
                })
                .collect();
            for value in 0..entry.energies as usize * VALUES {
                let mut partials = vec![f64::NAN; blocks.len()];
                for (block, sums) in (0..).zip(&blocks) {
                    partials[grid.slot(block) as usize] = sums[value];
                }
                let of_groups = partials.chunks(grid.per_group() as usize);
                values.extend(of_groups.map(emulator::second_stage));
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        let upload = Upload::default();
        Ok(SlabSums { values, groups, seconds, blocks: Some(grid.blocks()), upload })
    }
}

/// Sums the sorted pairs of a slab, by blocks that store their sums themselves.
fn of_cells(laid: Laid, cells: &Cells, host: BlockBody, grid: Grid, done: Done) -> SlabSums {
    let begin = Instant::now();
    let (blocks, values) = (grid.blocks(), laid.batch.nw() * VALUES);
    let mut partials = vec![f64::NAN; blocks as usize * values];
    let arguments = laid.cells(cells, &mut partials);
    let ran = AtomicUsize::new(0);
    (0..blocks).into_par_iter().for_each(|block| {
        // SAFETY: the launch contract. Bands and slab checked their arrays, `arguments` that they have the
        // layout, and borrows them; the pairs are those of the slab; `Launch::of` looked at the extents;
        // there is room for the sums of all blocks.
        unsafe { host(arguments.get(), block, blocks) };
        done((ran.fetch_add(1, Ordering::Relaxed) + 1) as f64 / f64::from(blocks));
    });
    let values = partials.chunks(blocks as usize).map(emulator::second_stage).collect();
    let (seconds, upload) = (begin.elapsed().as_secs_f64(), Upload::default());
    SlabSums { values, groups: 1, seconds, blocks: Some(blocks), upload }
}
