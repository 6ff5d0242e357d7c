//! One problem: the arrays that the kernels read, and where they come from.
//!
//! `ig` counts G vectors, `igp` the G′ of this rank: the rows and columns of `wtilde` and `eps`. [`CheckedBands`] are
//! what all columns share. A [`Slab`] is a range of `igp` with its columns. A [`Source`] makes or reads both. A
//! [`Problem`] has the bands in memory, and slabs in memory or from its source.

pub mod arrays;
pub mod header;
pub mod input_file;
pub mod layout;
pub mod plan;
pub mod range;
pub mod slab;
pub mod synthesis;

use std::fmt;
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpp_kernels::arrays::Limits;
use gpp_kernels::kernel::{Kernel, Precision};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};
use twox_hash::XxHash64;

use crate::error::{Error, Owner, Result, invalid};
use crate::os::memory;
use crate::problem::arrays::{ArraySpec, EPS, Of, WTILDE, copied};
pub use crate::problem::arrays::{ComplexMatrix, Extents};
pub use crate::problem::header::{Even, Header, Unmasked};
pub use crate::problem::plan::heavy;
pub use crate::problem::plan::{
    BandOrder, BandPlan, Batch, EVEN_ON_CPU, EVEN_ON_GPU, FallbackPairs, Lists, SortedCells,
};
use crate::problem::plan::{BySize, SortedOnce};
use crate::problem::slab::assert_part;
pub use crate::problem::slab::{CheckedBands, Id, Slab, SlabView};
use crate::ranks::Ranks;

/// A built-in system, as `systems.json` has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct System {
    pub name: String,
    pub nbands: usize,
    pub nvband: usize,
    pub ngpown: usize,
    pub ncouls: usize,
    pub nstart: usize,
    pub nend: usize,
    /// Whether modes are complex, as Godby-Needs gives them; otherwise all are real, BerkeleyGW's default.
    #[serde(default)]
    pub complex_modes: bool,
    /// Share of G′ that are masked.
    pub masked: f64,
    pub note: String,
}

#[derive(Clone, Debug)]
pub enum Origin {
    /// A built-in system, synthesised with this seed.
    System(System, u64),
    /// A file in the reference mini-app's format.
    File(PathBuf),
    Made,
}

/// Makes or reads the bands of a problem, and its slabs in any order, with the bits that the whole problem has.
pub trait Source: Send + Sync {
    fn name(&self) -> &str;

    fn origin(&self) -> Origin;

    /// The small records of the whole problem, known before any array is made.
    fn header(&self) -> &Header;

    /// Replaces them by those of the same arrays, and drops sums that came with the source's own.
    fn set_header(&mut self, header: Header);

    fn extents(&self) -> Extents {
        self.header().extents()
    }

    /// Keeps so many columns, [`Header::sampled`].
    fn sample(&mut self, columns: usize) {
        self.set_header(self.header().clone().sampled(columns));
    }

    /// `asxtemp` and `achtemp` before the kernel adds to them.
    fn start(&self) -> Sums {
        Sums::zero(self.extents().nw)
    }

    /// `asxtempref` and `achtempref`, if a file holds them.
    fn stored(&self) -> Option<Sums> {
        None
    }

    /// What all igp share; [`Error::Memory`] before anything is allocated.
    fn bands(&self) -> Result<CheckedBands>;

    /// The `igp` (0-based) of the problem with these bands. The source keeps nothing of them.
    fn slab(&self, bands: &CheckedBands, igp: Range<usize>) -> Result<Slab>;

    /// What poles of some `igp` (0-based) with `eps` not zero have in common; real if none. Few columns' memory.
    fn poles(&self, igp: Range<usize>) -> Result<Poles>;

    fn load(&self) -> Result<Problem> {
        memory::require(self.name(), self.extents().bytes())?;
        let bands = self.bands()?;
        let slab = self.slab(&bands, 0..self.extents().ngpown)?;
        let problem = Problem::from_slab(self.name(), self.origin(), bands.into(), slab)?;
        Ok(Problem { start: self.start(), stored: self.stored(), ..problem })
    }
}

impl fmt::Debug for dyn Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn check_slab(source: &dyn Source, igp: &Range<usize>) -> Result<()> {
    let extents = source.extents();
    assert_part(igp, extents.ngpown);
    let slab = Extents { ngpown: igp.len(), ..extents };
    memory::require(source.name(), slab.bytes_of(Of::Slab))
}

