//! A worker on a GPU: what is there of a problem's bands and slab ([`super::placed`]), and the launches.

use std::ffi::c_void;

use gpp_kernels::arguments::{PaperArguments, PlannedArguments};
use gpp_kernels::kernel::{Gpu as Kernels, Kernel};
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Plan;
use gpp_kernels::reduction::{self, SecondStageArguments};
use gpp_kernels::sums::VALUES;
use gpp_kernels::table::{self, EnergiesFrom};

use super::Gpu;
use super::driver::{Buffer, Event, Module, Stream};
use super::modules::Table;
use super::placed::{PlacedBands, PlacedSlab, Uploads};
use crate::catalogue;
use crate::devices::launch::{Launch, entry};
use crate::devices::{Done, SlabSums, Worker};
use crate::error::Result;
use crate::problem::{BandPlan, Problem, SlabView};
use crate::process::startup;

/// A worker.
pub struct OnGpu<'a> {
    gpu: &'a Gpu,
    problem: &'a Problem,
    plan: &'a BandPlan,
    bands: PlacedBands,
    slab: Option<PlacedSlab>,
    partials: Buffer<f64>,
    sums: Buffer<f64>,
    begin: Event,
    end: Event,
    stream: Stream,
}

/// Where the functions of a calculation are, and what they are called there.
pub struct Functions<'m> {
    /// The module of the version's kernel.
    pub kernel: &'m Module,
    /// Its table of energies, for kernels that read one.
    pub table: Option<&'m Table>,
    /// The module of the second stage.
    pub second_stage: &'m Module,
    /// The name there of one of our symbols.
    pub symbol: fn(&str) -> String,
}

