//! ω̃ and eps that stay in place while bands change.

use std::marker::PhantomData;
use std::sync::Arc;

use gpp_kernels::kernel::Kernel as GpuKernel;
use gpp_kernels::repack::NONE;
use num_complex::Complex64;

use crate::calculator::arrays::{
    NAME, NOTHING, aqsm_local, check_omega, header, require_small, screening_header, wrong,
};
use crate::calculator::opened::Opened;
use crate::calculator::{Aqsm, Bands, Calculator, Formula, Found, Screening, on_gpu};
use crate::catalogue::Kernel;
use crate::devices::Watch;
use crate::devices::gpu::resident::Resident;
use crate::devices::gpu::uploads::{GpuElements, Rows};
use crate::error::{Error, Result};
use crate::problem::arrays::{AQSN, OCC};
use crate::problem::layout::preparation;
use crate::problem::{Batches, CheckedPairs, Extents, Header, Id, Matrix, Problem, Sums};
use crate::{engine, problem};

/// A screening prepared once for any number of calls. On one GPU ω̃ and eps stay there from the first call on
/// if there is room for the whole problem; memory of one call is used again in the next.
pub struct Placed<'a> {
    pairs: CheckedPairs,
    last: Last,
    /// Rows of G′ in matrix elements of all G, and in those of this rank's alone: once they were wanted.
    rows: [Option<Rows>; 2],
    /// With the bands of no problem.
    header: Header,
    resident: Option<Resident>,
    opened: Arc<Opened>,
    borrowed: PhantomData<&'a [Complex64]>,
}

/// The bands of a call: energies and occupations, and matrix elements of the host or on a GPU.
struct GivenBands<'a, 'b> {
    small: [&'a [f64]; 2],
    host: Option<&'b Bands<'a>>,
    on_gpu: Option<&'b on_gpu::Bands<'a>>,
}

impl Calculator {
    /// SX − X and CH at these energies ω in eV; zero without columns or bands. Arrays are read in place,
    /// except that the rows of G′ are copied out of `aqsmtemp`, and that an array is copied if it has numbers
    /// below 1e-120, which count as zero, or complex poles exactly on an energy.
    ///
    /// # Errors
    /// [`Error::Input`] if an array has the wrong size, an index is out of range, or a number is not finite
    /// or out of [range](crate::problem::range); the message names the array and the place, see
    /// [`Calculator::set_index_base`]. [`Error::Memory`], [`Error::Driver`], [`Error::Stopped`]. The calculator stays
    /// usable.
    pub fn sums(
        &self,
        screening: &Screening,
        bands: &Bands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        let mut placed = self.place(screening)?;
        // A GPU keeps nothing of it, and takes it in slabs.
        placed.resident = None;
        self.sums_at(&mut placed, bands, omega, formula)
    }

    /// [`Calculator::sums`] with a screening that this calculator has placed.
    ///
    /// # Errors
    /// As [`Calculator::sums`]; [`Error::Input`] for a screening that another calculator has placed.
    pub fn sums_at(
        &self,
        placed: &mut Placed,
        bands: &Bands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        let small = [bands.e, bands.occ];
        let given = GivenBands { small, host: Some(bands), on_gpu: None };
        // SAFETY: nothing is on a GPU.
        unsafe { self.sums_of(placed, given, omega, formula) }
    }

    /// The same with matrix elements that are on this calculator's GPU: see [`on_gpu`].
    ///
    /// # Errors
    /// As [`Calculator::sums_at`]; [`Error::Input`] if a matrix is not in memory of the GPU, [`Error::Memory`]
    /// if there is no room for the whole problem.
    ///
    /// # Safety
    /// The matrices are there until this returns, and nobody writes them but what the stream has under way.
    pub unsafe fn sums_on_gpu(
        &self,
        placed: &mut Placed,
        bands: &on_gpu::Bands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        let extents @ [ncouls, _] = extents(&placed.header);
        let rows = bands.aqsm.rows(extents);
        self.require_on_gpu("aqsn", bands.aqsn, [ncouls, bands.e.len()])?;
        self.require_on_gpu("aqsm", bands.aqsm.matrix(), [rows, bands.e.len()])?;
        let small = [bands.e, bands.occ];
        let given = GivenBands { small, host: None, on_gpu: Some(bands) };
        // SAFETY: the caller's word.
        unsafe { self.sums_of(placed, given, omega, formula) }
    }

