//! ω̃ and eps that stay in place while bands change, and what is summed of them (see [`crate::offdiag`]).

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use gpp_kernels::arrays::NO_INDEX;
use gpp_kernels::kernel::Kernel as GpuKernel;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::calculator::arrays::{
    NAME, aqsm_local, check_omega, header_of, require_small, screening_header,
};
use crate::calculator::states::State;
use crate::calculator::{Bands, Calculator, Formula, Found, MatrixRef, Precision, Screening};
use crate::devices::Control;
use crate::devices::gpu::uploads::{Elsewhere, RowMap};
use crate::devices::gpu::worker::{Resident, StateSlot};
use crate::engine::Engine;
use crate::error::{Error, Owner, Result, invalid};
use crate::offdiag::{
    Borrowed, Elements, MatrixEnergies, MatrixSums, MatrixTask, MatrixWorkers, once_each, workers,
};
use crate::os::memory::require;
use crate::problem;
use crate::problem::arrays::{AQSN, OCC};
use crate::problem::layout::Preparation;
use crate::problem::{CheckedPairs, ComplexMatrix, Extents, Header, Id, Outline, Problem, Sums};
use crate::ranks::Alone;
use crate::session::Session;

/// A screening for any number of calls. On one GPU ω̃ and eps stay from the first call on if all has room.
pub struct Placed<'a> {
    /// As they were given.
    given: CheckedPairs,
    /// The same with this broadening, that of the last call.
    pairs: CheckedPairs,
    eta: f64,
    /// Energies of the bands, occupations, ω and limits of the last call, and the identity that plans have of them.
    asked: Option<([Vec<f64>; 3], Formula, Id)>,
    /// Rows of this rank's G′ among the rows of all G, and among the rows of its columns: made at first use.
    rows: [Option<RowMap>; 2],
    /// With the bands of no problem.
    header: Header,
    resident: Option<Resident>,
    /// When it began to be placed, if it is for one call.
    once: Option<Instant>,
    begun: Instant,
    session: Arc<Session<'static>>,
    borrowed: PhantomData<&'a [Complex64]>,
}

