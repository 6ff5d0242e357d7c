//! What stays on a GPU while bands change: ω̃ and eps, and the memory of all else.

use std::sync::Arc;

use gpp_kernels::arrays::Layout;
use gpp_kernels::grid::blocks;
use gpp_kernels::repack;
use gpp_kernels::repack::{NONE, RepackArguments, SYMBOL, THREADS};
use num_complex::Complex64;

use crate::catalogue::Kernel;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, ForeignStream};
use crate::devices::gpu::modules::Loaded;
use crate::devices::gpu::uploads::{BandBuffers, PairsCache, Ring, Uploads, pointer};
use crate::devices::gpu::worker::{OnGpu, StreamSlot};
use crate::devices::{SlabSums, Watch, Worker};
use crate::error::Result;
use crate::problem::layout::preparation;
use crate::problem::memory::{AQSM_LOCAL, AQSN, Array};
use crate::problem::{Batches, Id, Problem};

/// A slab of all igp that stays, and memory for the rest.
#[derive(Default)]
pub struct Resident {
    /// `wtilde` and `eps`, if a caller has them there.
    on_gpu: Option<[u64; 2]>,
    /// None before the first calculation, and after one that failed.
    held: Option<Buffers>,
}

struct Buffers {
    slot: StreamSlot,
    bands: BandBuffers,
    pairs: PairsCache,
    ring: Ring,
    repack: Repack,
    /// The energies of the last calculation.
    at: Id,
}

impl Resident {
    /// Of `wtilde` and `eps`, `(ncouls, ngpown)` without gaps, that a caller has at these addresses of the
    /// device.
    ///
    /// # Safety
    /// They are there, as the problems have them that are summed, and nobody writes them, as long as this is
    /// used.
    pub unsafe fn on_gpu(pairs: [u64; 2]) -> Resident {
        Resident { on_gpu: Some(pairs), held: None }
    }

    /// Sums a problem's slab of all igp, which is the same in every call but for `aqsm_local`, at these batches of
    /// its energies. What a stream of the caller's has under way is done before.
    ///
    /// # Safety
    /// Matrix elements that are `on_gpu` are there, with as many rows and bands as the problem says, until this
    /// returns, and nobody writes them meanwhile but what the stream has under way.
    pub unsafe fn sums(
        &mut self,
        gpu: &Gpu,
        (problem, batches): (&Problem, &Batches),
        version: Kernel,
        on_gpu: Option<&GpuElements>,
        after: ForeignStream,
        watch: Watch,
    ) -> Result<SlabSums> {
        let kernels = version.require_gpu()?;
        let mut held = match self.held.take() {
            Some(held) => held,
            None => self.first(gpu, problem)?,
        };
        // Those of other energies are not wanted again.
        if held.at != problem.bands().id() {
            held.pairs = PairsCache::default();
            held.at = problem.bands().id();
        }
        if on_gpu.is_some() && held.repack.kernel.is_none() {
            held.repack.kernel = Some(gpu.module(repack::SYMBOL)?);
        }
        held.slot.stream.wait_for_foreign(after)?;
        let Buffers { slot, bands, pairs, ring, repack, at } = held;
        let worker = OnGpu::new(gpu, problem, slot);
        let mut worker = OnGpu { bands, pairs, ring, repack, on_gpu, ..worker };
        let mut of_batches = Vec::new();
        let mut sum = || -> Result<()> {
            for at in 0..batches.count() {
                watch.check()?;
                (watch.done)(at as f64 / batches.count() as f64);
                worker.launch(problem.slab(), &batches.get(at), kernels)?;
                if at + 1 < batches.count() {
                    worker.look_ahead(problem.slab(), &batches.get(at + 1), version);
                }
                of_batches.push(worker.finish()?);
            }
            Ok(())
        };
        let summed = sum();
        // Whatever failed, nothing reads on from the caller's arrays.
        summed
            .inspect_err(|_| worker.slots.iter().for_each(|slot| _ = slot.stream.synchronize()))?;
        let OnGpu { bands, pairs, ring, repack, mut slots, .. } = worker;
        let slot = slots.pop().expect("the worker has one slot");
        self.held = Some(Buffers { slot, bands, pairs, ring, repack, at });
        Ok(SlabSums::joined(of_batches).expect("a problem has an energy"))
    }

    fn first(&self, gpu: &Gpu, problem: &Problem) -> Result<Buffers> {
        let mut slot = StreamSlot::new(&gpu.context)?;
        if let Some(pairs) = self.on_gpu {
            slot.slab.read_at(pairs);
        }
        let (bands, pairs, ring, repack) = Default::default();
        Ok(Buffers { slot, bands, pairs, ring, repack, at: problem.bands().id() })
    }
}

// Matrix elements that a caller has on the GPU, and what lays them out.

/// A column-major matrix in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMatrix {
    /// Its address, `CUdeviceptr`; at a multiple of 16 bytes.
    pub at: u64,
    /// Elements from one column to the next.
    pub ld: usize,
}

impl DeviceMatrix {
    /// Its address as a pointer.
    pub fn pointer(self) -> *const Complex64 {
        std::ptr::without_provenance(self.at as usize)
    }