    /// Fails for a screening that another calculator has placed.
    pub(super) fn require_own(&self, placed: &Placed) -> Result<()> {
        if Arc::ptr_eq(&self.opened, &placed.opened) {
            return Ok(());
        }
        let what = "was placed by another calculator".into();
        Err(Error::Input { origin: "the screening".into(), what })
    }

    /// On the caller's thread, which is the fastest, if arrays are in place and it has nothing to tell.
    ///
    /// # Safety
    /// As [`Calculator::sums_on_gpu`], if matrix elements are on the GPU.
    unsafe fn sums_of(
        &self,
        placed: &mut Placed,
        given: GivenBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        self.require_own(placed)?;
        let (nbands, [ncouls, ngpown]) = (given.small[0].len(), placed.extents());
        if [nbands, ncouls, ngpown].contains(&0) {
            let extents = Extents { nbands, ngpown, ncouls, nw: omega.len() };
            let say = |what| self.words(None).say(wrong(what));
            OCC.check(extents, given.small[1].len()).map_err(say)?;
            let check = |bands: &Bands| AQSN.check(extents, bands.aqsn.len());
            given.host.map_or(Ok(()), check).map_err(say)?;
            return self.sums(&NOTHING.0, &NOTHING.1, omega, formula);
        }
        let is_resident = placed.resident.is_some();
        let (of, tell) = ((omega, formula), self.progress.as_ref());
        // SAFETY: the caller's word.
        let sums = |watch: Watch| unsafe { self.sums_watched(placed, given, of, watch) };
        match tell {
            None if is_resident => self.opened.here(|| sums(Watch::none())),
            _ => self.opened.called(tell, sums),
        }
    }

    /// # Safety
    /// As of [`Calculator::sums_of`].
    unsafe fn sums_watched(
        &self,
        placed: &mut Placed,
        given: GivenBands,
        (omega, formula): (&[f64], Formula),
        watch: Watch,
    ) -> Result<Found> {
        // SAFETY: the problem goes at the end of this call, which the borrows outlast.
        let problem = unsafe { self.problem(placed, given.small, given.host, omega, formula) }?;
        let version = self.version_for(problem.outline());
        let on_gpu = given.on_gpu.map(|bands| placed.on_gpu(bands));
        let are_in_place = placed.pairs.are_of(problem.slab());
        if let Some(resident) = placed.resident.as_mut().filter(|_| are_in_place) {
            // SAFETY: the caller's word.
            let found =
                unsafe { self.in_place(resident, &problem, version, on_gpu.as_ref(), watch) };
            if on_gpu.is_some() {
                placed.last.keep(problem);
                return found;
            }
            if !found.as_ref().is_err_and(Error::is_of_device_memory) {
                return found;
            }
            // The host has all of it: it goes there in slabs.
            placed.resident = None;
        }
        let Some(bands) = given.on_gpu else { return self.summed(&problem, watch) };
        drop(problem);
        let extents @ [ncouls, _] = extents(&placed.header);
        // SAFETY: the caller's word.
        let fetch =
            |name, matrix, rows| unsafe { self.fetch_matrix(name, matrix, [rows, bands.e.len()]) };
        let aqsn = fetch("aqsn", bands.aqsn, ncouls)?;
        let aqsm = fetch("aqsm", bands.aqsm.matrix(), bands.aqsm.rows(extents))?;
        let aqsm = match bands.aqsm {
            on_gpu::Aqsm::Whole(_) => Aqsm::Whole(&aqsm),
            on_gpu::Aqsm::Local(_) => Aqsm::Local(&aqsm),
        };
        let bands = Bands { aqsn: &aqsn, aqsm, e: bands.e, occ: bands.occ };
        // SAFETY: as above.
        let problem = unsafe { self.problem(placed, given.small, Some(&bands), omega, formula) }?;
        self.summed(&problem, watch)
    }