impl Calculator {
    /// Places a screening for calls of [`Calculator::sums_at`] and [`Calculator::matrix_at`].
    ///
    /// # Errors
    /// As [`Calculator::sums`], for the screening.
    pub fn place<'a>(&self, screening: &Screening<'a>) -> Result<Placed<'a>> {
        let (once, begun) = (None, Instant::now());
        let say = |error| self.in_words_of_caller(error, None);
        let header = self.session.computed(|| screening_header(screening)).map_err(say)?;
        let shape @ [ncouls, _] = dimensions(&header);
        let matrix = |name, matrix| -> Result<ComplexMatrix> {
            Ok(match self.on_host(name, matrix, shape)? {
                Cow::Owned(fetched) => fetched.into(),
                // SAFETY: what is placed holds the borrow.
                Cow::Borrowed(array) => unsafe { ComplexMatrix::kept(array) },
            })
        };
        let (wtilde, eps) = (matrix("wtilde", screening.wtilde)?, matrix("eps", screening.eps)?);
        let pairs = || CheckedPairs::new(&header, wtilde, eps);
        let pairs = self.session.computed(pairs).map_err(say)?;
        let resident = match (screening.wtilde, screening.eps) {
            // Kernels read the caller's own matrices if they are as the problem has them.
            (MatrixRef::Device(wtilde), MatrixRef::Device(eps))
                if [wtilde.ld, eps.ld] == [ncouls; 2]
                    && header.unmasked.is_none()
                    && pairs.are_as_given =>
            {
                // SAFETY: the contract of `DeviceMatrix::new`.
                Some(unsafe { Resident::on_gpu([wtilde.at, eps.at]) })
            }
            _ => self.session.gpu().map(|_| Resident::default()),
        };
        let (rows, session) = ([None, None], self.session.clone());
        let (given, eta, asked, borrowed) = (pairs.clone(), 0.0, None, PhantomData);
        Ok(Placed {
            given,
            pairs,
            eta,
            asked,
            rows,
            header,
            resident,
            once,
            begun,
            session,
            borrowed,
        })
    }

    /// SX − X and CH at these energies ω in eV; zero without columns, bands or G vectors. Host arrays are read in
    /// place, but gpp copies the rows of G′ in `aqsmtemp`, arrays that a version reorders, and arrays with numbers
    /// below 1e-120, which count as zero, or with complex poles exactly on an energy.
    ///
    /// # Errors
    /// [`Error::Data`] for an array of the wrong size, an index out of range, or a number not finite or out of
    /// [range](crate::problem::range), by name and place ([`Calculator::with_index_base`]). [`Error::Input`] for an array
    /// in the wrong memory, [`Error::Memory`], [`Error::Threads`], [`Error::Driver`], [`Error::Stopped`],
    /// [`Error::Inaccurate`]. The calculator stays usable.
    pub fn sums(
        &self,
        screening: &Screening,
        bands: &Bands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        self.sums_at(&mut self.place(screening)?.once(), bands, omega, formula)
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
        self.require_own(placed)?;
        let state = State { bands: *bands, omega };
        self.check_requests(omega, formula)?;
        if let Some(nothing) = self.nothing(placed, &state) {
            return nothing;
        }
        let is_resident = placed.resident.is_some();
        let begin = placed.once.unwrap_or_else(Instant::now);
        let mut sums = |control: Control| {
            let id = placed.id_of(&state, formula);
            let found = self.sums_of(placed, &state, formula, id, control)?;
            Ok(Found { call_seconds: begin.elapsed().as_secs_f64(), ..found })
        };
        match &self.progress {
            // The caller's own thread is the fastest.
            None if is_resident => self.session.here(|| sums(Control::none())),
            progress => {
                let pool = self.session.cpu().map(|_| self.session.pool()).transpose()?;
                self.session.called(pool, progress.as_ref(), sums)
            }
        }
    }

    /// Fails if what is asked for besides the sums is of other energies or of another formula, or not in single precision.
    pub(super) fn check_requests(&self, omega: &[f64], formula: Formula) -> Result<()> {
        if let Some(iw) = self.ach_of_bands.filter(|&iw| iw >= omega.len() && !omega.is_empty()) {
            let [least, found] = [0, iw].map(|iw| iw + self.index_base);
            let needs = format!("needs an index of omega, {least} to {}", least + omega.len() - 1);
            let what = format!("{needs}; found {found}");
            return Err(invalid("iw of ach_of_bands", what));
        }
        let others = self.version.filter(|version| !["v15", "cpu:alone"].contains(&version.id()));
        let single = (self.precision == Precision::Single).then(|| "in single precision".into());
        let why = single.or(others.map(|version| format!("by {}", version.id())));
        if let Some(why) = why.filter(|_| self.derivative) {
            let what =
                format!("is not summed {why}: v15 and cpu:alone sum it, in double precision");
            return Err(invalid("derivative", what));
        }
        if self.precision == Precision::Single {
            if let Some(double) = self.version.filter(|version| !version.is_single()) {
                let what = format!("is single, but {} sums in double", double.id());
                return Err(invalid("precision", what));
            }
            if !self.sigma_alone {
                let what = "single sums Σ alone: ask for that, not for SX and CH apart";
                return Err(invalid("precision", what));
            }
        }
        if self.static_ch && matches!(formula, Formula::TimeOrdered { .. }) {
            let what = "is of BerkeleyGW's formula: ask for it in a call with that";
            return Err(invalid("static_ch", what));
        }
        Ok(())
    }

    /// The sums of a rank without columns, bands or G; none if it has all of them.
    pub(super) fn nothing(&self, placed: &Placed, state: &State) -> Option<Result<Found>> {
        let (Bands { e, occ, aqsn, .. }, [ncouls, ngpown]) = (state.bands, placed.dimensions());
        let (nbands, nw) = (e.len(), state.omega.len());
        let extents = Extents { nbands, ngpown, ncouls, nw };
        if ![nbands, ncouls, ngpown].contains(&0) {
            return None;
        }
        let check = || {
            check_omega(nw)?;
            OCC.check(extents, occ.len())?;
            match aqsn {
                MatrixRef::Host(aqsn) => AQSN.check(extents, aqsn.len()),
                _ => Ok(()),
            }
        };
        let outline = Outline { extents, cut_bands: 0, poles: Poles::Real, lists_once: false };
        let zeros = |count| vec![Complex64::ZERO; count];
        let nothing = |()| Found {
            sums: Sums::zero(nw),
            derivative: self.derivative.then(|| zeros(nw)),
            static_ch: self.static_ch.then(|| zeros(nbands)),
            ach_of_bands: self.ach_of_bands.map(|_| zeros(nbands)),
            version: self.version_for(outline).id(),
            ..Found::default()
        };
        Some(check().map(nothing).map_err(|error| self.in_words_of_caller(error, None)))
    }

    pub(super) fn require_own(&self, placed: &Placed) -> Result<()> {
        if Arc::ptr_eq(&self.session, &placed.session) {
            return Ok(());
        }
        Err(invalid("the screening", "was placed by another calculator: place it with this one"))
    }

    /// The sums of a state by this identity of its energies.
    pub(super) fn sums_of(
        &self,
        placed: &mut Placed,
        state: &State,
        formula: Formula,
        id: (Id, bool),
        control: Control,
    ) -> Result<Found> {
        placed.prepare(state, formula).map_err(|error| self.in_words_of_caller(error, None))?;
        let (is_once, stays) = (placed.once.is_some(), placed.resident.is_some());
        let (parts, resident) = placed.parts();
        // SAFETY: what is prepared is dropped at the end of this call, which the borrows outlast.
        let prepared = unsafe { self.prepared(parts, state, formula, id, stays)? };
        let Prepared { problem, elsewhere, .. } = &prepared;
        let is_there = elsewhere.is_some();
        if is_once && !is_there && resident.as_ref().is_some_and(|there| there.on_gpu.is_none()) {
            *resident = None;
        }
        if let Some(there) = resident.as_mut().filter(|_| parts.pairs.are_of(problem.slab())) {
            let slot = there.slot(self.session.gpu().expect("what stays is on a GPU"));
            let found =
                slot.and_then(|slot| self.in_slot(slot, problem, elsewhere.as_ref(), control));
            match found.inspect_err(|_| there.forget()) {
                // The host has all of it: it goes to the GPU in slabs.
                Err(error) if error.is_of_device_memory() && !is_there => *resident = None,
                found => return found,
            }
        }
        control.check()?;
        let kernels = self.kernels_for(problem.outline())?;
        let igp = self.session.slab_size(problem, &kernels, true)?;
        self.found(&mut self.session.engine(problem, igp, &kernels)?, control)
    }

    /// The problem of a state; if its pairs `stay` on a GPU, without elements that are there or are checked on the way.
    ///
    /// # Safety
    /// The result refers to the state's and the placed arrays, and is dropped before them.
    pub(super) unsafe fn prepared<'a>(
        &self,
        parts: Parts,
        state: &State<'a>,
        formula: Formula,
        id: (Id, bool),
        stay: bool,
    ) -> Result<Prepared<'a>> {
        let Bands { aqsn, aqsm, aqsm_local, e, .. } = state.bands;
        let [ncouls, ngpown] = dimensions(parts.header);
        let of_g = [ncouls, e.len()];
        let of_gp = [if aqsm_local { ngpown } else { ncouls }, e.len()];
        // An array of the wrong size remains as it is, and has its error below.
        let spaced = |matrix, [rows, columns]: [usize; 2]| match matrix {
            MatrixRef::Host(array) if array.len() == rows * columns => {
                MatrixRef::Spaced(array, rows)
            }
            other => other,
        };
        let given = (spaced(aqsn, of_g), spaced(aqsm, of_gp));
        let are_elsewhere = match given {
            (MatrixRef::Device(_), MatrixRef::Device(_)) => true,
            (MatrixRef::Device(_) | MatrixRef::Host(_), _) => false,
            (_, MatrixRef::Device(_) | MatrixRef::Host(_)) => false,
            _ => !parts.checks,
        };
        if are_elsewhere && stay && !self.is_single() {
            let (aqsn, aqsm) = given;
            self.require_shape("aqsn", aqsn, of_g)?;
            self.require_shape("aqsm", aqsm, of_gp)?;
            // SAFETY: this function's own contract.
            let problem = unsafe { parts.problem(state, None, formula, id) };
            let problem = problem.map_err(|error| self.in_words_of_caller(error, None))?;
            if parts.pairs.are_of(problem.slab()) {
                let rows = parts.rows[usize::from(aqsm_local)].clone();
                let rows = rows.expect("they were made before");
                let elsewhere = Some(Elsewhere { aqsn, aqsm, rows });
                return Ok(Prepared { problem, elsewhere, _elements: Default::default() });
            }
        }
        let mut elements = vec![self.on_host("aqsn", aqsn, of_g)?];
        if aqsm_local || !aqsm.is_copy_of(aqsn) {
            elements.push(self.on_host("aqsm", aqsm, of_gp)?);
        }
        let on_host = Some((&elements[0][..], &elements[elements.len() - 1][..], aqsm_local));
        // SAFETY: this function's own contract; what was copied to the host is dropped after the problem.
        let problem = unsafe { parts.problem(state, on_host, formula, id) };
        let all_rows = (!aqsm_local).then_some(parts.header);
        let mut problem = problem.map_err(|error| self.in_words_of_caller(error, all_rows))?;
        problem.tolerance = self.tolerance;
        Ok(Prepared { problem, elsewhere: None, _elements: elements })
    }

    /// The sums of a problem whose pairs are in a slot of the GPU, and with `elsewhere` its matrix elements there.
    pub(super) fn in_slot(
        &self,
        slot: &mut StateSlot,
        problem: &Problem,
        elsewhere: Option<&Elsewhere>,
        control: Control,
    ) -> Result<Found> {
        let gpu = self.session.gpu().expect("what stays is on a GPU");
        let kernels = self.kernels_for(problem.outline())?;
        let igp = problem.extents().ngpown;
        let sorts = |(kernel, _): (&GpuKernel, usize)| Preparation(kernel.layout).replaces();
        if elsewhere.is_none() || kernels[0].first(problem.outline()).is_some_and(sorts) {
            require("what versions lay out", self.session.host_bytes(problem, &kernels, igp))?;
        }
        // SAFETY: the contract of `DeviceMatrix::new`; `require_shape` has checked the sizes.
        let worker = unsafe { slot.worker(gpu, problem, elsewhere, self.stream) }?;
        self.found(&mut Engine::new(&Alone, problem, igp, vec![worker])?, control)
    }
}

