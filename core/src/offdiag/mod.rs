//! Σ as a matrix: `SX_lm` and `CH_lm` of many bands l, m.
//!
//! With `A_l(ig,n)` the matrix elements of band l, `A_m(igp,n)` those of band m at the G of igp, and `ssx`, `sch` of
//! (ig, igp) at `wx(iw,n)` as in [`gpp_kernels::formula`]:
//!
//! ```text
//! SX_lm(iw) = − Σ_n occ(n) Σ_igp vcoul_loc(igp) conj(A_m(igp,n)) Σ_ig A_l(ig,n) ssx(ig,igp)
//! CH_lm(iw) = + ½ Σ_n      Σ_igp vcoul_loc(igp) conj(A_m(igp,n)) Σ_ig A_l(ig,n) sch(ig,igp)
//! ```
//!
//! `l = m` is the sum of [`crate::engine`]. [`Task`] is what is asked for, [`Sums`] what comes of it. Bands n are
//! summed in parts of [`GROUP`] that follow each other. How they are cut depends on the problem alone. The sums
//! of each part begin with zero, and are added to the total in the order of parts ([`calculation`]). So bits do not depend on
//! who sums which part.

pub mod calculation;
pub mod cpu;
pub mod emulated;
pub mod gpu;
pub mod images;
pub mod versions;

use std::ops::{AddAssign, Range};
use std::sync::OnceLock;

use gpp_cpu::work::{NEVER, Stop};
use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem::range::LARGEST_FACTOR;
use crate::problem::{Problem, System, synthesis};
use crate::schedule::Pipeline;

/// More bands l and m than any matrix has.
pub const MOST_BANDS: usize = 8192;

/// Bands n of a part: their A are adjacent in memory, and tiles may cross from one band to the next.
pub const GROUP: usize = 24;

#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// ω̃, eps, vcoul and the map of igp, bands n with their energies and occupations, and the energies. Its own
    /// matrix elements are not read.
    pub problem: &'a Problem,
    /// `A_l(ig,n)` of all bands l.
    pub elements: &'a dyn Elements,
    pub at: At<'a>,
    /// Ends the calculation, within a part too.
    pub stop: &'a Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At<'a> {
    /// All elements at all energies of the problem: a matrix for each.
    Energies,
    /// `Σ_lm(E_l)` and `Σ_lm(E_m)`: two matrices, the first of rows at the energies of their bands, the second of
    /// columns. It has the number of each band's energy (0-based), `bands` of them.
    Bands(&'a [usize]),
}

impl At<'_> {
    /// In which of a task's matrices an element at an energy is.
    pub fn planes(self, l: usize, m: usize, iw: usize) -> impl Iterator<Item = usize> {
        let planes = match self {
            At::Energies => [Some(iw), None],
            At::Bands(of) => [(of[l] == iw).then_some(0), (of[m] == iw).then_some(1)],
        };
        planes.into_iter().flatten()
    }
}

impl<'a> Task<'a> {
    /// All elements at all energies of a problem.
    pub fn new(problem: &'a Problem, elements: &'a dyn Elements) -> Task<'a> {
        Task { problem, elements, at: At::Energies, stop: &NEVER }
    }

    pub fn planes(&self) -> usize {
        match self.at {
            At::Energies => self.nw(),
            At::Bands(_) => 2,
        }
    }

    /// Bands l and m.
    pub fn bands(&self) -> usize {
        self.elements.bands()
    }

    pub fn nw(&self) -> usize {
        self.problem.nw()
    }

    /// Operations of some bands n: eight a complex product and addition, of both products.
    pub fn operations_of(&self, n: Range<usize>) -> f64 {
        let (extents, occ) = (self.problem.extents(), &self.problem.occ()[n]);
        let occupied = occ.iter().filter(|&&occ| occ != 0.0).count();
        let items = (self.nw() * (occ.len() + occupied)) as f64;
        let (bands, ngpown) = (self.bands() as f64, extents.ngpown as f64);
        8.0 * items * ngpown * bands * (extents.ncouls as f64 + bands)
    }

    pub fn parts(&self) -> usize {
        self.problem.extents().nbands.div_ceil(GROUP)
    }

    pub fn part(&self, part: usize) -> Range<usize> {
        part * GROUP..self.problem.extents().nbands.min((part + 1) * GROUP)
    }

    pub fn limits(&self) -> Limits {
        self.problem.limits()
    }
}

/// Pieces of a range, of at most `most`.
fn ranges(all: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(most).map(move |begin| begin..end.min(begin + most))
}

/// The matrices of all energies, in the unit of the sums of [`crate::problem::Sums`]: element (l, m) at energy iw is entry
/// `l + bands · (m + bands · iw)`. Of [`At::Bands`] rows come first, then columns, as of two energies.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// Bands l and m.
    pub bands: usize,
    /// Screened exchange.
    pub sx: Vec<Complex64>,
    /// Coulomb hole.
    pub ch: Vec<Complex64>,
}

impl Sums {
    pub fn zero(bands: usize, nw: usize) -> Sums {
        let zeros = vec![Complex64::ZERO; bands * bands * nw];
        Sums { bands, sx: zeros.clone(), ch: zeros }
    }

