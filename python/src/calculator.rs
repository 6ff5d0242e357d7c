//! The class that calculates.

use std::sync::Mutex;

use gpp_core::{Formula, Sizes};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arguments::{GivenBands, GivenScreening, OfBands, OfScreening};
use crate::device::on_stream;
use crate::found::{Matrices, Sums};
use crate::matrix::{GivenMatrix, OfMatrix};
use crate::placed::Placed;
use crate::{Error, raised};

/// A device, open, and the version to run there.
///
/// Parameters
/// ----------
/// device : "auto", "cpu", "gpu", "gpu:N", "gpu:N,M" or "gpu:all"; several GPUs share each problem. "auto" is the first GPU, or the processor where there is none.
/// version : an id of `gpp.versions()`, or "best": the fastest for each problem.
/// threads : of the processor, 1 to 65535. Without it there are as many as OMP_NUM_THREADS says, else as many as
///     the affinity mask and the cgroup leave room for. Sums have the same bits for any number.
///
/// Raises `gpp.Error` for an unknown name, a GPU that is not there, a version of other devices. Threads may
/// share a calculator.
#[pyclass(frozen, module = "gpp")]
pub struct Calculator {
    calculator: gpp_core::Calculator,
    version: String,
}

#[pymethods]
impl Calculator {
    #[new]
    #[pyo3(signature = (device = "auto", version = "best", *, threads = None))]
    fn new(
        py: Python<'_>,
        device: &str,
        version: &str,
        threads: Option<i64>,
    ) -> PyResult<Calculator> {
        let threads = threads.map_or(Ok(0), given_threads)?;
        let open =
            || gpp_core::Calculator::open(device)?.with_version(version)?.with_threads(threads);
        let calculator = py.detach(open).map_err(raised)?;
        Ok(Calculator { calculator, version: version.into() })
    }

    /// The device: "cpu", "gpu:0", "gpu:1", …
    #[getter]
    fn device(&self) -> &str {
        &self.calculator.device().id
    }

    /// The device's model.
    #[getter]
    fn device_name(&self) -> &str {
        &self.calculator.device().name
    }

    /// The version asked for; "best" leaves it to each problem.
    #[getter]
    fn version(&self) -> &str {
        &self.version
    }

    /// How many threads of the processor a calculation has at most.
    #[getter]
    fn threads(&self) -> usize {
        self.calculator.threads()
    }

    fn __repr__(&self) -> String {
        format!("gpp.Calculator(device='{}', version='{}')", self.device(), self.version)
    }

    /// Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G.
    ///
    /// Indices count from 0, as everywhere in Python. The first index of a matrix is the fastest in Fortran's
    /// order: such an array, of shape (ncouls, ngpown), is used where it is. An array in C's order or with
    /// gaps is copied. A C-ordered array of shape (ngpown, ncouls) has the same memory: give its transpose,
    /// `array.T`, which copies nothing.
    ///
    /// Parameters
    /// ----------
    /// wtilde : (ncouls, ngpown) complex128, eV. Plasmon-pole modes.
    /// eps : (ncouls, ngpown) complex128. δ − ε⁻¹.
    /// vcoul : (ncouls,) float64. Coulomb interaction of each G; the sums have its unit.
    /// igp_to_ig : (ngpown,) int64 or int32. Row of each column's G′, 0 to ncouls − 1; -1 for none.
    /// aqsn : (ncouls, nbands) complex128. Matrix elements of G.
    /// aqsm : (ncouls, nbands) complex128, whose rows of G′ are taken, or (ngpown, nbands), those rows. Where
    ///     ncouls = ngpown it is the first.
    /// e : (nbands,) float64, eV. Energy of each band.
    /// occ : (nbands,) float64, 0 to 1. Occupation of each band.
    /// omega : (nw,) float64, eV. The energies of the sums.
    /// gamma : eV. Width of a pole.
    /// sexcut : bound on |ssx| / |eps| where omega is below the band.
    /// static_ch : bool. Whether the static CH of the same bands is summed too, −½ Σ vcoul · eps · conj(aqsm) · aqsn:
    ///     what BerkeleyGW's `acc_static_ch` sums for `exact_static_ch 1`.
    ///
    /// stream : of CUDA, as an integer, in which arrays on a GPU are made. Without it, that which they name, or
    ///     the default one.
    ///
    /// Arrays may be on the GPU of a calculator that has one: CuPy's, PyTorch's and others that have
    /// `__cuda_array_interface__`. `wtilde` and `eps` together, `aqsn` and `aqsm` together, with the first index
    /// fastest: nothing is copied on the GPU for its order. `place` keeps `wtilde` and `eps` there for many calls.
    ///
    /// Returns `gpp.Sums`. Raises TypeError for an argument of another type, `gpp.Error` for one of another
    /// shape, or with a number that no kernel takes; the calculator stays usable. Other threads of Python run
    /// meanwhile; they must not change the arrays.
    #[pyo3(signature = (
        wtilde, eps, vcoul, igp_to_ig, aqsn, aqsm, e, occ, omega, gamma = 0.5, sexcut = 4.0, stream = None, *,
        static_ch = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn sums(
        &self,
        py: Python<'_>,
        wtilde: &Bound<'_, PyAny>,
        eps: &Bound<'_, PyAny>,
        vcoul: &Bound<'_, PyAny>,
        igp_to_ig: &Bound<'_, PyAny>,
        aqsn: &Bound<'_, PyAny>,
        aqsm: &Bound<'_, PyAny>,
        e: &Bound<'_, PyAny>,
        occ: &Bound<'_, PyAny>,
        omega: &Bound<'_, PyAny>,
        gamma: f64,
        sexcut: f64,
        stream: Option<usize>,
        static_ch: bool,
    ) -> PyResult<Sums> {
        let screening = GivenScreening { wtilde, eps, vcoul, igp_to_ig };
        let bands = GivenBands { aqsn, aqsm, e, occ, omega };
        let all = [&screening.named()[..], &bands.named()].concat();
        let calculator = on_stream(&self.calculator, stream, &all)?.with_static_ch(static_ch);
        let of = OfScreening::of(&screening, &calculator)?;
        let bands = OfBands::of(&bands, of.extents(), &calculator)?;
        let found = bands.sums(py, &calculator, &of, Formula { gamma, sexcut })?;
        Ok(Sums::of(py, found))
    }