    /// See [`Placed::problem`]; errors are in the caller's words.
    ///
    /// # Safety
    /// As of that.
    pub(super) unsafe fn problem(
        &self,
        placed: &mut Placed,
        small: [&[f64]; 2],
        given: Option<&Bands>,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Problem> {
        // SAFETY: the caller's word.
        let problem = unsafe { placed.problem(small, given, omega, formula) };
        let is_whole = given.is_some_and(|bands| matches!(bands.aqsm, Aqsm::Whole(_)));
        let whole = is_whole.then_some(&placed.header);
        problem.map_err(|error| self.words(whole).say(error))
    }

    /// # Safety
    /// As [`Calculator::sums_on_gpu`], if matrix elements are on the GPU.
    unsafe fn in_place(
        &self,
        resident: &mut Resident,
        problem: &Problem,
        version: Kernel,
        on_gpu: Option<&GpuElements>,
        watch: Watch,
    ) -> Result<Found> {
        let (gpu, _) = self.opened.gpu().expect("what stays in place is on a GPU");
        let sorts = |(kernel, _): (&GpuKernel, usize)| preparation(kernel.layout).replaces();
        if on_gpu.is_none() || version.first(problem.outline()).is_some_and(sorts) {
            self.require_laid(problem.outline())?;
        }
        let mut summed = |kernel: Kernel, at: &Batches| -> Result<(Sums, f64)> {
            let after = self.stream;
            // SAFETY: the caller's word.
            let slab = unsafe { resident.sums(gpu, (problem, at), kernel, on_gpu, after, watch) }?;
            Ok((engine::ordered_sum([&slab], at.nw()), slab.seconds))
        };
        let (sums, seconds) = summed(version, &version.batches(problem))?;
        let found = Found::of(sums, version, seconds);
        if !self.static_ch {
            return Ok(found);
        }
        let (sums, seconds) = summed(self.of_static_ch(), &problem.batches_at(&[0]))?;
        Ok(found.with_static_ch(&sums, seconds))
    }
}

impl Placed<'_> {
    /// Of pairs that these devices have a place for.
    fn new(
        opened: &Arc<Opened>,
        pairs: CheckedPairs,
        header: Header,
        resident: Option<Resident>,
    ) -> Self {
        let (last, rows, opened) = (Last::default(), [None, None], opened.clone());
        Placed { pairs, last, rows, header, resident, opened, borrowed: PhantomData }
    }

    pub fn extents(&self) -> [usize; 2] {
        extents(&self.header)
    }

    /// Matrix elements on the GPU, with the rows of G′.
    fn on_gpu(&mut self, bands: &on_gpu::Bands) -> GpuElements {
        let [whole, local] = &mut self.rows;
        let header = &self.header;
        let rows = match bands.aqsm {
            on_gpu::Aqsm::Whole(_) => whole.get_or_insert_with(|| {
                let rows = header.rows().map(|row| row.map_or(NONE, |row| row as u32));
                Arc::new(rows.collect())
            }),
            on_gpu::Aqsm::Local(_) => {
                let rows = || (0..header.ngpown).map(|igp| header.column(igp) as u32).collect();
                local.get_or_insert_with(|| Arc::new(rows()))
            }
        };
        GpuElements { aqsn: bands.aqsn, aqsm: bands.aqsm.matrix(), rows: rows.clone() }
    }

    /// The problem of these energies, occupations and matrix elements, which may be elsewhere.
    ///
    /// # Safety
    /// It refers to the arrays given and to those placed, and has to be dropped before they are.
    unsafe fn problem(
        &mut self,
        [e, occ]: [&[f64]; 2],
        given: Option<&Bands>,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Problem> {
        let id = self.last.id([e, occ, omega], formula);
        if given.is_none()
            && let Some(problem) = self.last.problem()
        {
            return Ok(problem);
        }
        check_omega(omega.len()).map_err(wrong)?;
        let extents = self.header.extents();
        let extents = Extents { nbands: e.len(), nw: omega.len(), ..extents };
        require_small(extents, self.header.gvec_ng)?;
        let header = header(self.header.clone(), e, omega, formula);
        header.validate().map_err(wrong)?;
        // SAFETY: this function's own contract.
        let kept = |array: &[Complex64]| unsafe { Matrix::kept(array) };
        // SAFETY: as above.
        let aqsm_local = |bands: &Bands| unsafe { aqsm_local(bands.aqsm, &header) };
        let aqsm_local = given.map(aqsm_local).transpose()?;
        let (pairs, occ) = (&self.pairs, occ.to_vec());
        let of = |bands: problem::Bands| -> Result<Problem> {
            let bands = bands.with_occupations(occ).map_err(wrong)?;
            pairs.problem(NAME, bands.at(id), aqsm_local)
        };
        match given {
            None => of(problem::Bands::elsewhere(header).map_err(wrong)?),
            Some(bands) => self
                .opened
                .computed(|| of(problem::Bands::new(header, kept(bands.aqsn)).map_err(wrong)?)),
        }
    }
}

/// Those that were given, masked columns included.
fn extents(header: &Header) -> [usize; 2] {
    [header.ncouls, header.all_ngpown()]
}

// What the last call asked for: its identity, by which plans stay, and its problem if that refers to nobody's arrays.

/// Energies, occupations and limits of the last call.
#[derive(Default)]
pub struct Last {
    asked: Option<([Vec<f64>; 3], Formula, Id)>,
    problem: Option<Problem>,
}

impl Last {
    /// The identity of energies of bands, occupations, energies ω and limits: that of the last ones if they are the same.
    pub fn id(&mut self, given: [&[f64]; 3], formula: Formula) -> Id {
        if let Some((last, of_last, id)) = &self.asked
            && *last == given
            && *of_last == formula
        {
            return *id;
        }
        self.problem = None;
        let id = Id::unique();
        self.asked = Some((given.map(<[f64]>::to_vec), formula, id));
        id
    }