/// Names the problem in an error.
pub(crate) fn wrong(name: &str, what: Error) -> Error {
    what.owned_by(Owner::Problem(name.into()))
}

/// One problem, checked. All arrays are column-major, the first index named fastest.
#[derive(Clone, Debug)]
pub struct Problem {
    name: String,
    origin: Origin,
    bands: Arc<CheckedBands>,
    poles: Poles,
    order: Arc<BandOrder>,
    start: Sums,
    /// `asxtempref` and `achtempref`, if it is of a file that holds them.
    pub stored: Option<Sums>,
    /// The igp in memory: all, or this process's, which may be none.
    slab: Option<Slab>,
    source: Option<Streamed>,
    kept: Option<Arc<Kept>>,
    lists_once: bool,
    /// Which share of Σ|terms| a sum in single precision may lose, if a hundredth of the pairs are heavy at most.
    pub tolerance: f64,
}

/// What is made of a placed screening's pairs, for the next call.
#[derive(Debug, Default)]
struct Kept {
    /// The poles sorted by size, for energies that change from call to call.
    by_size: SortedOnce,
    /// What CPUs read at the energies of the last call.
    made: Mutex<Made>,
}

#[derive(Clone, Debug, Default)]
struct Made {
    /// The identity of the energies.
    of: Option<Id>,
    fallback: Vec<(Range<usize>, Poles, Arc<FallbackPairs>)>,
    /// To sum both parts, and Σ alone.
    cells: [Option<Arc<SortedCells>>; 2],
}

/// As many batches of energies keep their fallback pairs.
const KEPT_BATCHES: usize = 4;

#[derive(Clone, Debug)]
struct Streamed {
    source: Arc<dyn Source>,
    id: Id,
    /// Whether the slabs of this process are in memory nevertheless.
    has_share: bool,
}

pub enum SlabRef<'a> {
    Owned(Slab),
    Borrowed(SlabView<'a>),
}

impl SlabRef<'_> {
    pub fn view(&self) -> SlabView<'_> {
        match self {
            SlabRef::Owned(slab) => slab.view(),
            SlabRef::Borrowed(view) => *view,
        }
    }
}

impl Problem {
    /// A problem from its bands and the slab of all igp that was made with them.
    pub fn from_slab(
        name: &str,
        origin: Origin,
        bands: Arc<CheckedBands>,
        slab: Slab,
    ) -> Result<Problem> {
        let Extents { nbands, ngpown, ncouls, .. } = bands.extents();
        let view = slab.view();
        assert_eq!((view.igp(), view.ncouls(), view.nbands()), (0..ngpown, ncouls, nbands));
        let poles = range::poles_of(view.wtilde(), view.eps());
        Ok(Problem { slab: Some(slab), ..Problem::without_slabs(name, origin, bands, poles)? })
    }

    /// A problem that these processes share; bands are made now, igp that are to stay by [`Problem::with_share`]. Collective.
    pub fn open(source: Box<dyn Source>, keeps_share: bool, ranks: &dyn Ranks) -> Result<Problem> {
        let bands = source.bands()?;
        let local = source.poles(ranks.share(source.extents().ngpown))?;
        let are_broad = bands.header().eta.is_some_and(|eta| eta != 0.0);
        let are_real = ranks.least((local == Poles::Real && !are_broad).into()) == 1;
        let poles = if are_real { Poles::Real } else { Poles::Any };
        let (start, stored) = (source.start(), source.stored());
        let problem = Problem::without_slabs(source.name(), source.origin(), bands.into(), poles)?;
        let (source, id) = (source.into(), Id::unique());
        let source = Some(Streamed { source, id, has_share: keeps_share });
        Ok(Problem { source, start, stored, ..problem })
    }

    fn without_slabs(
        name: &str,
        origin: Origin,
        bands: Arc<CheckedBands>,
        poles: Poles,
    ) -> Result<Problem> {
        let poles = match (bands.limits().has_window(), poles) {
            (false, poles) => poles,
            (true, Poles::Real) => Poles::Windowed,
            (true, _) => return Err(invalid("window", "needs real poles, and some are complex")),
        };
        Ok(Problem {
            name: name.to_string(),
            origin,
            poles,
            order: BandOrder::new(&bands).into(),
            start: Sums::zero(bands.nw()),
            bands,
            stored: None,
            slab: None,
            source: None,
            kept: None,
            lists_once: false,
            tolerance: heavy::TOLERANCE,
        })
    }

