//! Uploads of arrays, to memory that is there already if that is large enough.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use gpp_kernels::arrays::Layout;
use gpp_kernels::grid::blocks;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::repack::{NONE, RepackArguments, SYMBOL, THREADS};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::catalogue;
use crate::devices::gpu::driver::{Buffer, Context, Event, Pinned, Stream, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::error::{Error, Result};
use crate::problem::arrays::{AQSM_LOCAL, AQSN, Array};
use crate::problem::layout::{Pairs, PairsAt, preparation};
use crate::problem::{Batch, Id, Outline, Problem, SlabView, layout};

/// Where uploads go, and what of.
pub struct Uploads<'a> {
    pub context: &'a Context,
    pub stream: &'a Stream,
    pub begin: &'a Event,
    pub problem: &'a Problem,
    pub ring: &'a mut Ring,
    /// Matrix elements that are on the GPU already, in place of the problem's.
    pub on_gpu: Option<&'a GpuElements>,
    pub repack: &'a mut Repack,
    /// Whether what other layouts have of their own makes room.
    pub one_layout: bool,
    pub bytes: u64,
}

impl Uploads<'_> {
    /// Memory of the device that `values` are enqueued for.
    pub fn of<T: Pod>(&mut self, what: &'static str, values: &[T]) -> Result<Buffer<T>> {
        let mut room = None;
        self.fill(what, &mut room, values, 0)?;
        Ok(room.expect("filled"))
    }

    /// Enqueues `values` for memory that is there, or for other with `spare` elements more if that is too
    /// small.
    pub fn fill<T: Pod>(
        &mut self,
        what: &'static str,
        room: &mut Option<Buffer<T>>,
        values: &[T],
        spare: usize,
    ) -> Result<()> {
        let buffer = self.room(what, room, values.len(), spare)?;
        if self.bytes == 0 {
            self.begin.record(self.stream)?;
        }
        if !buffer.upload_registered(values, self.stream)? {
            self.ring.upload(values, buffer, self.context, self.stream)?;
        }
        self.bytes += size_of_val(values) as u64;
        Ok(())
    }

    /// Memory that is there, or other with `spare` elements more if that is too small.
    pub fn room<'r, T: Pod>(
        &self,
        what: &'static str,
        room: &'r mut Option<Buffer<T>>,
        length: usize,
        spare: usize,
    ) -> Result<&'r Buffer<T>> {
        let kept = room.take().filter(|buffer| buffer.len() >= length);
        let buffer = match kept {
            Some(buffer) => buffer,
            None => {
                let length = length + spare;
                self.require(what, (length * size_of::<T>()) as u64)?;
                self.context.buffer(what, length)?
            }
        };
        Ok(room.insert(buffer))
    }

    /// Whether the layouts in place make room for one, or it for them.
    pub fn makes_room(&self, layout: Layout, mut others: impl Iterator<Item = Layout>) -> bool {
        self.one_layout
            || preparation(layout).replaces()
            || others.any(|other| preparation(other).replaces())
    }

    /// Fails if less than `needed` bytes are free.
    pub fn require(&self, what: &str, needed: u64) -> Result<()> {
        let (free, _) = self.context.memory()?;
        if needed > free {
            let what = format!("{what} of {}", self.problem.name());
            return Err(Error::memory("device", &what, needed, free, None));
        }
        Ok(())
    }
}

/// Where an array in place is.
pub fn pointer<T: Pod>(room: &Option<Buffer<T>>) -> *const T {
    room.as_ref().expect("it is in place").pointer()
}

// Uploads through page-locked memory: while a part of an array is on its way, the next one is copied there.

/// Bytes of a part at most: the copy of one and the transfer of another take about as long.
const PART: usize = 32 << 20;

/// Parts on their way at most.
const PARTS: usize = 3;

/// Bytes that a thread copies at a time.
const AT_ONCE: usize = 1 << 20;

/// Page-locked memory that uploads go through, taken when it is first needed.
#[derive(Default)]
pub struct Ring {
    free: Vec<Pinned<u8>>,
    /// In the order in which they were begun.
    on_its_way: VecDeque<Transfer<u8>>,
}

impl Ring {
    /// Bytes that it takes at most.
    pub const MOST: u64 = (PARTS * PART) as u64;

