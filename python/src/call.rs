//! A call of the core, during which other Python threads run and Ctrl-C is handled.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::without_provenance_mut;
use std::sync::{Arc, OnceLock};

use gpp_core::on_gpu::ForeignStream;
use gpp_core::{Calculator, Result};
use pyo3::prelude::*;

use crate::{Error, Stopped};

/// The CUDA stream, whether the static CH is wanted, and the progress callback.
#[derive(FromPyObject)]
pub struct Call(usize, bool, Option<Py<PyAny>>);

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
        let Call(stream, static_ch, progress) = self;
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
        let calculator = calculator.clone().with_static_ch(static_ch);
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
        Err(_) => Err(Error::new_err("internal error of gpp; standard error has the details")),
    }
}