    /// Takes the igp of this process into memory if its share is to stay there.
    pub fn with_share(self, igp: Range<usize>) -> Result<Problem> {
        let Some(Streamed { source, has_share: true, .. }) = &self.source else { return Ok(self) };
        let slab = (!igp.is_empty()).then(|| source.slab(&self.bands, igp)).transpose()?;
        Ok(Problem { slab, ..self })
    }

    pub fn is_whole(&self) -> bool {
        self.source.is_none()
    }

    /// Whether the igp that this process sums are to stay in memory.
    pub fn stays(&self) -> bool {
        self.source.as_ref().is_none_or(|source| source.has_share)
    }

    pub fn in_memory(&self) -> Option<&Slab> {
        self.slab.as_ref()
    }

    /// Some igp (0-based), from memory or made or read now.
    pub fn part(&self, igp: Range<usize>) -> Result<SlabRef<'_>> {
        assert_part(&igp, self.extents().ngpown);
        if let Some(view) = self.slab.as_ref().map(Slab::view)
            && view.igp().start <= igp.start
            && igp.end <= view.igp().end
        {
            return Ok(SlabRef::Borrowed(view.part(igp)));
        }
        let Streamed { source, id, .. } = self.source.as_ref().expect("not all is in memory");
        Ok(SlabRef::Owned(source.slab(&self.bands, igp)?.with_id(*id)))
    }

    /// All igp.
    ///
    /// # Panics
    /// If they are not in memory.
    pub fn slab(&self) -> SlabView<'_> {
        assert!(self.is_whole(), "{} is not in memory", self.name);
        self.slab.as_ref().expect("all igp").view()
    }

    pub fn wtilde(&self) -> &[Complex64] {
        self.slab().wtilde()
    }

    pub fn eps(&self) -> &[Complex64] {
        self.slab().eps()
    }

    pub fn vcoul_loc(&self) -> &[f64] {
        self.slab().vcoul_loc()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    pub fn bands(&self) -> &CheckedBands {
        &self.bands
    }

    pub fn poles(&self) -> Poles {
        self.poles
    }

    pub fn order(&self) -> &BandOrder {
        &self.order
    }

    /// The fallback pairs of a slab at a batch of its energies, for kernels that take these poles for regular.
    pub fn fallback(&self, slab: SlabView, batch: &Batch, takes: Poles) -> FallbackPairs {
        batch.plan.fallback(slab, takes, self.sorted_poles(slab))
    }

    /// Fails if FP32 has no room for the energies, so that single precision would sum all pairs in FP64.
    pub fn require_single(&self) -> Result<()> {
        let largest = self.bands.wx().iter().fold(0.0f64, |largest, w| largest.max(w.abs()));
        if largest <= heavy::SIZES[1] {
            return Ok(());
        }
        let what = format!("|ω − e(n)| of {largest:e} eV is too large: all would be in double");
        Err(invalid("single precision", what))
    }

    /// The fallback pairs for a kernel in single precision, with the heavy ones if it has any, and its bound: infinite for one
    /// that has none, or if the matrix elements are not on the host.
    pub fn fallback_in_single(
        &self,
        slab: SlabView,
        batch: &Batch,
        kernel: &Kernel,
    ) -> FallbackPairs {
        let is_exact = matches!(kernel.precision, Precision::Single { is_exact: true, .. });
        let has_heavy = matches!(kernel.precision, Precision::Single { has_heavy: true, .. });
        let found = batch.plan.fallback_in_single(slab, kernel.poles, is_exact);
        let ncouls = slab.ncouls();
        let wide_ig = heavy::wide_rows(self.bands.aqsn().chunks_exact(ncouls), ncouls);
        let wide_igp = heavy::wide_rows(slab.aqsm_local().columns(), slab.len());
        let found = found.in_single(slab, [&wide_ig, &wide_igp]);
        if !is_exact || self.bands.aqsn().is_empty() {
            return FallbackPairs { bound: f64::INFINITY, ..found };
        }
        let tolerance = if has_heavy { self.tolerance } else { f64::INFINITY };
        found.with_heavy(&self.bands, slab, batch, tolerance, heavy::LOST_ON_GPU)
    }

    /// [`Problem::fallback`] for a CPU, kept if the screening is placed.
    pub fn fallback_kept(&self, slab: SlabView, batch: &Batch, takes: Poles) -> Arc<FallbackPairs> {
        let find = || Arc::new(self.fallback(slab, batch, takes));
        let Some(kept) = self.kept(slab).filter(|_| takes != Poles::Unread) else { return find() };
        let mut made = self.made(kept);
        let is_of = |(energies, of, _): &&(_, _, _)| (energies, *of) == (&batch.energies, takes);
        if let Some((.., found)) = made.fallback.iter().find(is_of) {
            return found.clone();
        }
        let found = find();
        if made.fallback.len() < KEPT_BATCHES {
            made.fallback.push((batch.energies.clone(), takes, found.clone()));
        }
        found
    }

    /// The pairs of a slab sorted by their poles for a CPU, kept if the screening is placed.
    pub fn cells_kept(&self, slab: SlabView, is_sigma_alone: bool) -> Result<Arc<SortedCells>> {
        let sort = || SortedCells::for_slab(self, slab, EVEN_ON_CPU, is_sigma_alone).map(Arc::new);
        let Some(kept) = self.kept(slab) else { return sort() };
        let cells = &mut self.made(kept).cells[usize::from(is_sigma_alone)];
        if cells.is_none() {
            *cells = Some(sort()?);
        }
        Ok(cells.clone().expect("made above"))
    }

    /// What is made at the energies of this problem; that of others is dropped.
    fn made<'k>(&self, kept: &'k Kept) -> MutexGuard<'k, Made> {
        let mut made = kept.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.of != Some(self.bands.id()) {
            *made = Made { of: Some(self.bands.id()), ..Made::default() };
        }
        made
    }

    fn kept(&self, slab: SlabView) -> Option<&Kept> {
        let kept_id = self.slab.as_ref()?.view().pairs_id();
        self.kept.as_deref().filter(|_| kept_id == slab.pairs_id())
    }

    fn sorted_poles(&self, slab: SlabView) -> Option<&BySize> {
        self.kept(slab)?.by_size.sorted(slab)
    }

    pub fn start(&self) -> &Sums {
        &self.start
    }

    pub fn outline(&self) -> Outline {
        let extents = self.extents();
        let is_cut =
            |n: &usize| self.occ()[*n] != 0.0 && self.energies(*n).iter().any(|w| *w < 0.0);
        let cut_bands = (0..extents.nbands).filter(is_cut).count();
        Outline { extents, cut_bands, poles: self.poles, lists_once: self.lists_once }
    }
}

