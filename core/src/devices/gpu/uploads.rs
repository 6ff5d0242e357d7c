//! Uploads to a GPU, into memory that is reused if it is large enough.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use gpp_kernels::arrays::{Arguments, Layout, NO_INDEX, REPACK_THREADS, RepackArguments};
use gpp_kernels::kernel::{Kernel, Precision};
use gpp_kernels::plan::Poles;
use gpp_kernels::single::{COPY_THREADS, SingleCopyArguments};
use gpp_kernels::threads::blocks;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::devices::gpu::driver::{Buffer, Context, Event, GpuStream, Pinned, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::error::Result;
use crate::problem::arrays::{AQSN, ArraySpec, Extents, MatrixRef};
use crate::problem::layout::{LaidElements, Preparation, PreparedPairs};
use crate::problem::{Batch, Id, Problem, SlabView};

pub struct Uploads<'a> {
    pub context: &'a Context,
    pub stream: &'a GpuStream,
    /// Recorded before the first upload.
    pub begin: &'a Event,
    pub problem: &'a Problem,
    pub ring: &'a mut Ring,
    /// A caller's matrix elements in place of the problem's.
    pub elsewhere: Option<&'a Elsewhere<'a>>,
    pub repack: &'a mut Repack,
    pub bytes: u64,
}

impl Uploads<'_> {
    /// Enqueues an upload of `values` to `room`; if that is too small, to new memory for `spare` elements more.
    pub fn fill<T: Pod + Send + Sync>(
        &mut self,
        what: &'static str,
        room: &mut Option<Buffer<T>>,
        values: &[T],
        spare: usize,
    ) -> Result<()> {
        let copy = |at: usize, to: &mut [T]| to.copy_from_slice(&values[at..at + to.len()]);
        self.fill_with(what, room, [values.len(), spare], copy)
    }

    /// The same of matrix elements, which are laid out on the way.
    pub fn fill_elements(
        &mut self,
        array: &ArraySpec,
        room: &mut Option<Buffer<Complex64>>,
        elements: &LaidElements,
    ) -> Result<()> {
        let are_fit = AtomicBool::new(true);
        let copy = |at: usize, to: &mut [Complex64]| {
            if !elements.copy(at, to) {
                are_fit.store(false, Ordering::Relaxed);
            }
        };
        self.fill_with(array.name(), room, [elements.count(), 0], copy)?;
        self.ring.are_fit &= are_fit.into_inner();
        Ok(())
    }

    fn fill_with<T: Pod + Send>(
        &mut self,
        what: &'static str,
        room: &mut Option<Buffer<T>>,
        [length, spare]: [usize; 2],
        copy: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        let buffer = self.room(what, room, length, spare)?;
        if self.bytes == 0 {
            self.begin.record(self.stream)?;
        }
        self.ring.upload(length, copy, buffer, self.context, self.stream)?;
        self.bytes += (length * size_of::<T>()) as u64;
        Ok(())
    }

    fn room<'r, T: Pod>(
        &self,
        what: &'static str,
        room: &'r mut Option<Buffer<T>>,
        length: usize,
        spare: usize,
    ) -> Result<&'r Buffer<T>> {
        let buffer = match room.take().filter(|buffer| buffer.len() >= length) {
            Some(buffer) => buffer,
            None => self.context.buffer(what, length + spare)?,
        };
        Ok(room.insert(buffer))
    }
}

pub fn pointer<T: Pod>(room: &Option<Buffer<T>>) -> *const T {
    room.as_ref().expect("it is in place").pointer()
}

/// Most bytes of a chunk: the copy of one and the transfer of another take about as long.
const CHUNK: usize = 32 << 20;

const CHUNKS: usize = 3;

/// Bytes that a thread copies at a time.
const AT_ONCE: usize = 1 << 20;

/// Most bytes of a chunk if others copy at the same time.
const SMALL_CHUNK: usize = 4 << 20;

/// Page-locked memory that a GPU keeps for the next uploads: to lock it takes longer than to upload it.
pub type FreeChunks = Arc<Mutex<Vec<Pinned<u8>>>>;

/// Page-locked memory for uploads: while a chunk of an array is in flight, the next one is copied there.
pub struct Ring {
    free: FreeChunks,
    /// In the order in which they were begun.
    in_flight: VecDeque<Transfer<u8>>,
    /// Whether others copy at the same time: then each copies by its own thread, in small chunks.
    pub has_others: bool,
    /// False once matrix elements were out of bounds.
    pub are_fit: bool,
}