    /// Bytes from its first element to its last one.
    pub fn bytes(self, [rows, columns]: [usize; 2]) -> u64 {
        let before = columns.saturating_sub(1).saturating_mul(self.ld);
        before.saturating_add(rows).saturating_mul(size_of::<Complex64>()) as u64
    }
}

/// Matrix elements of G and G′ there, of bands in the problem's order.
#[derive(Clone, Debug)]
pub struct GpuElements {
    /// `aqsntemp(ncouls, nbands)`.
    pub aqsn: DeviceMatrix,
    /// What has a row for each G′.
    pub aqsm: DeviceMatrix,
    /// The row of each G′ in it (0-based); [`NONE`](gpp_kernels::repack::NONE) for one without. The same memory in
    /// each call where they are the same.
    pub rows: Rows,
}

pub enum Elements {
    Own(Arc<Buffer<Complex64>>),
    Caller(u64),
}

impl Elements {
    pub fn pointer(&self) -> *const Complex64 {
        match self {
            Elements::Own(buffer) => buffer.pointer(),
            Elements::Caller(at) => std::ptr::without_provenance(*at as usize),
        }
    }
}

#[derive(Default)]
pub struct Repack {
    /// The kernel, once it was wanted.
    pub kernel: Option<Arc<Loaded>>,
    /// Rows, then columns; those of G and those of G′.
    pub(super) maps: [Map; 2],
}

/// Rows of a matrix, 0-based.
pub type Rows = Arc<Vec<u32>>;

/// Numbers of rows and columns in place.
#[derive(Default)]
pub struct Map {
    /// Rows, whose bands are in the order of these energies, in a layout; rows that are not named are all, as they
    /// come.
    pub(super) holds: Option<(Option<Rows>, Id, Layout)>,
    pub(super) room: Option<Buffer<u32>>,
}

// A caller's matrix elements, laid out anew from where they are on the GPU.

/// Numbers up to a padded count.
fn padded(numbers: impl Iterator<Item = u32>, count: usize) -> Vec<u32> {
    numbers.chain(std::iter::repeat(NONE)).take(count).collect()
}

impl GpuElements {
    /// `aqsn` in a layout: the caller's own if kernels read it as it stands.
    pub fn elements(
        &self,
        to: &mut Uploads,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<Elements> {
        let ncouls = to.problem.extents().ncouls;
        let is_own = preparation(layout).has_own(&AQSN, to.problem.order().is_kept());
        if !is_own && self.aqsn.ld == ncouls {
            return Ok(Elements::Caller(self.aqsn.at));
        }
        self.lay(to, (&AQSN, 0), (self.aqsn, None), layout, room)?;
        Ok(Elements::Own(room.take().expect("laid out").into()))
    }

    /// Lays `aqsm` out.
    pub fn lay_aqsm(
        &self,
        to: &mut Uploads,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        self.lay(to, (&AQSM_LOCAL, 1), (self.aqsm, Some(&self.rows)), layout, room)
    }

    fn lay(
        &self,
        to: &mut Uploads,
        (array, which): (&'static Array, usize),
        (from, rows): (DeviceMatrix, Option<&Rows>),
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        let extents = to.problem.extents();
        let prepared = preparation(layout);
        let [first, second] = array.extents(extents, layout).map(|count| count as usize);
        let is_turned = prepared.has_bands_fastest(array);
        let (height, width) = if is_turned { (second, first) } else { (first, second) };
        to.room(array.name, room, height * width, 0)?;
        let mut place = std::mem::take(&mut to.repack.maps[which]);
        let energies = to.problem.bands().id();
        let is_there = place.holds.as_ref().is_some_and(|(of, order, laid)| {
            of.as_ref().map(Arc::as_ptr) == rows.map(Arc::as_ptr)
                && (*order, *laid) == (energies, layout)
        });
        if !is_there {
            place.holds = None;
            let all: Vec<u32> = match rows {
                Some(rows) => padded(rows.iter().copied(), height),
                None => padded(0..extents.ncouls as u32, height),
            };
            let bands = prepared.bands(to.problem.order()).into_iter().map(|n| n as u32);
            to.fill("rows and bands", &mut place.room, &[all, padded(bands, width)].concat(), 0)?;
            place.holds = Some((rows.cloned(), energies, layout));
        }
        let (map, out) = (pointer(&place.room), room.as_ref().expect("made above"));
        let arguments = RepackArguments {
            from: from.pointer(),
            ld: from.ld as u64,
            rows: map,
            height: height as u32,
            // Behind the rows in the same memory, which is never followed here.
            columns: map.wrapping_add(height),
            width: width as u32,
            transposed: is_turned.into(),
            to: out.pointer(),
        };
        to.repack.maps[which] = place;
        let kernel = to.repack.kernel.clone().expect("it was loaded with the matrix elements");
        let function = kernel.module.function(SYMBOL)?;
        let grid = blocks((height * width) as u64, THREADS);
        // SAFETY: `rows` and `columns` were uploaded in this stream with the numbers of rows and columns that
        // the caller's matrix has by his word; the room has an element for each pair of them, fewer than 2³²
        // as every array; this stream alone writes it, and whoever reads it comes later in the stream.
        unsafe { function.launch(to.stream, grid, THREADS, &arguments.pointers()) }
    }
}