/// What all columns share is read as of the bands.
impl Deref for Problem {
    type Target = CheckedBands;

    fn deref(&self) -> &CheckedBands {
        &self.bands
    }
}

/// What decides, before there are arrays, which version is the fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    pub extents: Extents,
    /// Occupied bands with an energy below zero, where the cutoff may act.
    pub cut_bands: usize,
    pub poles: Poles,
    /// Whether lists of pairs are made for one calculation only.
    pub lists_once: bool,
}

/// A problem in slabs of so many igp, the last one smaller.
#[derive(Clone, Copy)]
pub struct Slabs<'a> {
    problem: &'a Problem,
    igp: usize,
}

impl<'a> Slabs<'a> {
    /// Slabs of `igp` numbers each, at least one and no more than there are.
    pub fn new(problem: &'a Problem, igp: usize) -> Slabs<'a> {
        Slabs { problem, igp: igp.min(problem.header().ngpown).max(1) }
    }

    pub fn problem(self) -> &'a Problem {
        self.problem
    }

    /// The igp of a slab; the last one may have fewer.
    pub fn igp(self) -> usize {
        self.igp
    }

    pub fn count(self) -> usize {
        self.problem.header().ngpown.div_ceil(self.igp)
    }

    /// The igp of the slab of this number.
    pub fn range(self, number: usize) -> Range<usize> {
        number * self.igp..self.problem.header().ngpown.min((number + 1) * self.igp)
    }

    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> + 'a {
        (0..self.count()).map(move |number| self.range(number))
    }
}

impl<'a> From<&'a Problem> for Slabs<'a> {
    fn from(problem: &'a Problem) -> Slabs<'a> {
        Slabs::new(problem, problem.header().ngpown)
    }
}

