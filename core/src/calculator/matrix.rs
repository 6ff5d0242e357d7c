//! Σ as a matrix, of a caller's arrays: see [`crate::offdiag`].

use num_complex::Complex64;

use crate::calculator::placed::Placed;
use crate::calculator::{Calculator, Formula, Screening};
use crate::devices::Watch;
use crate::error::{Error, Result};
use crate::offdiag::calculation::{on_cpu, on_gpus};
use crate::offdiag::{At, Borrowed, Elements, Sums as MatrixSums, Task, once_each};
use crate::os::memory::require;

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
    /// Whether `omega` has the energy of each band l. Then the result is two matrices, as QSGW and GWPT use
    /// them, instead of one for each energy: rows at their band's energy, `Σ_lm(ω_l)`, then columns,
    /// `Σ_lm(ω_m)`.
    pub at_bands: bool,
}

/// The result of a matrix calculation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoundMatrix {
    /// Screened exchange and Coulomb hole of all l and m at each energy, or of [`MatrixBands::at_bands`] in rows and
    /// columns, in the unit of `vcoul`; to be summed over ranks.
    pub sums: MatrixSums,
    /// The version of [`crate::offdiag::versions`] that ran, on several GPUs that of the first; `cpu` on a
    /// CPU.
    pub version: &'static str,
    /// Seconds of the products; with several GPUs the longest.
    pub seconds: f64,
}

impl Calculator {
    /// Computes `SX_lm` and `CH_lm` at these energies ω in eV by the fastest version, whatever
    /// [`Calculator::with_version`] names; zero if there are no columns. `a` is read in place,
    /// column by column. A GPU keeps nothing of it for the next call.
    ///
    /// # Errors
    /// As [`Calculator::sums`]. [`Error::Input`] names `a` if its length is wrong or a number is
    /// not finite or above 1e50, and `omega` if it needs an energy for each band but has not.
    pub fn matrix(
        &self,
        screening: &Screening,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.matrix_at(&mut self.place(screening)?, bands, omega, formula)
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
        self.opened.called(self.progress.as_ref(), |Watch { done, stop }| {
            let [ncouls, ngpown] = placed.dimensions();
            let elements = Borrowed::new(bands.a, [ncouls, bands.e.len()], self.index_base, stop)?;
            let (count, found) = (elements.bands(), omega.len());
            if bands.at_bands && found != count {
                let needs = format!("needs an energy for each of {count} bands, with at_bands");
                let what = format!("{needs}; found {found}");
                return Err(Error::Input { origin: "omega".into(), what });
            }
            if ngpown == 0 {
                let planes = if bands.at_bands { 2 } else { omega.len() };
                let numbers = 2 * count * count * planes;
                require("the matrices", (numbers * size_of::<Complex64>()) as u64)?;
                let sums = MatrixSums::zero(count, planes);
                return Ok(FoundMatrix { sums, version: "cpu", seconds: 0.0 });
            }
            let own = bands.at_bands.then(|| once_each(omega));
            let each = own.as_ref().map_or(omega, |(each, _)| each);
            let small = [bands.e, bands.occ];
            // SAFETY: the problem is dropped at the end of this call, which the borrows outlast.
            let problem = unsafe { placed.problem(small, None, each, formula) };
            let problem = problem.map_err(|error| self.in_words_of_caller(error, None))?;
            let at = own.as_ref().map_or(At::Energies, |(_, numbers)| At::Bands(numbers));
            let task = Task { at, stop, ..Task::new(&problem, &elements) };
            let found = match self.opened.host() {
                Some(host) => on_cpu(host, &task, done).map(|summed| (summed, "cpu")),
                None => on_gpus(&self.opened.gpus(), &task, done),
            };
            elements.check()?;
            let (summed, version) = found?;
            Ok(FoundMatrix { sums: summed.sums, version, seconds: summed.seconds })
        })
    }
}
