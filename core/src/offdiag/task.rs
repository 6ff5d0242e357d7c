//! What is summed: a task, its matrix elements and matrices, and what a worker does.

use std::ops::{AddAssign, Range};

use gpp_cpu::work::{NEVER, Stop};
use num_complex::Complex64;

use crate::error::Result;
use crate::problem::Problem;
use crate::schedule::StepPipeline;

/// Bands n of a part: their A are adjacent in memory, and tiles may cross from one band to the next.
pub const GROUP: usize = 24;

#[derive(Clone, Copy)]
pub struct MatrixTask<'a> {
    /// ω̃, eps, vcoul and the map of igp, bands n and energies; its own matrix elements are not read.
    pub problem: &'a Problem,
    /// `A_l(ig,n)` of all bands l.
    pub elements: &'a dyn Elements,
    pub at: MatrixEnergies<'a>,
    /// Whether only Σ is wanted: it is in the place of CH, and SX is zero.
    pub sigma_alone: bool,
    /// Ends the calculation, within a part too.
    pub stop: &'a Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixEnergies<'a> {
    /// All elements at all energies of the problem: a matrix for each.
    Energies,
    /// `Σ_lm(E_l)` and `Σ_lm(E_m)`: two matrices, the first of rows at the energies of their bands, the second of
    /// columns. It has the number of each band's energy (0-based), `bands` of them.
    Bands(&'a [usize]),
}

impl MatrixEnergies<'_> {
    /// In which of a task's matrices an element at an energy is.
    pub fn planes(self, l: usize, m: usize, iw: usize) -> impl Iterator<Item = usize> {
        let planes = match self {
            MatrixEnergies::Energies => [Some(iw), None],
            MatrixEnergies::Bands(of) => [(of[l] == iw).then_some(0), (of[m] == iw).then_some(1)],
        };
        planes.into_iter().flatten()
    }
}

impl<'a> MatrixTask<'a> {
    /// All elements at all energies of a problem.
    pub fn new(problem: &'a Problem, elements: &'a dyn Elements) -> MatrixTask<'a> {
        let at = MatrixEnergies::Energies;
        MatrixTask { problem, elements, at, sigma_alone: false, stop: &NEVER }
    }

    pub fn planes(&self) -> usize {
        match self.at {
            MatrixEnergies::Energies => self.nw(),
            MatrixEnergies::Bands(_) => 2,
        }
    }

    /// Bands l and m.
    pub fn bands(&self) -> usize {
        self.elements.bands()
    }

    pub fn nw(&self) -> usize {
        self.problem.nw()
    }

    /// Operations of some bands n: eight a complex product and addition, of both products, for Σ alone of one P a band.
    pub fn operations_of(&self, n: Range<usize>) -> f64 {
        let (extents, occ) = (self.problem.extents(), &self.problem.occ()[n]);
        let exchange = occ.iter().filter(|&&occ| occ != 0.0 && !self.sigma_alone).count();
        let items = (self.nw() * (occ.len() + exchange)) as f64;
        let (bands, ngpown) = (self.bands() as f64, extents.ngpown as f64);
        8.0 * items * ngpown * bands * (extents.ncouls as f64 + bands)
    }

    pub fn parts(&self) -> usize {
        self.problem.extents().nbands.div_ceil(GROUP)
    }

    pub fn part(&self, part: usize) -> Range<usize> {
        part * GROUP..self.problem.extents().nbands.min((part + 1) * GROUP)
    }
}

pub fn ranges(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(most).map(move |begin| begin..end.min(begin + most))
}

/// The matrices of all energies, in the unit of the sums of [`crate::problem::Sums`]: element (l, m) at energy iw is entry
/// `l + bands · (m + bands · iw)`. Of [`MatrixEnergies::Bands`] rows come first, then columns, as of two energies.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSums {
    /// Bands l and m.
    pub bands: usize,
    /// Screened exchange.
    pub sx: Vec<Complex64>,
    /// Coulomb hole, or Σ of a task for Σ alone.
    pub ch: Vec<Complex64>,
}

impl MatrixSums {
    pub fn zero(bands: usize, nw: usize) -> MatrixSums {
        let zeros = vec![Complex64::ZERO; bands * bands * nw];
        MatrixSums { bands, sx: zeros.clone(), ch: zeros }
    }

    pub fn nw(&self) -> usize {
        self.sx.len() / (self.bands * self.bands)
    }

    /// Takes what a task keeps of `SX_lm` and `CH_lm` at one of the problem's energies.
    pub(super) fn take(
        &mut self,
        energies: MatrixEnergies,
        iw: usize,
        of: impl Fn(usize, usize) -> [Complex64; 2],
    ) {
        let bands = self.bands;
        let mut set = |l, m, plane| {
            let energies = self.at(l, m, plane);
            [self.sx[energies], self.ch[energies]] = of(l, m);
        };
        match energies {
            MatrixEnergies::Energies => {
                (0..bands * bands).for_each(|energies| set(energies % bands, energies / bands, iw))
            }
            MatrixEnergies::Bands(energies) => {
                for own in (0..bands).filter(|&own| energies[own] == iw) {
                    (0..bands).for_each(|m| set(own, m, 0));
                    (0..bands).for_each(|l| set(l, own, 1));
                }
            }
        }
    }

    pub(super) fn add(&mut self, other: &MatrixSums) {
        self.sx.iter_mut().zip(&other.sx).for_each(|(to, from)| to.add_assign(from));
        self.ch.iter_mut().zip(&other.ch).for_each(|(to, from)| to.add_assign(from));
    }

    /// The index of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}

/// What sums parts: a CPU or a GPU, with a task in place. It can be used again and again.
pub trait MatrixWorker: StepPipeline<MatrixSums> {
    /// Begins a calculation, with nothing in flight, whatever became of an earlier one.
    fn start(&mut self) -> Result<()>;

    /// How many parts may be dealt to it before the first of them is added: their matrices wait in memory.
    fn ahead(&self) -> usize;

    /// Seconds of the products since the start.
    fn seconds(&self) -> f64;
}

/// `A_l(ig,n)` of bands l.
pub trait Elements: Sync {
    fn bands(&self) -> usize;

    /// Fills in `A_l(:,n)`, all ig of a band l and an n (0-based).
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]);
}