    /// Enqueues an upload of `values` to the first elements of `to`. They are not read any more when this
    /// returns; what is enqueued in `stream` afterwards finds them there.
    pub fn upload<T: Pod>(
        &mut self,
        values: &[T],
        to: &Buffer<T>,
        context: &Context,
        stream: &Stream,
    ) -> Result<()> {
        let size = size_of::<T>();
        for (part, begin) in values.chunks(PART / size).zip((0..).step_by(PART / size)) {
            let bytes: &[u8] = bytemuck::cast_slice(part);
            let mut pinned = self.take(bytes.len(), context)?;
            let to_fill = &mut pinned[..bytes.len()];
            // Other threads take longer to wake than a small copy takes.
            if bytes.len() <= AT_ONCE {
                to_fill.copy_from_slice(bytes);
            } else {
                to_fill
                    .par_chunks_mut(AT_ONCE)
                    .zip(bytes.par_chunks(AT_ONCE))
                    .for_each(|(to, from)| to.copy_from_slice(from));
            }
            self.on_its_way.push_back(pinned.upload_part(part.len(), to, begin, stream)?);
        }
        Ok(())
    }

    /// Memory of at least so many bytes.
    fn take(&mut self, bytes: usize, context: &Context) -> Result<Pinned<u8>> {
        if self.on_its_way.len() == PARTS
            && let Some(first) = self.on_its_way.pop_front()
        {
            self.free.push(first.wait()?);
        }
        let fits = self.free.iter().position(|pinned| pinned.len() >= bytes);
        match (fits, self.free.is_empty()) {
            (Some(at), _) => return Ok(self.free.swap_remove(at)),
            // Others take its place.
            (None, false) => drop(self.free.pop()),
            (None, true) => {}
        }
        context.pinned("uploads", bytes.next_power_of_two().min(PART))
    }
}

// The arrays of a problem's bands on a GPU. What stays when other bands come is memory, and what they have too.

/// The arrays of the bands in one layout, in memory that those of the next bands take over.
pub struct LayoutBuffers {
    layout: Layout,
    /// None if other bands have these.
    aqsn: Option<Elements>,
    /// None if other bands have these.
    occ: Option<Arc<Buffer<f64>>>,
    which: Option<(Id, Range<usize>)>,
    wx: Option<Buffer<f64>>,
}

impl LayoutBuffers {
    /// Matrix elements of G.
    pub fn aqsn(&self) -> *const Complex64 {
        self.aqsn.as_ref().expect("they were wanted").pointer()
    }

    /// Occupations.
    pub fn occ(&self) -> *const f64 {
        self.occ.as_ref().expect("they were wanted").pointer()
    }

    /// The energies in place.
    pub fn energies(&self) -> *const f64 {
        pointer(&self.wx)
    }
}

/// The arrays of the bands. What stands in the problem's own order is there once for all layouts.
#[derive(Default)]
pub struct BandBuffers {
    /// Whose they are: energies, and matrix elements.
    of: Option<[Id; 2]>,
    aqsn: Option<Arc<Buffer<Complex64>>>,
    occ: Option<Arc<Buffer<f64>>>,
    layouts: Vec<LayoutBuffers>,
    /// Memory for those of the next bands.
    spare: (Option<Buffer<Complex64>>, Option<Buffer<f64>>),
}

impl BandBuffers {
    /// Uploads what a layout lacks, with the energies of a batch; it is there when this returns. Nothing that
    /// is under way reads other energies.
    pub fn want(&mut self, to: &mut Uploads, layout: Layout, batch: &Batch) -> Result<()> {
        let before = to.bytes;
        let LayoutBuffers { which, wx, .. } = self.want_bands(to, layout)?;
        if which.as_ref() != Some(&batch.id()) {
            *which = None;
            let energies = preparation(layout).energies(to.problem.bands(), batch);
            to.fill("wx", wx, &energies, 0)?;
            *which = Some(batch.id());
        }
        // Other streams read them as well.
        if to.bytes > before { to.stream.synchronize() } else { Ok(()) }
    }