impl<'a> OnGpu<'a> {
    /// A worker for slabs of a problem; nothing is uploaded yet.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub(super) fn new(gpu: &'a Gpu, problem: &'a Problem) -> Result<OnGpu<'a>> {
        let context = &gpu.context;
        Ok(OnGpu {
            gpu,
            problem,
            plan: problem.plan(),
            bands: PlacedBands::default(),
            slab: None,
            partials: context.buffer("partial sums", 0)?,
            sums: context.buffer("sums", 0)?,
            begin: context.event()?,
            end: context.event()?,
            stream: context.stream("the calculation")?,
        })
    }

    /// Sums a slab by the functions of some modules.
    ///
    /// # Errors
    /// Those of [`Worker::sum`].
    pub fn sum_by(
        &mut self,
        slab: SlabView<'_>,
        gpu: &Kernels,
        functions: &Functions,
    ) -> Result<SlabSums> {
        self.place(slab)?;
        let (bands, plan) = (self.problem.bands(), self.plan);
        let launch = {
            let uploads =
                Uploads { context: &self.gpu.context, stream: &self.stream, problem: self.problem };
            let placed = self.slab.as_mut().expect("placed above");
            let kernel = plan.kernel(gpu);
            self.bands.want(uploads, kernel.layout)?;
            placed.want(uploads, slab, kernel)?;
            Launch::of(gpu, self.problem, slab, placed.odd_poles(kernel))?
        };
        let Launch { kernel, entry, grid } = launch;

        let values = bands.nw() * VALUES;
        let (partials, sums) = (grid.blocks() as usize * values, grid.groups as usize * values);
        if self.partials.len() < partials {
            self.partials = self.gpu.context.buffer("partial sums", partials)?;
        }
        if self.sums.len() < sums {
            self.sums = self.gpu.context.buffer("sums", sums)?;
        }
        let function = functions.kernel.function(&(functions.symbol)(entry.symbol))?;
        let symbol = (functions.symbol)(reduction::SYMBOL);
        let second_stage = functions.second_stage.function(&symbol)?;
        let stream = &self.stream;
        // What a kernel fails to write is NaN, which no comparison passes.
        self.partials.poison(stream)?;
        self.sums.poison(stream)?;
        // Held until the kernels are done: nobody fills the table with others meanwhile.
        let reads = kernel.energies_from == EnergiesFrom::ConstantMemory;
        let held = functions.table.filter(|_| reads).map(|table| {
            let wx = plan.table().wx();
            table.holding(wx, || function.set(table::SYMBOL, wx, stream))
        });
        let _held = held.transpose()?;
        let second = SecondStageArguments {
            partials: self.partials.pointer(),
            count: grid.per_group(),
            sums: self.sums.pointer(),
        };

        self.gpu.modules.finish();
        startup::launched();
        let launched = || -> Result<f64> {
            self.begin.record(stream)?;
            for iw in kernel.launches(bands.nw()) {
                let launch = |arguments: &[*const c_void]| {
                    // SAFETY: the launch contract. Bands and slab checked their arrays, which were
                    // uploaded whole in the kernel's layout with the plan for its poles; nobody writes
                    // them, and only this stream the partial sums; the table is held. `Launch::of` looked
                    // at the extents. The arguments are those of the entry, whose module is of this context.
                    unsafe { function.launch(stream, grid.blocks(), grid.threads, arguments) }
                };
                match kernel.layout {
                    Layout::Planned => {
                        launch(&self.planned_arguments(kernel, iw).pointers())?;
                    }
                    _ => launch(&self.paper_arguments(kernel.layout, iw).pointers())?,
                }
            }
            // SAFETY: the launch contract: one block for each value of each group, of which the launches
            // before store `count` partial sums; `sums` holds as many.
            unsafe {
                second_stage.launch(stream, sums as u32, reduction::THREADS, &second.pointers())?;
            }
            self.end.record(stream)?;
            self.gpu.modules.begin();
            self.end.seconds_since(&self.begin, gpu.id())
        };
        // Whatever failed, nothing that was launched runs on when the table is let go.
        let seconds = launched().inspect_err(|_| _ = stream.synchronize())?;
        let values = self.sums.download(sums, stream)?;
        Ok(SlabSums { values, groups: grid.groups as usize, seconds, blocks: Some(grid.blocks()) })
    }

    /// Sums a slab by a version's kernels as the program has them.
    ///
    /// # Errors
    /// Those of [`Worker::sum`].
    pub fn sum_by_own(&mut self, slab: SlabView<'_>, gpu: &Kernels) -> Result<SlabSums> {
        let kernel = self.plan.kernel(gpu);
        let first = self.gpu.module_of(kernel, entry(kernel, self.problem.nw()))?;
        let second = self.gpu.module(reduction::SYMBOL)?;
        let functions = Functions {
            kernel: &first.module,
            table: Some(&first.table),
            second_stage: &second.module,
            symbol: str::to_string,
        };
        self.sum_by(slab, gpu, &functions)
    }

    /// What the paper's kernels take of the slab in place.
    fn paper_arguments(&self, layout: Layout, iw: u32) -> PaperArguments {
        let (bands, slab) = (self.bands.in_layout(layout), self.slab.as_ref().expect("placed"));
        let (header, limits) = (self.problem.header(), self.problem.limits());
        PaperArguments {
            wtilde: slab.wtilde.pointer(),
            eps: slab.eps.pointer(),
            aqsn: bands.aqsn.pointer(),
            aqsm_local: slab.aqsm_local(layout).pointer(),
            wx: bands.wx.pointer(),
            vcoul_loc: slab.vcoul_loc.pointer(),
            occ: bands.occ.pointer(),
            partials: self.partials.pointer(),
            nbands: header.nbands as u32,
            ngpown: slab.igp.len() as u32,
            ncouls: header.ncouls as u32,
            nw: self.problem.nw() as u32,
            iw,
            limittwo: limits.limittwo,
            limitone: limits.limitone,
            sexcut: limits.sexcut,
        }
    }

    /// The same with the plan, for kernels that follow it.
    fn planned_arguments(&self, kernel: &Kernel, iw: u32) -> PlannedArguments {
        let odd = self.slab.as_ref().expect("placed").odd(kernel.poles);
        let plan = Plan {
            odd_mask: odd.mask.pointer(),
            odd_pairs: odd.pairs.pointer(),
            odd_begins: odd.begins.pointer(),
            ..self.plan.view(kernel, &odd.poles)
        };
        PlannedArguments::new(self.paper_arguments(kernel.layout, iw), plan)
    }
}

impl Worker for OnGpu<'_> {
    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        if self.slab.as_ref().is_some_and(|placed| placed.igp == slab.igp()) {
            return Ok(());
        }
        // Gone before the next takes its place.
        self.slab = None;
        let uploads =
            Uploads { context: &self.gpu.context, stream: &self.stream, problem: self.problem };
        self.slab = Some(PlacedSlab::new(uploads, &self.bands, slab)?);
        Ok(())
    }

    fn sum(&mut self, slab: SlabView<'_>, kernel: catalogue::Kernel, _: Done) -> Result<SlabSums> {
        self.sum_by_own(slab, kernel.require_gpu()?)
    }
}