impl Drop for Ring {
    fn drop(&mut self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.in_flight.drain(..).filter_map(|transfer| transfer.wait().ok()));
        free.truncate(CHUNKS);
    }
}

impl Ring {
    pub const MOST: u64 = (CHUNKS * CHUNK) as u64;

    pub fn new(free: &FreeChunks) -> Ring {
        let (free, in_flight) = (free.clone(), VecDeque::new());
        Ring { free, in_flight, has_others: false, are_fit: true }
    }

    /// Enqueues an upload of `length` elements to the first ones of `to`, of which `copy` makes those from one on. It is no
    /// longer called when this returns.
    fn upload<T: Pod + Send>(
        &mut self,
        length: usize,
        copy: impl Fn(usize, &mut [T]) + Sync,
        to: &Buffer<T>,
        context: &Context,
        stream: &GpuStream,
    ) -> Result<()> {
        let at_once = AT_ONCE / size_of::<T>();
        let most = if self.has_others { SMALL_CHUNK } else { CHUNK } / size_of::<T>();
        for begin in (0..length).step_by(most) {
            let count = most.min(length - begin);
            let mut pinned = self.take(count * size_of::<T>(), context)?;
            let chunk: &mut [T] = bytemuck::cast_slice_mut(&mut pinned[..count * size_of::<T>()]);
            // Waking other threads takes longer than a small copy.
            if self.has_others || count <= at_once {
                copy(begin, chunk);
            } else {
                let parts = chunk.par_chunks_mut(at_once).enumerate();
                parts.for_each(|(part, to)| copy(begin + part * at_once, to));
            }
            self.in_flight.push_back(pinned.upload(count, to, begin, stream)?);
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize, context: &Context) -> Result<Pinned<u8>> {
        let waited = (self.in_flight.len() == CHUNKS).then(|| self.in_flight.pop_front()).flatten();
        let waited = waited.map(Transfer::wait).transpose()?;
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(waited);
        if let Some(at) = free.iter().position(|pinned| pinned.len() >= bytes) {
            return Ok(free.swap_remove(at));
        }
        free.pop();
        drop(free);
        context.pinned("uploads", bytes.next_power_of_two().min(CHUNK))
    }
}

/// The arrays of the bands in one layout, in memory that other bands and layouts reuse.
#[derive(Default)]
pub struct BandBuffers {
    /// What is in place: by the identities of energies and matrix elements, and the layout.
    of: Option<(Id, Id, Layout)>,
    batch: Option<(Id, Range<usize>)>,
    aqsn: Option<Buffer<Complex64>>,
    /// The address of a caller's array in place of `aqsn`.
    aqsn_on_gpu: Option<u64>,
    pub occ: Option<Buffer<f64>>,
    pub wx: Option<Buffer<f64>>,
}

impl BandBuffers {
    /// Uploads what a layout lacks, with the energies of a batch, and waits for it. Nothing in flight reads other arrays.
    pub fn want(
        &mut self,
        to: &mut Uploads,
        KernelBatch { batch, kernel }: KernelBatch,
    ) -> Result<()> {
        let (before, layout) = (to.bytes, kernel.layout);
        let (bands, order) = (to.problem.bands(), to.problem.order());
        let prepared = Preparation(layout);
        let wanted = (bands.id(), bands.elements_id(), layout);
        // The matrix of the single layout begins with that of the planned one.
        let has_more =
            layout == Layout::Planned && self.of == Some((wanted.0, wanted.1, Layout::Single));
        if self.of != Some(wanted) && !has_more {
            let of = self.of.take();
            let has_occ = of.is_some_and(|of| (of.0, of.2) == (wanted.0, wanted.2));
            self.aqsn_on_gpu = match to.elsewhere {
                // Kernels read it as it is.
                Some(Elsewhere { aqsn: MatrixRef::Device(aqsn), .. })
                    if !prepared.has_own_aqsn(order.is_kept())
                        && aqsn.ld == to.problem.extents().ncouls =>
                {
                    Some(aqsn.at)
                }
                Some(elsewhere) => {
                    elsewhere.lay(to, &AQSN, layout, &mut self.aqsn)?;
                    None
                }
                None => {
                    to.fill_elements(&AQSN, &mut self.aqsn, &prepared.aqsn(bands, order)?)?;
                    None
                }
            };
            if !has_occ {
                self.batch = None;
                to.fill("occ", &mut self.occ, &prepared.occ(bands, order), 0)?;
            }
            self.of = Some(wanted);
        }
        if self.batch.as_ref() != Some(&batch.id()) {
            self.batch = None;
            to.fill("wx", &mut self.wx, &prepared.energies(bands, batch), 0)?;
            self.batch = Some(batch.id());
        }
        // Other streams read them as well.
        if to.bytes > before { to.stream.synchronize() } else { Ok(()) }
    }