    /// The problem of the last call with [other elements](Problem::with_other_elements), if it was kept and no other
    /// identity was asked for since then.
    pub fn problem(&mut self) -> Option<Problem> {
        self.problem.take().map(Problem::with_other_elements)
    }

    /// Keeps a problem of the last identity, whose matrix elements are elsewhere.
    pub fn keep(&mut self, problem: Problem) {
        self.problem = Some(problem);
    }
}

// Places a screening.

impl Calculator {
    /// Places a screening for calls of [`Calculator::sums_at`].
    ///
    /// # Errors
    /// As [`Calculator::sums`], of what is given here.
    pub fn place<'a>(&self, screening: &Screening<'a>) -> Result<Placed<'a>> {
        // SAFETY: what is placed holds the borrow.
        let kept = |array: &[Complex64]| unsafe { Matrix::kept(array) };
        let [wtilde, eps] = [screening.wtilde, screening.eps].map(kept);
        let placed = self.opened.computed(|| {
            let header = screening_of(screening)?;
            let pairs = CheckedPairs::new(&header, wtilde, eps).map_err(wrong)?;
            Ok((header, pairs))
        });
        let (header, pairs) = placed.map_err(|error| self.words(None).say(error))?;
        let resident = self.opened.gpu().map(|_| Resident::default());
        Ok(Placed::new(&self.opened, pairs, header, resident))
    }

    /// Places a screening whose modes and `δ − ε⁻¹` are on this calculator's GPU: see [`on_gpu`].
    ///
    /// # Errors
    /// As [`Calculator::place`]; [`Error::Input`] if a matrix is not on the GPU.
    ///
    /// # Safety
    /// The matrices are there as long as what is returned is used, and nobody writes them but what the stream
    /// has under way.
    pub unsafe fn place_on_gpu(&self, screening: &on_gpu::Screening) -> Result<Placed<'static>> {
        let on_gpu::Screening { wtilde, eps, vcoul, inv_igp_index, indinv } = *screening;
        let given = Screening { wtilde: &[], eps: &[], vcoul, inv_igp_index, indinv };
        let say = |error| self.words(None).say(error);
        let header = self.opened.here(|| screening_of(&given)).map_err(say)?;
        let shape = extents(&header);
        // SAFETY: the caller's word.
        let fetch = |name, matrix| unsafe { self.fetch_matrix(name, matrix, shape) };
        let (on_host, eps_on_host) = (fetch("wtilde", wtilde)?, fetch("eps", eps)?);
        let pairs = || CheckedPairs::new(&header, on_host, eps_on_host).map_err(wrong);
        let pairs = self.opened.computed(pairs).map_err(say)?;
        let is_dense = wtilde.ld == shape[0] && eps.ld == shape[0] && header.unmasked.is_none();
        let resident = match is_dense && pairs.are_as_given() {
            // SAFETY: the caller's word.
            true => unsafe { Resident::on_gpu([wtilde.at, eps.at]) },
            false => Resident::default(),
        };
        Ok(Placed::new(&self.opened, pairs, header, Some(resident)))
    }
}

/// The screening's part of a header, looked at if it has pairs. Of the G′ it has the rows of this rank's alone.
fn screening_of(screening: &Screening) -> Result<Header> {
    let (ncouls, ngpown) = (screening.vcoul.len(), screening.inv_igp_index.len());
    require_small(Extents { nbands: 1, ngpown, ncouls, nw: 1 }, screening.indinv.len())?;
    let given = screening_header(screening);
    if [ncouls, ngpown].contains(&0) {
        return Ok(given);
    }
    // With the bands of no problem.
    let given = header(given, &[0.0], &[0.0], Formula::default());
    given.validate().map_err(wrong)?;
    let rows = given.rows().map(|row| row.map_or(0, |row| row as i32 + 1)).collect();
    let inv_igp_index = (1..).take(given.ngpown).collect();
    Ok(Header { gvec_ng: given.ngpown, indinv: rows, inv_igp_index, ..given }.without_masked())
}