/// The problem of a state, and its matrix elements: those that it lacks, or those that were copied for it.
pub(super) struct Prepared<'a> {
    pub problem: Problem,
    pub elsewhere: Option<Elsewhere<'a>>,
    _elements: Vec<Cow<'a, [Complex64]>>,
}

/// What the problems of all states read of a placed screening.
#[derive(Clone, Copy)]
pub(super) struct Parts<'p> {
    /// Whether a problem has matrix elements of the host, checked. Otherwise they are checked on their way to a GPU.
    pub checks: bool,
    pub header: &'p Header,
    pub pairs: &'p CheckedPairs,
    pub rows: &'p [Option<RowMap>; 2],
    pub session: &'p Session<'static>,
}

impl Placed<'_> {
    /// For one call: nothing is kept for another, and a GPU takes host arrays in slabs.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.pairs.once();
        self.given.once();
        self.once = Some(self.begun);
        self
    }

    /// G and G′ of the screening, masked columns included.
    pub fn dimensions(&self) -> [usize; 2] {
        dimensions(&self.header)
    }

    /// Makes the rows of G′ among those of matrix elements on a GPU.
    pub(super) fn make_rows(&mut self, aqsm_local: bool) {
        let header = &self.header;
        let rows = || match aqsm_local {
            true => (0..header.ngpown).map(|igp| header.column(igp) as u32).collect(),
            false => header.rows().map(|row| row.map_or(NO_INDEX, |row| row as u32)).collect(),
        };
        self.rows[usize::from(aqsm_local)].get_or_insert_with(|| Arc::new(rows()));
    }

    /// Whether a GPU has the pairs of this formula from an earlier call.
    pub(super) fn is_on_gpu(&self, formula: Formula) -> bool {
        let eta = if let Formula::TimeOrdered { eta, .. } = formula { eta } else { 0.0 };
        eta == self.eta && self.resident.as_ref().is_some_and(Resident::has_pairs)
    }

    /// After a failure: nothing stays on a GPU.
    pub(super) fn forget(&mut self) {
        self.resident.iter_mut().for_each(Resident::forget);
    }

    pub(super) fn parts(&mut self) -> (Parts<'_>, &mut Option<Resident>) {
        let Placed { header, pairs, rows, session, resident, .. } = self;
        (Parts { checks: true, header, pairs, rows, session }, resident)
    }

    /// Checks the small arrays of a state, and makes what its problem reads of the screening.
    pub(super) fn prepare(&mut self, state: &State, formula: Formula) -> Result<()> {
        let header = self.parts().0.header_of(state, formula)?;
        self.broaden(header.eta.unwrap_or_default())?;
        if !matches!(state.bands.aqsm, MatrixRef::Host(_)) {
            self.make_rows(state.bands.aqsm_local);
        }
        Ok(())
    }

    /// The identity of a state's energies, occupations and limits, the last state's if equal, and whether they are new.
    pub(super) fn id_of(&mut self, state: &State, formula: Formula) -> (Id, bool) {
        let asked = [state.bands.e, state.bands.occ, state.omega];
        match &self.asked {
            Some((last, of_last, id)) if *last == asked && *of_last == formula => (*id, false),
            before => {
                let (id, are_new) = (Id::unique(), before.is_some());
                self.asked = Some((asked.map(<[f64]>::to_vec), formula, id));
                (id, are_new)
            }
        }
    }

    /// Takes this broadening. On a GPU the pairs of another one are dropped.
    fn broaden(&mut self, eta: f64) -> Result<()> {
        if eta == self.eta {
            return Ok(());
        }
        let given = &self.given;
        self.pairs = match eta {
            0.0 => given.clone(),
            eta => self.session.computed(|| given.broadened(eta))?,
        };
        (self.eta, self.resident) = (eta, self.session.gpu().map(|_| Resident::default()));
        Ok(())
    }
}