    pub fn aqsn(&self) -> *const Complex64 {
        let on_gpu = self.aqsn_on_gpu.map(|at| ptr::without_provenance(at as usize));
        on_gpu.unwrap_or_else(|| pointer(&self.aqsn))
    }
}

#[derive(Clone, Copy)]
pub struct KernelBatch<'a> {
    pub batch: &'a Batch,
    pub kernel: &'a Kernel,
}

/// What the pairs that a layout makes depend on in addition to the slab: energies, the layout, whether they are for Σ
/// alone, and of fallback pairs the batch, what poles kernels take, and their precision.
type PairsOf = (Id, Layout, bool, Option<((Id, Range<usize>), Poles, Precision)>);

impl KernelBatch<'_> {
    fn pairs(self) -> PairsOf {
        let Kernel { layout, is_sigma_alone, poles, precision, .. } = *self.kernel;
        let has_fallback = Preparation(layout).is_planned() && poles != Poles::Unread;
        let at = has_fallback.then(|| (self.batch.id(), poles, precision));
        (self.batch.id().0, layout, is_sigma_alone, at)
    }
}

/// Pairs that were prepared on the host, for the next calculation, as far as there is memory.
#[derive(Default)]
pub struct PairsCache {
    made: HashMap<((Id, Range<usize>), PairsOf), Arc<PreparedPairs>>,
    bytes: u64,
}

/// Whether pairs depend on matrix elements too.
fn is_single((.., at): &PairsOf) -> bool {
    at.as_ref().is_some_and(|(.., precision)| matches!(precision, Precision::Single { .. }))
}

impl PairsCache {
    /// Drops those of kernels in single precision.
    pub fn forget_single(&mut self) {
        self.made.retain(|(_, of), _| !is_single(of));
    }

    pub const MOST: u64 = 1 << 30;

    pub fn get_or_make(
        &mut self,
        problem: &Problem,
        slab: SlabView,
        run: KernelBatch,
    ) -> Result<Arc<PreparedPairs>> {
        let KernelBatch { batch, kernel } = run;
        let prepared = Preparation(kernel.layout);
        let key = (slab.pairs_id(), run.pairs());
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        let made = prepared.pairs(problem, slab, batch, kernel)?;
        let bytes: usize = made.arrays().iter().map(|(_, words, _)| size_of_val(*words)).sum();
        // Sorted pairs are as large as the slab.
        if !prepared.replaces() && self.bytes + bytes as u64 <= PairsCache::MOST {
            self.bytes += bytes as u64;
            self.made.insert(key, made.clone());
        }
        Ok(made)
    }
}

#[derive(Default)]
pub struct PairBuffers {
    pub made: Option<(PairsOf, Arc<PreparedPairs>)>,
    arrays: Vec<Option<Buffer<u32>>>,
}

impl PairBuffers {
    pub fn forget_single(&mut self) {
        self.made.take_if(|(of, _)| is_single(of));
    }

    pub fn is_of(&self, run: KernelBatch) -> bool {
        self.made.as_ref().is_some_and(|(in_place, _)| *in_place == run.pairs())
    }

    pub fn fill(
        &mut self,
        to: &mut Uploads,
        run: KernelBatch,
        made: Arc<PreparedPairs>,
    ) -> Result<()> {
        self.made = None;
        let arrays = made.arrays();
        self.arrays.resize_with(arrays.len(), || None);
        for ((name, words, spare), room) in arrays.into_iter().zip(&mut self.arrays) {
            to.fill(name, room, words, spare)?;
        }
        self.made = Some((run.pairs(), made));
        Ok(())
    }

    pub fn made(&self) -> &PreparedPairs {
        let (_, made) = self.made.as_ref().expect("it is in place");
        made
    }

    pub fn pointers(&self) -> Vec<*const c_void> {
        self.arrays.iter().map(|array| pointer(array).cast()).collect()
    }
}

/// A caller's matrix elements of G and G′, both on the GPU or both on the host with the distance of columns given, and with
/// bands in the problem's order.
#[derive(Clone, Debug)]
pub struct Elsewhere<'a> {
    /// `aqsntemp(ncouls, nbands)`.
    pub aqsn: MatrixRef<'a>,
    /// A matrix with a row for each G′.
    pub aqsm: MatrixRef<'a>,
    /// The row of each G′ in it (0-based), or [`NO_INDEX`]. Equal rows are the same memory in each call.
    pub rows: RowMap,
}

