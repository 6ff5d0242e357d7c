//! Problems to calculate: built-in systems and files of the mini-app, as arguments of `Calculator.sums`.

use std::path::PathBuf;

use gpp_core::catalogue;
use gpp_core::problem::file;
use gpp_core::problem::synthesis::Synthesis;
use gpp_core::problem::{Problem, Source, Sums, systems};
use gpp_core::progress::Progress;
use gpp_core::system::memory;
use num_complex::Complex64;
use numpy::npyffi::NPY_ORDER;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Argument, Vector};
use crate::raised;

/// The ids of all versions, in order, each with what it changes.
#[pyfunction]
pub fn versions(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for listed in catalogue::versions() {
        all.set_item(listed.id(), listed.version.change)?;
    }
    Ok(all)
}

/// The arguments of `Calculator.sums` for a built-in system, as a dict.
///
/// Parameters
/// ----------
/// name : "tiny", "demo", "si214", "si510", …, also with "-complex" for complex poles.
/// seed : of its numbers.
/// energies : (nw,) float64, eV above the state's energy, in place of the system's own.
///
/// Matrices are in Fortran's order. Raises `gpp.Error` for an unknown name or too little memory.
#[pyfunction]
#[pyo3(
    signature = (name, seed = systems::DEFAULT_SEED, energies = None),
    text_signature = "(name, seed=214, energies=None)"
)]
pub fn system<'py>(
    py: Python<'py>,
    name: &str,
    seed: u64,
    energies: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let energies = energies
        .map(|given| Argument { name: "energies", given }.array())
        .transpose()?
        .map(|given: Vector<'_, f64>| given.column_major().into_owned());
    let make = || Synthesis::new(systems::find(name)?, seed, Progress::NONE).load();
    let problem = py.detach(make).map_err(raised)?;
    arguments(py, &problem, energies)
}

/// The arguments of `Calculator.sums` of a file in the mini-app's format, and the sums that the file
/// compares with: a pair of arrays (asx, ach), less the sums that it starts from; zeros where it has none.
///
/// >>> arguments, (asx, ach) = gpp.read("tiny.dat")
///
/// Raises `gpp.Error`, which names the record, for a file that is not one.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a pair in a pair, as Python has it")]
pub fn read(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(Bound<'_, PyDict>, (Bound<'_, PyArray1<Complex64>>, Bound<'_, PyArray1<Complex64>>))>
{
    let problem = py.detach(|| file::read(&path, Progress::NONE)).map_err(raised)?;
    let nw = problem.frame().nw();
    let stored = problem.frame().stored().cloned().unwrap_or_else(|| Sums::zero(nw));
    let start = problem.frame().start();
    let less = |a: &[Complex64], b: &[Complex64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
    let array = |numbers: Vec<Complex64>| PyArray1::from_vec(py, numbers);
    let stored = (array(less(&stored.asx, &start.asx)), array(less(&stored.ach, &start.ach)));
    Ok((arguments(py, &problem, None)?, stored))
}

/// The dict of a problem, its energies these above its state's, or its own.
fn arguments<'py>(
    py: Python<'py>,
    problem: &Problem,
    energies: Option<Vec<f64>>,
) -> PyResult<Bound<'py, PyDict>> {
    let header = problem.header();
    let (ncouls, ngpown, nbands) = (header.ncouls, header.ngpown, header.nbands);
    let copied = size_of::<Complex64>() * 2 * ncouls * (ngpown + nbands);
    memory::require("arrays for NumPy", copied as u64).map_err(raised)?;
    let mut aqsm = vec![Complex64::ZERO; ncouls * nbands];
    py.detach(|| {
        let columns = aqsm.chunks_exact_mut(ncouls).enumerate();
        columns.for_each(|(n, column)| problem.aqsmtemp_column(n, column));
    });
    let matrix = |numbers: Vec<Complex64>, columns: usize| -> PyResult<Bound<'py, PyArray2<_>>> {
        let shape = [ncouls, columns];
        PyArray1::from_vec(py, numbers).reshape_with_order(shape, NPY_ORDER::NPY_FORTRANORDER)
    };
    let band = |&n: &i32| header.wfnkq_ekq[n as usize - 1];
    let e = header.peinf_indext_dist[..nbands].iter().map(band).collect();
    let above = energies.unwrap_or_else(|| header.above_state());
    let omega = above.iter().map(|above| header.e_lk + above).collect();
    let rows = header.rows().map(|row| row.map_or(-1, |ig| ig as i64)).collect();

    let all = PyDict::new(py);
    all.set_item("wtilde", matrix(problem.wtilde().to_vec(), ngpown)?)?;
    all.set_item("eps", matrix(problem.eps().to_vec(), ngpown)?)?;
    all.set_item("vcoul", vector(py, header.vcoul[..ncouls].to_vec()))?;
    all.set_item("igp_to_ig", vector::<i64>(py, rows))?;
    all.set_item("aqsn", matrix(problem.frame().aqsn().to_vec(), nbands)?)?;
    all.set_item("aqsm", matrix(aqsm, nbands)?)?;
    all.set_item("e", vector::<f64>(py, e))?;
    all.set_item("occ", vector(py, problem.frame().occ().to_vec()))?;
    all.set_item("omega", vector::<f64>(py, omega))?;
    all.set_item("gamma", header.sig_gamma)?;
    all.set_item("sexcut", header.sexcut)?;
    Ok(all)
}

fn vector<T: Element>(py: Python<'_>, numbers: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, numbers)
}