    /// Forgets what other bands have: occupations too, unless these have the same energies.
    fn renew(&mut self, to: &Uploads) {
        let ids @ [energies, elements] =
            [to.problem.bands().id(), to.problem.bands().elements_id()];
        let [same_energies, same_elements] = match self.of.replace(ids) {
            Some([of_energies, of_elements]) => [of_energies == energies, of_elements == elements],
            None => return,
        };
        // Another order of bands goes with other energies.
        if same_energies && same_elements {
            return;
        }
        self.aqsn = None;
        for placed in &mut self.layouts {
            if let Some(Elements::Own(aqsn)) = placed.aqsn.take() {
                self.spare.0 = Arc::into_inner(aqsn).or(self.spare.0.take());
            }
        }
        if same_energies {
            return;
        }
        self.occ = None;
        for occ in self.layouts.iter_mut().filter_map(|placed| placed.occ.take()) {
            self.spare.1 = Arc::into_inner(occ).or(self.spare.1.take());
        }
    }

    /// Uploads what a layout lacks but for energies.
    fn want_bands(&mut self, to: &mut Uploads, layout: Layout) -> Result<&mut LayoutBuffers> {
        fn there<T: Pod>(
            to: &mut Uploads,
            what: &'static str,
            array: Cow<[T]>,
            own_order: &mut Option<Arc<Buffer<T>>>,
            spare: &mut Option<Buffer<T>>,
        ) -> Result<Arc<Buffer<T>>> {
            let mut filled = |values: &[T]| -> Result<Arc<Buffer<T>>> {
                to.fill(what, spare, values, 0)?;
                Ok(spare.take().expect("filled").into())
            };
            let values = match array {
                Cow::Owned(values) => return filled(&values),
                Cow::Borrowed(values) => values,
            };
            let buffer = match own_order.take() {
                Some(buffer) => buffer,
                None => filled(values)?,
            };
            Ok(own_order.insert(buffer).clone())
        }
        self.renew(to);
        let (prepared, bands, order) =
            (preparation(layout), to.problem.bands(), to.problem.order());
        let at = self.layouts.iter().position(|of| of.layout == layout);
        let at = at.unwrap_or_else(|| {
            if to.makes_room(layout, self.layouts.iter().map(|of| of.layout)) {
                self.layouts.clear();
                if prepared.has_own(&AQSN, order.is_kept()) {
                    self.aqsn = None;
                }
            }
            self.layouts.push(LayoutBuffers {
                layout,
                aqsn: None,
                occ: None,
                which: None,
                wx: None,
            });
            self.layouts.len() - 1
        });
        let (placed, spare) = (&mut self.layouts[at], &mut self.spare);
        if placed.aqsn.is_none() {
            placed.aqsn = Some(match to.on_gpu {
                Some(on_gpu) => on_gpu.elements(to, layout, &mut spare.0)?,
                None => {
                    let values = prepared.aqsn(bands, order)?;
                    Elements::Own(there(to, "aqsn", values, &mut self.aqsn, &mut spare.0)?)
                }
            });
        }
        if placed.occ.is_none() {
            let values = prepared.occ(bands, order);
            placed.occ = Some(there(to, "occ", values, &mut self.occ, &mut spare.1)?);
        }
        Ok(placed)
    }

    /// Whether there are none in any layout.
    pub fn is_empty(&self) -> bool {
        self.layouts.is_empty()
    }

    /// The arrays in a layout.
    pub fn in_layout(&self, layout: Layout) -> &LayoutBuffers {
        let of_layout = self.layouts.iter().find(|of| of.layout == layout);
        of_layout.expect("the layout was wanted")
    }
}

// What layouts make of a slab's pairs: on the host, and in place on a GPU.

/// What it is made of: a slab's pairs, energies, and what it depends on beside.
type Key = ((Id, Range<usize>), Id, Layout, Option<PairsAt>);

/// What was made of a problem's slabs, which stays for the next calculation if there is room; what finds none
/// is made again.
#[derive(Default)]
pub struct PairsCache {
    made: HashMap<Key, Arc<Pairs>>,
    bytes: HashMap<Layout, u64>,
    /// That which is needed next, whether it finds room or not.
    next: Option<(Key, Arc<Pairs>)>,
    granted: u64,
}

impl PairsCache {
    /// Bytes that are kept at most while these versions run, but for those that are granted.
    pub fn most(problem: Outline, versions: &[catalogue::Kernel]) -> u64 {
        let of_version = |version: &catalogue::Kernel| {
            let ((kernel, _), batches) = (version.first(problem)?, version.energies(problem));
            Some(preparation(kernel.layout).bytes_kept(problem.extents, batches.count(), 0))
        };
        versions.iter().filter_map(of_version).max().unwrap_or(0)
    }