/// `wtilde` and `eps` of all igp, both `(ncouls, ngpown)`, of one screening: checked but for energies.
#[derive(Clone, Debug)]
pub struct CheckedPairs {
    id: Id,
    wtilde: Arc<ComplexMatrix>,
    eps: Arc<ComplexMatrix>,
    poles: Poles,
    care: range::Care,
    /// False if some `eps` were below 1e-120, which is replaced by zero.
    pub are_as_given: bool,
    /// None if they are for one call.
    kept: Option<Arc<Kept>>,
}

impl CheckedPairs {
    /// From all columns, of which the masked ones are dropped.
    pub fn new(
        header: &Header,
        wtilde: impl Into<ComplexMatrix>,
        eps: impl Into<ComplexMatrix>,
    ) -> Result<CheckedPairs> {
        let ncouls = header.ncouls;
        let pair = |offset: usize| [offset % ncouls, header.column(offset / ncouls)];
        let wtilde = header.unmasked_columns(&WTILDE, wtilde.into())?;
        let mut eps = header.unmasked_columns(&EPS, eps.into())?;
        range::check_size(&WTILDE, &wtilde, range::LARGEST_POLE, pair)?;
        let are_as_given = !range::check_factors(&EPS, &mut eps, pair)?;
        let (poles, care) = (range::poles_of(&wtilde, &eps), range::Care::for_poles(&wtilde));
        let (wtilde, eps) = (Arc::new(wtilde), Arc::new(eps));
        let (id, kept) = (Id::unique(), Some(Arc::default()));
        Ok(CheckedPairs { id, wtilde, eps, poles, care, are_as_given, kept })
    }

    /// These with the broadening η in eV of the time-ordered formula.
    pub fn broadened(&self, eta: f64) -> Result<CheckedPairs> {
        let copy = |array: &ArraySpec, matrix: &[Complex64]| copied(array.name(), matrix);
        let mut wtilde = copy(&WTILDE, &self.wtilde)?.into();
        let mut eps = copy(&EPS, &self.eps)?.into();
        range::broaden(&mut wtilde, &mut eps, eta)?;
        let (poles, care) = (range::poles_of(&wtilde, &eps), range::Care::for_poles(&wtilde));
        let (id, wtilde, eps) = (Id::unique(), Arc::new(wtilde), Arc::new(eps));
        let kept = self.kept.as_ref().map(|_| Arc::default());
        Ok(CheckedPairs { id, wtilde, eps, poles, care, kept, ..self.clone() })
    }

    /// For one call: nothing is kept of them.
    pub fn once(&mut self) {
        self.kept = None;
    }

    /// Whether a slab has these, not resolved copies of them.
    pub fn are_of(&self, slab: SlabView) -> bool {
        slab.pairs_id().0 == self.id
    }

    /// The problem of these with bands of the same screening and `aqsm_local(ngpown, nbands)`; none if that is elsewhere,
    /// as [`CheckedBands::elsewhere`] has it. Poles are copied if some are next to real at an energy. `are_new`: the energies
    /// are not those of the last call.
    pub fn problem(
        &self,
        name: &str,
        (bands, are_new): (CheckedBands, bool),
        aqsm_local: Option<ComplexMatrix>,
    ) -> Result<Problem> {
        let Extents { ncouls, ngpown, .. } = bands.extents();
        assert_eq!(ncouls * ngpown, self.wtilde.len(), "of the same screening");
        let column = |k: usize| bands.header().column(k);
        let pair = |offset: usize| [offset % ncouls, column(offset / ncouls)];
        let elements = match aqsm_local {
            Some(elements) => Slab::checked_elements(&bands, 0..ngpown, elements)?,
            None => Vec::new().into(),
        };
        let (mut id, mut wtilde) = (self.id, self.wtilde.clone());
        if self.care.is_needed(bands.header(), bands.wx())
            && let Some(resolved) =
                range::resolved_poles(bands.header(), bands.wx(), &wtilde, pair)?
        {
            (id, wtilde) = (Id::unique(), Arc::new(resolved));
        }
        let slab = Slab::of_pairs(&bands, 0..ngpown, id, [wtilde, self.eps.clone()], elements);
        let kept = self.kept.clone().filter(|_| self.are_of(slab.view()));
        let problem = Problem::without_slabs(name, Origin::Made, bands.into(), self.poles)?;
        let lists_once = are_new || kept.is_none();
        Ok(Problem { slab: Some(slab), kept, lists_once, ..problem })
    }
}