impl Parts<'_> {
    fn header_of(self, state: &State, formula: Formula) -> Result<Header> {
        let State { bands: Bands { e, .. }, omega } = *state;
        check_omega(omega.len())?;
        let extents = Extents { nbands: e.len(), nw: omega.len(), ..self.header.extents() };
        require_small(extents, self.header.gvec_ng)?;
        let header = header_of(self.header.clone(), e, omega, formula);
        header.validate()?;
        Ok(header)
    }

    /// The problem of a state with `aqsn`, `aqsm`, and whether that has the rows of G′ alone; elsewhere if not given.
    ///
    /// # Safety
    /// It refers to the state's and the placed arrays, and is dropped before them.
    unsafe fn problem(
        self,
        state: &State,
        elements: Option<(&[Complex64], &[Complex64], bool)>,
        formula: Formula,
        (id, are_new): (Id, bool),
    ) -> Result<Problem> {
        let header = self.header_of(state, formula)?;
        let occ = state.bands.occ.to_vec();
        let problem_of = |bands: Result<problem::CheckedBands>, aqsm_local| -> Result<Problem> {
            let bands = bands?.with_occupations(occ, id)?;
            self.pairs.problem(NAME, (bands, are_new), aqsm_local)
        };
        let Some((aqsn, aqsm, local)) = elements else {
            return problem_of(problem::CheckedBands::elsewhere(header), None);
        };
        self.session.computed(|| {
            // SAFETY: of both, this function's own contract.
            let (aqsn, aqsm_local) =
                unsafe { (ComplexMatrix::kept(aqsn), aqsm_local(aqsm, local, &header)?) };
            problem_of(problem::CheckedBands::new(header, aqsn), Some(aqsm_local))
        })
    }
}

