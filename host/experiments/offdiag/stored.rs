//! Matrix elements of a file: a NumPy array, read column by column.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gpp_core::offdiag::Elements;
use npyz::{NpyFile, Order};
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem::Extents;
use crate::process::input;

/// `A(l, n, ig)` of a file in the format of `numpy.save`: complex128, `(bands, nbands, ncouls)`, in C order.
pub struct Stored {
    path: PathBuf,
    /// Where the first element is.
    begin: u64,
    bands: usize,
    nbands: usize,
    /// What went wrong first.
    failed: OnceLock<String>,
}

impl Stored {
    /// Looks at a file that is to go with a problem of these extents.
    ///
    /// # Errors
    /// [`Error::Data`] for a file that cannot be read, and for an array of another kind or shape.
    pub fn open(path: &Path, extents: Extents) -> Result<Stored> {
        let wrong = |what: String| error(path, what);
        let (mut file, bytes) =
            input::open(path).map_err(|e| wrong(format!("cannot read: {e}")))?;
        let array = NpyFile::new(&mut file)
            .map_err(|e| wrong(format!("is no array as numpy.save writes it: {e}")))?;
        let Extents { nbands, ncouls, .. } = extents;
        let (found, shape) = (array.dtype().descr(), array.shape().to_vec());
        let needed = format!("complex128 (bands, {nbands}, {ncouls}) in C order");
        let order = if array.order() == Order::C { "C" } else { "Fortran" };
        let fits = matches!(shape[..], [bands, n, ig]
            if bands > 0 && n == nbands as u64 && ig == ncouls as u64);
        if found != "'<c16'" || !fits || array.order() != Order::C {
            let what = format!("needs {needed}, found {found} {shape:?} in {order} order");
            return Err(wrong(what));
        }
        let begin = file.stream_position().map_err(|e| wrong(format!("cannot read: {e}")))?;
        let elements = shape.iter().try_fold(16, |all: u64, n| all.checked_mul(*n));
        let needed = elements.and_then(|elements| elements.checked_add(begin));
        if needed != Some(bytes) {
            let needed = needed.map_or("more than any file has".into(), |n| n.to_string());
            return Err(wrong(format!("needs {needed} bytes for {shape:?}, has {bytes}")));
        }
        let bands = shape[0] as usize;
        Ok(Stored { path: path.into(), begin, bands, nbands, failed: OnceLock::new() })
    }

    /// Fails where a column could not be read, or held what is no number.
    ///
    /// # Errors
    /// [`Error::Data`] that names the file and the first such element.
    pub fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |what| Err(error(&self.path, what.clone())))
    }

    fn read(
        &self,
        l: usize,
        n: usize,
        column: &mut [Complex64],
    ) -> std::result::Result<(), String> {
        let at = self.begin + 16 * (column.len() * (l * self.nbands + n)) as u64;
        let mut read = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(bytemuck::cast_slice_mut(column))
        };
        read().map_err(|e: std::io::Error| format!("cannot read at byte {at}: {e}"))?;
        match column.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) {
            Some(ig) => Err(format!("A[{l}, {n}, {ig}] is {}, needs finite numbers", column[ig])),
            None => Ok(()),
        }
    }
}

impl Elements for Stored {
    fn bands(&self) -> usize {
        self.bands
    }

    /// What cannot be read is not a number: see [`Stored::check`].
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        if let Err(what) = self.read(l, n, column) {
            self.failed.get_or_init(|| what);
            column.fill(Complex64::new(f64::NAN, f64::NAN));
        }
    }
}

fn error(path: &Path, what: String) -> Error {
    Error::Data { origin: format!("--elements {}", path.display()), what }
}