    /// Grants so many bytes to layouts that take as much as the slabs themselves.
    pub fn grant(&mut self, bytes: u64) {
        self.granted = bytes;
    }

    /// Makes that of a slab which a kernel needs at the next batch, if it depends on the batch.
    pub fn look_ahead(
        &mut self,
        problem: &Problem,
        slab: SlabView,
        (batch, kernel): (&Batch, &Kernel),
    ) {
        let at = preparation(kernel.layout).pairs_at(batch, kernel);
        let key = (slab.pairs_id(), problem.bands().id(), kernel.layout, at);
        if key.3.is_some() && self.next.as_ref().is_none_or(|(of, _)| *of != key) {
            let made = self.of(problem, slab, (batch, kernel));
            self.next = Some((key, made));
        }
    }

    /// That of a slab which a kernel needs at a batch, made now if it is not there.
    pub fn of(
        &mut self,
        problem: &Problem,
        slab: SlabView,
        (batch, kernel): (&Batch, &Kernel),
    ) -> Arc<Pairs> {
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        let at = prepared.pairs_at(batch, kernel);
        let key = (slab.pairs_id(), problem.bands().id(), layout, at);
        let next = self.next.take_if(|(of, _)| *of == key).map(|(_, made)| made);
        if let Some(made) = next.or_else(|| self.made.get(&key).cloned()) {
            return made;
        }
        let made = prepared.pairs(problem, slab, batch, kernel);
        let bytes: usize = made.arrays().iter().map(|array| size_of_val(array.words)).sum();
        let batches = if batch.nw() == problem.nw() { 1 } else { usize::MAX };
        let most = prepared.bytes_kept(problem.extents(), batches, self.granted);
        let kept = self.bytes.entry(layout).or_default();
        if *kept + bytes as u64 <= most {
            *kept += bytes as u64;
            self.made.insert(key, made.clone());
        }
        made
    }
}

/// What a layout made of a slab's pairs, in memory that that of the next slab takes over.
#[derive(Default)]
pub struct PairBuffers {
    /// That in place, and what it depends on beside the slab; the energies first.
    made: Option<(Id, layout::MadePairs)>,
    arrays: Vec<Option<Buffer<u32>>>,
}

impl PairBuffers {
    pub fn forget(&mut self) {
        self.made = None;
    }

    /// Whether that which a kernel needs at a batch is in place.
    pub fn is_of(&self, batch: &Batch, kernel: &Kernel) -> bool {
        let at = preparation(kernel.layout).pairs_at(batch, kernel);
        let (energies, _) = batch.id();
        self.made.as_ref().is_some_and(|(of, (made_at, _))| *of == energies && *made_at == at)
    }

    /// Enqueues that which a kernel needs at a batch.
    pub fn fill(
        &mut self,
        to: &mut Uploads,
        (batch, kernel): (&Batch, &Kernel),
        made: Arc<Pairs>,
    ) -> Result<()> {
        self.made = None;
        let arrays = made.arrays();
        self.arrays.resize_with(arrays.len(), || None);
        for (array, room) in arrays.into_iter().zip(&mut self.arrays) {
            to.fill(array.name, room, array.words, array.spare)?;
        }
        let at = preparation(kernel.layout).pairs_at(batch, kernel);
        self.made = Some((batch.id().0, (at, made)));
        Ok(())
    }

    /// That in place.
    pub fn made(&self) -> &Pairs {
        let (_, (_, made)) = self.made.as_ref().expect("it was wanted");
        made
    }

    pub fn pointers(&self) -> Vec<*const c_void> {
        self.arrays.iter().map(|array| pointer(array).cast()).collect()
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
    maps: [Map; 2],
}

/// Rows of a matrix, 0-based.
pub type Rows = Arc<Vec<u32>>;

/// Numbers of rows and columns in place.
#[derive(Default)]
pub struct Map {
    /// Rows, whose bands are in the order of these energies, in a layout; rows that are not named are all, as they
    /// come.
    holds: Option<(Option<Rows>, Id, Layout)>,
    room: Option<Buffer<u32>>,
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