fn dimensions(header: &Header) -> [usize; 2] {
    [header.ncouls, header.all_ngpown()]
}

/// The bands l and m of a matrix, and the bands n that are summed over.
#[derive(Clone, Copy, Debug)]
pub struct MatrixBands<'a> {
    /// `A_l(ig,n)`, the matrix elements of band l with band n, no unit: `a(ncouls, nbands, bands)`, ig fastest,
    /// then n. Its length says how many bands l there are, 1 to [`MOST_BANDS`](crate::offdiag::MOST_BANDS).
    pub a: &'a [Complex64],
    /// Energy of each band n in eV, `(nbands)`; its length says how many there are.
    pub e: &'a [f64],
    /// Occupation of each band n, 0 to 1, `(nbands)`.
    pub occ: &'a [f64],
    /// Whether `omega` has the energy of each band l. Then the result is two matrices, as QSGW and GWPT use them: rows
    /// at their band's energy, `Σ_lm(ω_l)`, then columns, `Σ_lm(ω_m)`.
    pub at_bands: bool,
}

/// The result of a matrix calculation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoundMatrix {
    /// SX and CH of all l and m at each energy, or as [`MatrixBands::at_bands`], in `vcoul`'s unit; sum over ranks. Of
    /// [Σ alone](Calculator::with_sigma_alone) zero and Σ.
    pub sums: MatrixSums,
    /// The version of [`crate::offdiag::gpu`] that ran, on several GPUs that of the first; `cpu` on a CPU.
    pub version: &'static str,
    /// Seconds of the products; with several GPUs the longest.
    pub seconds: f64,
    /// Seconds of the whole call, for [`Calculator::matrix`] with its placing.
    pub call_seconds: f64,
}