    pub fn nw(&self) -> usize {
        self.sx.len() / (self.bands * self.bands)
    }

    /// Takes what a task keeps of `SX_lm` and `CH_lm` at one of the problem's energies.
    fn take(&mut self, at: At, iw: usize, of: impl Fn(usize, usize) -> [Complex64; 2]) {
        let bands = self.bands;
        let mut set = |l, m, plane| {
            let at = self.at(l, m, plane);
            [self.sx[at], self.ch[at]] = of(l, m);
        };
        match at {
            At::Energies => (0..bands * bands).for_each(|at| set(at % bands, at / bands, iw)),
            At::Bands(energies) => {
                for own in (0..bands).filter(|&own| energies[own] == iw) {
                    (0..bands).for_each(|m| set(own, m, 0));
                    (0..bands).for_each(|l| set(l, own, 1));
                }
            }
        }
    }

    fn add(&mut self, other: &Sums) {
        self.sx.iter_mut().zip(&other.sx).for_each(|(to, from)| to.add_assign(from));
        self.ch.iter_mut().zip(&other.ch).for_each(|(to, from)| to.add_assign(from));
    }

    /// The index of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}

/// Energies of bands, each once from the lowest on, and for each band the number of its own: of [`At::Bands`].
pub fn once_each(of_bands: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut each = of_bands.to_vec();
    each.sort_by(f64::total_cmp);
    each.dedup();
    let numbers = of_bands.iter().map(|own| each.partition_point(|other| other < own)).collect();
    (each, numbers)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Summed {
    pub sums: Sums,
    /// Seconds of the products, by the device's clock if it has one; of several devices those of the longest.
    pub seconds: f64,
}

/// What sums parts: a CPU or a GPU, with a task in place. It can be used again and again.
pub trait Worker: Pipeline<Sums> {
    /// Begins a calculation, with nothing in flight, whatever became of an earlier one.
    fn start(&mut self) -> Result<()>;

    /// How many parts may be dealt to it before the first of them is added: their matrices wait in memory.
    fn ahead(&self) -> usize;

    /// Seconds of the products since the start.
    fn seconds(&self) -> f64;
}

// Sources of the matrix elements of many bands.

/// `A_l(ig,n)` of bands l.
pub trait Elements: Sync {
    fn bands(&self) -> usize;

    /// Fills in `A_l(:,n)`, all ig of a band l and an n (0-based).
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]);
}

/// The elements of a built-in system: any l and n by the seed alone, falling with |G| as `aqsn` does.
pub struct Synthesised<'a> {
    columns: synthesis::Elements<'a>,
    bands: usize,
}

impl<'a> Synthesised<'a> {
    pub fn new(system: &'a System, seed: u64, bands: usize) -> Synthesised<'a> {
        Synthesised { columns: synthesis::Elements::new(system, seed), bands }
    }
}

impl Elements for Synthesised<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.columns.column(l, n, column);
    }
}

/// `a(ncouls, nbands, bands)` of a caller's, column-major. Its numbers are checked when they are read.
pub struct Borrowed<'a> {
    a: &'a [Complex64],
    nbands: usize,
    bands: usize,
    /// The index of a first element in messages.
    index_base: usize,
    /// The number that was found wrong first.
    wrong: OnceLock<String>,
    stop: &'a Stop,
}

impl<'a> Borrowed<'a> {
    /// Of so many G and bands n, one at least of each. A number that is not finite or too large has a calculation stop.
    pub fn new(
        a: &'a [Complex64],
        [ncouls, nbands]: [usize; 2],
        index_base: usize,
        stop: &'a Stop,
    ) -> Result<Borrowed<'a>> {
        let bands = a.len().checked_div(ncouls * nbands).unwrap_or(0);
        if bands * ncouls * nbands != a.len() || !(1..=MOST_BANDS).contains(&bands) {
            return Err(wrong(format!(
                "needs {ncouls} * {nbands} elements for each of 1 to {MOST_BANDS} bands, has {}",
                a.len()
            )));
        }
        Ok(Borrowed { a, nbands, bands, index_base, wrong: OnceLock::new(), stop })
    }

    /// Fails if such a number was read.
    pub fn check(&self) -> Result<()> {
        self.wrong.get().map_or(Ok(()), |what| Err(wrong(what.clone())))
    }
}

impl Elements for Borrowed<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let begin = (l * self.nbands + n) * column.len();
        column.copy_from_slice(&self.a[begin..begin + column.len()]);
        let is_right = |part: f64| part.abs() <= LARGEST_FACTOR;
        if let Some(ig) = column.iter().position(|z| !(is_right(z.re) && is_right(z.im))) {
            let ([i, j, k], found) = ([ig, n, l].map(|at| at + self.index_base), column[ig]);
            let most = format!("its parts must be at most {LARGEST_FACTOR:e}");
            self.wrong.get_or_init(|| format!("is {found:e} at ({i},{j},{k}); {most}"));
            self.stop.ask(0);
        }
    }
}

fn wrong(what: String) -> Error {
    Error::Input { origin: "a(ig,n,l)".into(), what }
}
