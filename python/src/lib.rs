//! The Python module `gpp._gpp`: [`gpp_core`] called with NumPy arrays, which `gpp/__init__.py` checks before.

mod calculator;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, OnceLock};

use gpp_core::catalogue;
use gpp_core::on_gpu::ForeignStream;
use gpp_core::os::memory;
use gpp_core::problem::synthesis::Synthesis;
use gpp_core::problem::{Problem, Source, Sums, System, input_file};
use gpp_core::progress::Bars;
use gpp_core::{Calculator, Complex64, Result};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pyo3::import_exception!(gpp, Error);
pyo3::import_exception!(gpp, Stopped);

#[pymodule]
mod _gpp {
    #[pymodule_export]
    use super::calculator::{PyCalculator, PyPlaced};
    #[pymodule_export]
    use super::{read, system, versions};
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// The CUDA stream, whether the static CH is wanted, at which energy CH of each band, whether Σ alone, whether its
/// derivative, and the progress callback.
#[derive(FromPyObject)]
pub struct Call(usize, bool, Option<usize>, bool, bool, Option<Py<PyAny>>);

impl Call {
    /// Does `work` with the calculator of this call.
    ///
    /// # Errors
    /// What the function or a signal handler of Python raised, [`Stopped`], [`Error`].
    pub fn run<R: Send>(
        self,
        py: Python<'_>,
        calculator: &Calculator,
        work: impl FnOnce(&Calculator) -> Result<R> + Send,
    ) -> PyResult<R> {
        let Call(stream, static_ch, ach_of_bands, sigma_alone, derivative, progress) = self;
        // SAFETY: the caller says that it is a stream of the device.
        let stream = unsafe { ForeignStream::new(without_provenance_mut(stream)) };
        let raised = Arc::new(OnceLock::new());
        let raises = raised.clone();
        let report = move |part: f64| {
            let asked = |py: Python<'_>| {
                let called = py.check_signals().and_then(|()| match &progress {
                    Some(progress) => progress.bind(py).call1((part,))?.is_truthy(),
                    None => Ok(false),
                });
                called.unwrap_or_else(|error| raises.set(error).is_ok())
            };
            // An interpreter that ends waits for nothing.
            Python::try_attach(asked).unwrap_or(true).then_some(0)
        };
        let calculator = calculator.clone().with_static_ch(static_ch).with_derivative(derivative);
        let calculator = calculator.with_ach_of_bands(ach_of_bands).with_sigma_alone(sigma_alone);
        let calculator = calculator.with_stream(stream).with_progress(report);
        let found = detached(py, || work(&calculator));
        raised.get().map_or(found, |error| Err(error.clone_ref(py)))
    }
}

/// Does `work` while other threads of Python run.
///
/// # Errors
/// [`Stopped`], [`Error`]; a panic is one too.
pub fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> Result<R> + Send) -> PyResult<R> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(found) => found.map_err(|error| match error {
            gpp_core::Error::Stopped { .. } => Stopped::new_err("progress asked to stop"),
            error => Error::new_err(error.to_string()),
        }),
        Err(_) => Err(Error::new_err("internal error; standard error has the details")),
    }
}

/// The ids of all versions, in order, each with what it changes.
#[pyfunction]
fn versions() -> Vec<(&'static str, &'static str)> {
    catalogue::versions().map(|listed| (listed.id(), listed.label().change)).collect()
}

/// The arguments of a built-in system, and the energy of its state.
#[pyfunction]
fn system<'py>(py: Python<'py>, name: &str, seed: u64) -> PyResult<(Bound<'py, PyDict>, f64)> {
    let make = || Synthesis::new(System::find(name)?, seed, Bars::NONE).load();
    let problem = detached(py, make)?;
    Ok((arguments(py, &problem)?, problem.header().e_lk))
}

type Array<'py> = Bound<'py, PyArray1<Complex64>>;

/// The arguments of a file in the mini-app's format; asx and ach that it compares with, and those that it starts from.
#[pyfunction]
fn read(py: Python<'_>, path: PathBuf) -> PyResult<(Bound<'_, PyDict>, [Array<'_>; 4])> {
    let problem = detached(py, || input_file::read(&path, Bars::NONE))?;
    let stored = problem.stored.clone().unwrap_or_else(|| Sums::zero(problem.nw()));
    let start = problem.start();
    let sums = [&stored.asx, &stored.ach, &start.asx, &start.ach];
    Ok((arguments(py, &problem)?, sums.map(|sums| PyArray1::from_slice(py, sums))))
}

/// The arguments of a problem, all elements of a matrix in the order of the core.
fn arguments<'py>(py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyDict>> {
    let header = problem.header();
    let (ncouls, ngpown, nbands) = (header.ncouls, header.ngpown, header.nbands);
    let copied = size_of::<Complex64>() * 2 * ncouls * (ngpown + nbands);
    let aqsm = || {
        memory::require("arrays for NumPy", copied as u64)?;
        let mut aqsm = vec![Complex64::ZERO; ncouls * nbands];
        let columns = aqsm.chunks_exact_mut(ncouls.max(1)).enumerate();
        columns.for_each(|(n, column)| input_file::aqsmtemp_column(problem, n, column));
        Ok(aqsm)
    };
    let aqsm = detached(py, aqsm)?;
    let band = |&n: &i32| header.wfnkq_ekq[n as usize - 1];
    let e: Vec<f64> = header.peinf_indext_dist[..nbands].iter().map(band).collect();
    let omega: Vec<f64> = header.above_state().iter().map(|above| header.e_lk + above).collect();
    let rows: Vec<i64> = header.rows().map(|row| row.map_or(-1, |ig| ig as i64)).collect();

    let arguments = PyDict::new(py);
    arguments.set_item("wtilde", PyArray1::from_slice(py, problem.wtilde()))?;
    arguments.set_item("eps", PyArray1::from_slice(py, problem.eps()))?;
    arguments.set_item("vcoul", PyArray1::from_slice(py, &header.vcoul[..ncouls]))?;
    arguments.set_item("igp_to_ig", PyArray1::from_slice(py, &rows))?;
    arguments.set_item("aqsn", PyArray1::from_slice(py, problem.aqsn()))?;
    arguments.set_item("aqsm", PyArray1::from_vec(py, aqsm))?;
    arguments.set_item("e", PyArray1::from_slice(py, &e))?;
    arguments.set_item("occ", PyArray1::from_slice(py, problem.occ()))?;
    arguments.set_item("omega", PyArray1::from_slice(py, &omega))?;
    arguments.set_item("gamma", header.sig_gamma)?;
    arguments.set_item("sexcut", header.sexcut)?;
    Ok(arguments)
}

include!("../../build/hypot.rs");