    /// How far the sums of `sums`, by any version, may be from exact ones: the largest absolute value of the
    /// difference at each energy, of asx and of ach. Of all `columns` of wtilde that is a bound, of fewer, evenly
    /// spaced ones an estimate of it. It takes all roundings to have one sign: errors are far smaller as a rule.
    /// Terms are evaluated on the processor, ncouls · nbands · nw of them a column.
    ///
    /// Other arguments as of `sums`, in the host's memory. Returns two arrays, (nw,) float64, in the unit of vcoul.
    /// Raises as `sums` does.
    #[pyo3(signature = (
        wtilde, eps, vcoul, igp_to_ig, aqsn, aqsm, e, occ, omega, gamma = 0.5, sexcut = 4.0, columns = 8
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn bound<'py>(
        &self,
        py: Python<'py>,
        wtilde: &Bound<'py, PyAny>,
        eps: &Bound<'py, PyAny>,
        vcoul: &Bound<'py, PyAny>,
        igp_to_ig: &Bound<'py, PyAny>,
        aqsn: &Bound<'py, PyAny>,
        aqsm: &Bound<'py, PyAny>,
        e: &Bound<'py, PyAny>,
        occ: &Bound<'py, PyAny>,
        omega: &Bound<'py, PyAny>,
        gamma: f64,
        sexcut: f64,
        columns: usize,
    ) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
        let of =
            OfScreening::of(&GivenScreening { wtilde, eps, vcoul, igp_to_ig }, &self.calculator)?;
        let given = GivenBands { aqsn, aqsm, e, occ, omega };
        let bands = OfBands::of(&given, of.extents(), &self.calculator)?;
        let (omega, formula) = (&bands.omega, Formula { gamma, sexcut });
        let found = of.on_host(|screening| {
            bands.on_host(|bands| {
                py.detach(|| self.calculator.bound(screening, bands, omega, formula, columns))
            })
        });
        let on_gpu = || Error::new_err("bound needs matrices in the host's memory");
        let found = found.flatten().ok_or_else(on_gpu)?.map_err(raised)?;
        Ok([found.asx, found.ach].map(|of| PyArray1::from_vec(py, of)))
    }

    /// Screened exchange and Coulomb hole between all bands l and m at each energy: Σ as a matrix.
    ///
    /// Parameters
    /// ----------
    /// a : (bands, nbands, ncouls) complex128. Matrix elements a[l, n, ig] of band l with band n: a[l].T is the `aqsn`
    ///     of `sums` where l is the state. bands is from 1 to 8192. An array in C's order is used where it is; any
    ///     other is copied.
    /// e, occ : (nbands,) float64. Energy in eV and occupation of each band n.
    /// at_bands : bool. Whether `omega` has the energy of each band l, (bands,). Then sx and ch have two matrices, as
    ///     QSGW and GWPT take them: rows at the energies of their bands, Σ_lm(ω_l), then columns, Σ_lm(ω_m).
    ///
    /// Other arguments as of `sums`. `a` may be on the calculator's GPU, in C's order: it is brought to the host as a
    /// whole. The version is the fastest for matrices, whatever the calculator's is.
    ///
    /// Returns `gpp.Matrices` with sx[iw, l, m] and ch[iw, l, m]. Raises as `sums` does.
    #[pyo3(signature = (
        wtilde, eps, vcoul, igp_to_ig, a, e, occ, omega, gamma = 0.5, sexcut = 4.0, stream = None, *, at_bands = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn matrix(
        &self,
        py: Python<'_>,
        wtilde: &Bound<'_, PyAny>,
        eps: &Bound<'_, PyAny>,
        vcoul: &Bound<'_, PyAny>,
        igp_to_ig: &Bound<'_, PyAny>,
        a: &Bound<'_, PyAny>,
        e: &Bound<'_, PyAny>,
        occ: &Bound<'_, PyAny>,
        omega: &Bound<'_, PyAny>,
        gamma: f64,
        sexcut: f64,
        stream: Option<usize>,
        at_bands: bool,
    ) -> PyResult<Matrices> {
        let screening = GivenScreening { wtilde, eps, vcoul, igp_to_ig };
        let bands = GivenMatrix { a, e, occ, omega, at_bands };
        let all = [screening.named(), bands.named()].concat();
        let calculator = on_stream(&self.calculator, stream, &all)?;
        let of = OfScreening::of(&screening, &calculator)?;
        let bands = OfMatrix::of(&bands, of.extents(), &calculator)?;
        let found = bands.matrix(py, &calculator, &of, Formula { gamma, sexcut })?;
        Matrices::of(py, found)
    }

    /// Places a screening for many calls of `Placed.sums` and `Placed.matrix`: on one GPU `wtilde` and `eps` stay there from the
    /// first of them on, where there is room.
    ///
    /// Arguments as of `sums`. Matrices of the host are copied. Those that are on the GPU stay where they are
    /// and must not change; a copy of them is brought to the host, once.
    ///
    /// Returns `gpp.Placed`. Raises as `sums` does.
    #[pyo3(signature = (wtilde, eps, vcoul, igp_to_ig, stream = None))]
    fn place(
        &self,
        py: Python<'_>,
        wtilde: &Bound<'_, PyAny>,
        eps: &Bound<'_, PyAny>,
        vcoul: &Bound<'_, PyAny>,
        igp_to_ig: &Bound<'_, PyAny>,
        stream: Option<usize>,
    ) -> PyResult<Placed> {
        let screening = GivenScreening { wtilde, eps, vcoul, igp_to_ig };
        let calculator = on_stream(&self.calculator, stream, &screening.named())?;
        let of = OfScreening::of(&screening, &calculator)?;
        let placed = Mutex::new(of.placed(py, &calculator)?);
        let held = [wtilde, eps].map(|array| array.clone().unbind());
        let (extents, calculator) = (of.extents(), self.calculator.clone());
        Ok(Placed { placed, extents, calculator, _held: held })
    }

    /// Bytes that a call takes at most beside the caller's arrays, with the static CH: a pair, on the host and on
    /// each GPU.
    #[pyo3(signature = (ncouls, ngpown, nbands, nw, on_device = false))]
    fn workspace(
        &self,
        ncouls: usize,
        ngpown: usize,
        nbands: usize,
        nw: usize,
        on_device: bool,
    ) -> PyResult<(u64, u64)> {
        let (screening_lent, bands_lent) = (on_device, on_device);
        let sizes = Sizes { ncouls, ngpown, nbands, nw, screening_lent, bands_lent };
        let calculator = self.calculator.clone().with_static_ch(true);
        let found = calculator.workspace(sizes).map_err(raised)?;
        Ok((found.host, found.device))
    }
}

/// The threads asked for, of which there is one at least.
fn given_threads(threads: i64) -> PyResult<usize> {
    let given = u16::try_from(threads).ok().filter(|&threads| threads > 0);
    let wrong =
        || Error::new_err(format!("threads must be from 1 to {}, found {threads}", u16::MAX));
    given.map(usize::from).ok_or_else(wrong)
}