/// SX − X and CH, one element for each energy ω, in the unit of `vcoul`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Screened exchange without bare exchange, SX − X.
    #[serde(deserialize_with = "from_pairs")]
    pub asx: Vec<Complex64>,
    /// Coulomb hole, CH.
    #[serde(deserialize_with = "from_pairs")]
    pub ach: Vec<Complex64>,
}

impl Sums {
    pub fn zero(nw: usize) -> Sums {
        Sums { asx: vec![Complex64::ZERO; nw], ach: vec![Complex64::ZERO; nw] }
    }

    /// From values as blocks store them: the parts of `asx`, then of `ach`, energy by energy.
    pub fn from_values(values: &[f64]) -> Sums {
        let (energies, _) = values.as_chunks::<4>();
        Sums {
            asx: energies.iter().map(|v| Complex64::new(v[0], v[1])).collect(),
            ach: energies.iter().map(|v| Complex64::new(v[2], v[3])).collect(),
        }
    }

    /// Their sum, Σ, in the place of `ach`.
    #[must_use]
    pub fn alone(&self) -> Sums {
        let asx_in_ach = Sums { ach: self.asx.clone(), ..Sums::zero(self.ach.len()) };
        Sums { ach: self.ach.clone(), ..Sums::zero(self.ach.len()) }.plus(&asx_in_ach)
    }

    /// Of sums of Σ alone, each followed by its derivative: those, and the derivatives.
    #[must_use]
    pub fn and_derivatives(&self) -> (Sums, Vec<Complex64>) {
        let (pairs, _) = self.ach.as_chunks::<2>();
        let (ach, derivatives): (Vec<_>, _) = pairs.iter().map(|&[sum, rate]| (sum, rate)).unzip();
        (Sums { ach, ..Sums::zero(pairs.len()) }, derivatives)
    }

    pub fn plus(&self, other: &Sums) -> Sums {
        let add = |a: &[Complex64], b: &[Complex64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        Sums { asx: add(&self.asx, &other.asx), ach: add(&self.ach, &other.ach) }
    }

    /// Each element with its name, as in `asx(iw=2)`; `nstart` is the first energy.
    pub fn named(&self, nstart: usize) -> impl Iterator<Item = (String, Complex64)> + '_ {
        let name = move |what: &'static str| {
            move |(e, &z): (usize, &Complex64)| (format!("{what}(iw={})", nstart + e), z)
        };
        let (asx, ach) = (self.asx.iter().enumerate(), self.ach.iter().enumerate());
        asx.map(name("asx")).chain(ach.map(name("ach")))
    }
}

/// Complex numbers from `[re, im]` in JSON, which has null for what is no number.
pub fn from_pairs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Complex64>, D::Error> {
    let pairs = Vec::<[Option<f64>; 2]>::deserialize(from)?;
    let part = |part: Option<f64>| part.unwrap_or(f64::NAN);
    Ok(pairs.into_iter().map(|[re, im]| Complex64::new(part(re), part(im))).collect())
}

const SAMPLED: usize = 8;

/// A digest of bands, limits, energies and some igp, made or read now: each column of a built-in system has its own
/// random stream, so another generator shows in these.
pub fn digest(problem: &Problem) -> Result<u64> {
    let Extents { ngpown, ncouls, .. } = problem.extents();
    let Limits { limittwo, limitone, sexcut } = problem.limits();
    let mut digests: Vec<u64> = problem.aqsn().par_chunks(ncouls).map(hash).collect();
    digests.extend([hash(problem.occ()), hash(problem.wx()), hash(&[limittwo, limitone, sexcut])]);
    let mut columns: Vec<usize> =
        (0..SAMPLED).map(|at| at * (ngpown - 1) / (SAMPLED - 1)).collect();
    columns.dedup();
    for igp in columns {
        let part = problem.part(igp..igp + 1)?;
        let slab = part.view();
        let aqsm: Vec<_> = slab.aqsm_local().columns().map(|column| column[0]).collect();
        digests.extend([
            hash(slab.wtilde()),
            hash(slab.eps()),
            hash(&aqsm),
            hash(slab.vcoul_loc()),
        ]);
    }
    digests.push(ngpown as u64);
    Ok(hash(&digests))
}

pub fn hash(numbers: &[impl bytemuck::NoUninit]) -> u64 {
    XxHash64::oneshot(0, bytemuck::cast_slice(numbers))
}