impl Calculator {
    /// `SX_lm` and `CH_lm` at these energies ω in eV, zero without columns, by the fastest version, whatever
    /// [`Calculator::with_version`] names. `a` is read in place; a GPU keeps nothing of it.
    ///
    /// # Errors
    /// As [`Calculator::sums`]. [`Error::Input`] names `a`, if it is not of whole bands, or has a number that is not
    /// finite or above 1e50. It names `omega`, if that is to have an energy for each band and has not.
    pub fn matrix(
        &self,
        screening: &Screening,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.matrix_at(&mut self.place(screening)?.once(), bands, omega, formula)
    }

    /// [`Calculator::matrix`] with a screening that this calculator has placed.
    ///
    /// # Errors
    /// As [`Calculator::matrix`]; [`Error::Input`] for a screening that another calculator has placed.
    pub fn matrix_at(
        &self,
        placed: &mut Placed,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.require_own(placed)?;
        if self.derivative {
            let what = "is of the sums, not of a matrix: use sums or sums_of_states";
            return Err(invalid("derivative", what));
        }
        if self.precision == Precision::Single {
            return Err(invalid("precision", "single is of sums: a matrix is summed in double"));
        }
        let begin = placed.once.unwrap_or_else(Instant::now);
        let call_seconds = || begin.elapsed().as_secs_f64();
        let pool = self.session.cpu().map(|_| self.session.pool()).transpose()?;
        self.session.called(pool, self.progress.as_ref(), |Control { advance, stop }| {
            let [ncouls, ngpown] = placed.dimensions();
            let elements = Borrowed::new(bands.a, [ncouls, bands.e.len()], self.index_base, stop)?;
            let (count, found) = (elements.bands(), omega.len());
            if bands.at_bands && found != count {
                let needs = format!("at_bands needs an energy for each of {count} bands");
                let what = format!("{needs}; found {found}");
                return Err(invalid("omega", what));
            }
            if ngpown == 0 {
                let planes = if bands.at_bands { 2 } else { omega.len() };
                let numbers = 2 * count * count * planes;
                require("the matrices", (numbers * size_of::<Complex64>()) as u64)?;
                let (sums, call_seconds) = (MatrixSums::zero(count, planes), call_seconds());
                return Ok(FoundMatrix { sums, version: "cpu", seconds: 0.0, call_seconds });
            }
            let of_bands = bands.at_bands.then(|| once_each(omega));
            let each = of_bands.as_ref().map_or(omega, |(each, _)| each);
            let none = MatrixRef::Host(&[]);
            let MatrixBands { e, occ, .. } = *bands;
            let bands_n = Bands { aqsn: none, aqsm: none, aqsm_local: true, e, occ };
            let state = State { bands: bands_n, omega: each };
            let id = placed.id_of(&state, formula);
            let prepared = placed.prepare(&state, formula);
            // SAFETY: the problem is dropped at the end of this call, which the borrows outlast.
            let made = |()| unsafe { placed.parts().0.problem(&state, None, formula, id) };
            let problem = prepared.and_then(made);
            let problem = problem.map_err(|error| self.in_words_of_caller(error, None))?;
            let numbers = of_bands.as_ref().map(|(_, numbers)| &numbers[..]);
            let energies = numbers.map_or(MatrixEnergies::Energies, MatrixEnergies::Bands);
            let task = MatrixTask {
                at: energies,
                sigma_alone: self.sigma_alone,
                stop,
                ..MatrixTask::new(&problem, &elements)
            };
            let summed =
                workers(&self.session, task, None, &|_| ()).and_then(|(workers, version)| {
                    Ok((MatrixWorkers::new(task, workers, &Alone).sum(advance)?, version))
                });
            elements.check()?;
            let ((sums, seconds), version) = summed?;
            Ok(FoundMatrix { sums, version, seconds, call_seconds: call_seconds() })
        })
    }

    /// An error in the caller's names and indices; `whole` is the screening's header if `aqsm` has all G.
    pub(super) fn in_words_of_caller(&self, error: Error, all_rows: Option<&Header>) -> Error {
        let error = match all_rows {
            Some(header) => error.in_rows_of_g(|column| header.row_of_column(column)),
            None => error,
        };
        error.owned_by(Owner::Caller { index_base: self.index_base })
    }
}