/// Rows of a matrix, 0-based.
pub type RowMap = Arc<Vec<u32>>;

#[derive(Default)]
pub struct Repack {
    /// What reorders, and what makes the copies of [`Layout::Single`].
    pub kernels: Option<[Arc<Loaded>; 2]>,
    /// For the matrix elements of G and of G′.
    maps: [RepackMap; 2],
}

/// Numbers of rows, then of columns, of a matrix that is reordered.
#[derive(Default)]
struct RepackMap {
    /// The rows, none for all in order, and the layout and the energies that order the bands.
    of: Option<(Option<RowMap>, Id, Layout)>,
    room: Option<Buffer<u32>>,
}

impl Elsewhere<'_> {
    /// Lays out one of the two arrays: on the GPU, or on the way to it.
    pub fn lay(
        &self,
        to: &mut Uploads,
        array: &'static ArraySpec,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        let (which, from, rows) = match ptr::eq(array, &AQSN) {
            true => (0, self.aqsn, None),
            false => (1, self.aqsm, Some(&self.rows)),
        };
        let extents = to.problem.extents();
        let prepared = Preparation(layout);
        let [first, second] = array.extents(extents, layout).map(|count| count as usize);
        let is_turned = prepared.has_bands_fastest(array);
        let (height, width) = if is_turned { (second, first) } else { (first, second) };
        let mut numbers: Vec<u32> = match rows {
            Some(rows) => rows.to_vec(),
            None => (0..extents.ncouls as u32).collect(),
        };
        numbers.resize(height, NO_INDEX);
        let bands = prepared.bands(to.problem.order());
        numbers.extend(bands.into_iter().map(|n| n as u32));
        numbers.resize(height + width, NO_INDEX);
        let from = match from {
            MatrixRef::Device(from) => from,
            MatrixRef::Spaced(_, ld) | MatrixRef::Single(_, ld) => {
                let (columns, rows) = (numbers.split_off(height), numbers);
                let laid = match is_turned {
                    true => LaidElements::Picked(from, [columns, rows], [ld, 1]),
                    false => LaidElements::Picked(from, [rows, columns], [1, ld]),
                };
                return to.fill_elements(array, room, &laid);
            }
            MatrixRef::Host(_) => unreachable!("the distance of its columns is given"),
        };
        let out = to.room(array.name(), room, height * width, 0)?.pointer();
        let mut map = std::mem::take(&mut to.repack.maps[which]);
        let energies = to.problem.bands().id();
        let is_same = |(of, order, laid): &(Option<RowMap>, Id, Layout)| {
            of.as_ref().map(Arc::as_ptr) == rows.map(Arc::as_ptr)
                && (*order, *laid) == (energies, layout)
        };
        if !map.of.as_ref().is_some_and(is_same) {
            map.of = None;
            to.fill("rows and bands", &mut map.room, &numbers, 0)?;
            map.of = Some((rows.cloned(), energies, layout));
        }
        let numbers = pointer(&map.room);
        let arguments = RepackArguments {
            from: ptr::without_provenance(from.at as usize),
            ld: from.ld as u64,
            rows: numbers,
            height: height as u32,
            columns: numbers.wrapping_add(height),
            width: width as u32,
            transposed: is_turned.into(),
            to: out,
        };
        to.repack.maps[which] = map;
        let kernels = to.repack.kernels.clone();
        let [kernel, copy] = kernels.expect("they were loaded with the matrix elements");
        let grid = [blocks((height * width) as u64, REPACK_THREADS), REPACK_THREADS, 0];
        // SAFETY: the numbers were uploaded in this stream and are within the caller's matrix by the contract of
        // `Resident::sums`. `to` has an element for each pair of them, fewer than 2³², and only this stream accesses it.
        unsafe { kernel.function.launch(to.stream, grid, &arguments.pointers())? };
        if layout != Layout::Single {
            return Ok(());
        }
        let Extents { nbands, ngpown, ncouls, .. } = extents;
        let arguments = SingleCopyArguments {
            matrix: out,
            height: height as u32,
            of: if which == 0 { ncouls } else { ngpown } as u32,
            nbands: nbands as u32,
        };
        let grid = [blocks(height as u64, COPY_THREADS), COPY_THREADS, 0];
        // SAFETY: the layout has room for the copy behind the matrix, which the launch before makes in the same stream.
        unsafe { copy.function.launch(to.stream, grid, &arguments.pointers()) }
    }
}
