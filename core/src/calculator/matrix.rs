//! Σ as a matrix, of a caller's arrays: see [`crate::offdiag`].

use num_complex::Complex64;

use super::opened::apart;
use super::told::Told;
use super::{Calculator, Formula, Placed, Screening};
use crate::error::Result;
use crate::offdiag::elements::Borrowed;
use crate::offdiag::gpus::on_gpus;
use crate::offdiag::{Sums, Task, on_processor};

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
}

/// What came of the calculation of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundMatrix {
    /// Screened exchange and Coulomb hole of all l and m at each energy, in the unit of `vcoul`; to be summed over
    /// ranks.
    pub sums: Sums,
    /// The version of [`crate::offdiag::versions`] that calculated them, of several GPUs that of the first; `cpu` on
    /// a processor.
    pub version: &'static str,
    /// Seconds of the products; of several GPUs those of the longest.
    pub seconds: f64,
}

impl Calculator {
    /// The matrices `SX_lm` and `CH_lm` at these energies ω in eV, by the fastest version: [`Calculator::set_version`]
    /// names others. `a` is read where it is, column by column. A GPU keeps nothing of it for the next call.
    ///
    /// # Errors
    /// As [`Calculator::sums`]; [`Error::Data`](crate::Error::Data), which names `a`, where it is not of whole bands,
    /// or has a number that is not finite or above 1e50.
    pub fn matrix(
        &self,
        screening: &Screening,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.matrix_at(&mut self.place(screening)?, bands, omega, formula)
    }

    /// The same of a screening that this calculator has placed.
    ///
    /// # Errors
    /// As [`Calculator::matrix`]; [`Error::Data`](crate::Error::Data) for a screening that another calculator has
    /// placed.
    pub fn matrix_at(
        &self,
        placed: &mut Placed,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.require_own(placed)?;
        let small = [bands.e, bands.occ];
        // SAFETY: it goes at the end of this call, which the borrows outlast.
        let problem = unsafe { placed.problem(small, None, omega, formula) }?;
        let [ncouls, _] = placed.extents();
        let elements = Borrowed::new(bands.a, [ncouls, bands.e.len()])?;
        let task = Task::new(&problem, &elements);
        let told = self.told.as_ref().map(Told::anew);
        let done = |part| {
            if let Some(told) = &told {
                told.tell(part);
            }
        };
        let wrong = || elements.is_wrong().then_some(0);
        let stop = || told.as_ref().and_then(Told::asked).or_else(wrong);
        let found = apart(|| match self.opened.host() {
            Some(host) => Ok((on_processor(host, &task, &done, &stop)?, "cpu")),
            None => on_gpus(&self.opened.gpus(), &task, &done, &stop),
        });
        elements.check()?;
        let (summed, version) = found?;
        Ok(FoundMatrix { sums: summed.sums, version, seconds: summed.seconds })
    }
}
