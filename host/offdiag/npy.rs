//! NumPy's files: matrix elements read, matrices written.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gpp_core::offdiag::Elements;
use npyz::{NpyFile, Order, WriterBuilder};
use num_complex::Complex64;

use crate::error::{Error, Result, invalid};
use crate::output::input;
use crate::problem::Extents;
use crate::problem::range::LARGEST_FACTOR;

/// `A(l, n, ig)` of a file in the format of `numpy.save`: complex128, `(bands, nbands, ncouls)`, in C order.
pub struct ElementsFile {
    path: PathBuf,
    begin: u64,
    bands: usize,
    nbands: usize,
    failed: OnceLock<String>,
}

impl ElementsFile {
    pub fn open(path: &Path, extents: Extents) -> Result<ElementsFile> {
        let wrong = |what: String| error(path, what);
        let (mut file, bytes) =
            input::open(path).map_err(|e| wrong(format!("cannot read: {e}")))?;
        // From format 2 on four bytes say how long the header is, and npyz takes as much memory.
        let mut begin = [0; 12];
        let is_long = file.read_exact(&mut begin).is_ok() && begin[6] > 1;
        let header = u32::from_le_bytes([begin[8], begin[9], begin[10], begin[11]]);
        let array = match is_long && u64::from(header) > bytes {
            true => {
                Err(io::Error::other(format!("its header has {header} bytes, the file {bytes}")))
            }
            false => file.rewind().and_then(|()| NpyFile::new(&mut file)),
        };
        // A fault of the header's syntax is drawn on several lines.
        let first = |error: io::Error| error.to_string().lines().next().map(str::to_string);
        let array = array.map_err(|error| {
            wrong(format!("is not a NumPy array (.npy): {}", first(error).unwrap_or_default()))
        })?;
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
        let elements = shape.iter().try_fold(16, |product: u64, n| product.checked_mul(*n));
        let needed = elements.and_then(|elements| elements.checked_add(begin));
        if needed != Some(bytes) {
            let needed = needed.map_or("more than any file has".into(), |n| n.to_string());
            return Err(wrong(format!("needs {needed} bytes for {shape:?}, has {bytes}")));
        }
        let bands = shape[0] as usize;
        Ok(ElementsFile { path: path.into(), begin, bands, nbands, failed: OnceLock::new() })
    }

    /// Fails if a column could not be read, or had what is no number.
    pub fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |what| Err(error(&self.path, what.clone())))
    }
}

impl Elements for ElementsFile {
    fn bands(&self) -> usize {
        self.bands
    }

    /// What cannot be read is not a number: see [`ElementsFile::check`].
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let offset = self.begin + 16 * (column.len() * (l * self.nbands + n)) as u64;
        let mut read = || -> io::Result<()> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(bytemuck::cast_slice_mut(column))
        };
        if let Err(error) = read() {
            self.failed.get_or_init(|| format!("cannot read at byte {offset}: {error}"));
            column.fill(Complex64::new(f64::NAN, f64::NAN));
        }
        let is_right = |z: &Complex64| [z.re, z.im].iter().all(|part| part.abs() <= LARGEST_FACTOR);
        if let Some(ig) = column.iter().position(|z| !is_right(z)) {
            let most = format!("real and imaginary part must be at most {LARGEST_FACTOR:e}");
            self.failed.get_or_init(|| format!("A[{l}, {n}, {ig}] is {:e}; {most}", column[ig]));
        }
    }
}

fn error(path: &Path, what: String) -> Error {
    invalid(format!("--elements {}", path.display()), what)
}

/// Matrices, l fastest, as a NumPy array of this shape, the last index fastest: m.
pub fn write(to: &mut dyn Write, shape: &[usize], matrices: &[Complex64]) -> io::Result<()> {
    let bands = shape[shape.len() - 1];
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut to = BufWriter::new(to);
    let mut array =
        npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut to).begin_nd()?;
    for matrix in matrices.chunks_exact(bands * bands) {
        array.extend((0..bands * bands).map(|i| matrix[i / bands + bands * (i % bands)]))?;
    }
    array.finish()?;
    to.flush()
}
