//! Reading: every extent is checked against the markers and the file's size before memory is taken
//! for it, and only what is asked for is read.

use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::input::{Contents, contents};
use super::records::{MatrixAt, Reader};
use crate::error::{Fault, FileError, Result};
use crate::problem::memory::{self, Extents, Of};
use crate::problem::source::{Given, Source, check_slab};
use crate::problem::{Bands, Origin, Problem, Slab, Sums, range, wrong};
use crate::progress::{Bar, Progress};
use crate::system::{format, input};

/// Reads an input file whole.
///
/// # Errors
/// [`crate::Error::File`] names the record, its offset, what was needed and what was found;
/// [`crate::Error::Problem`] the element that no kernel can take; [`crate::Error::Memory`].
pub fn read(path: &Path, progress: impl Into<Progress>) -> Result<Problem> {
    Input::open(path, progress)?.load()
}

/// An input file, read whole or slab by slab.
pub struct Input {
    path: PathBuf,
    name: String,
    size: u64,
    contents: Contents,
    progress: Progress,
}

/// Complex numbers that are read at once between two steps of a progress bar.
const AT_ONCE: usize = 1 << 20;

impl Input {
    /// Reads what is small and looks at all markers.
    ///
    /// # Errors
    /// [`crate::Error::File`].
    pub fn open(path: &Path, progress: impl Into<Progress>) -> Result<Input> {
        let mut file = Reader::open(path)?;
        let contents = contents(&mut file).map_err(|error| of_format(path, error))?;
        let (name, size) = (path.display().to_string(), file.size());
        let progress = progress.into();
        Ok(Input { path: path.to_path_buf(), name, size, contents, progress })
    }

    /// The file at the begin of one of its matrices of `ncouls` rows.
    fn at(&self, matrix: MatrixAt) -> std::result::Result<Reader, FileError> {
        let mut file = Reader::open(&self.path)?;
        file.go_to(matrix, self.size)?;
        Ok(file)
    }

    /// Some columns of one of the matrices of `ncouls` rows.
    fn columns(
        &self,
        matrix: MatrixAt,
        columns: Range<usize>,
        bar: &dyn Bar,
    ) -> std::result::Result<Vec<Complex64>, FileError> {
        let ncouls = self.contents.header.ncouls;
        let mut file = self.at(matrix)?;
        file.skip(16 * ncouls as u64 * columns.start as u64)?;
        let mut elements = vec![Complex64::ZERO; ncouls * columns.len()];
        for some in elements.chunks_mut(ncouls * (AT_ONCE / ncouls).max(1)) {
            file.read(bytemuck::cast_slice_mut(some))?;
            (0..some.len() / ncouls).for_each(|_| bar.step());
        }
        Ok(elements)
    }

    /// The columns of `wtilde_array` or `I_eps_array` that belong to some igp.
    fn pairs(
        &self,
        matrix: MatrixAt,
        igp: Range<usize>,
        bar: &dyn Bar,
    ) -> std::result::Result<Vec<Complex64>, FileError> {
        let ncouls = self.contents.header.ncouls;
        let mut file = self.at(matrix)?;
        let mut elements = vec![Complex64::ZERO; ncouls * igp.len()];
        let mut at = 0;
        for (column, k) in elements.chunks_exact_mut(ncouls).zip(igp) {
            let next = self.contents.header.column(k);
            file.skip(16 * (ncouls * (next - at)) as u64)?;
            file.read(bytemuck::cast_slice_mut(column))?;
            at = next + 1;
            bar.step();
        }
        Ok(elements)
    }

    /// The rows of `aqsmtemp` that belong to some igp, `(igp.len(), nbands)`.
    fn aqsm_local(
        &self,
        igp: Range<usize>,
        bar: &dyn Bar,
    ) -> std::result::Result<Vec<Complex64>, FileError> {
        let header = &self.contents.header;
        let mut aqsm_local = vec![Complex64::ZERO; igp.len() * header.nbands];
        let rows: Vec<Option<usize>> = header.rows_of(igp.clone()).collect();
        let used = rows.iter().flatten();
        let (Some(&first), Some(&last)) = (used.clone().min(), used.max()) else {
            return Ok(aqsm_local);
        };
        let mut file = self.at(self.contents.aqsmtemp)?;
        let mut column = vec![Complex64::ZERO; last + 1 - first];
        let passed = header.ncouls - column.len();
        file.skip(16 * first as u64)?;
        for (n, band) in aqsm_local.chunks_exact_mut(igp.len()).enumerate() {
            if n > 0 {
                file.skip(16 * passed as u64)?;
            }
            file.read(bytemuck::cast_slice_mut(&mut column))?;
            for (element, row) in band.iter_mut().zip(&rows) {
                *element = row.map_or(Complex64::ZERO, |igp| column[igp - first]);
            }
            bar.step();
        }
        Ok(aqsm_local)
    }
}

impl Source for Input {
    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> Origin {
        Origin::File(self.path.clone())
    }

    fn extents(&self) -> Extents {
        self.contents.header.extents()
    }

    fn start(&self) -> Sums {
        self.contents.start.clone()
    }

    fn stored(&self) -> Option<Sums> {
        // A file whose reference was never filled in holds zeros.
        let stored = &self.contents.stored;
        stored.named(1).any(|(_, z)| z != Complex64::ZERO).then(|| stored.clone())
    }

    fn bands(&self) -> Result<Arc<Bands>> {
        let extents = self.extents();
        memory::require(&self.name, extents.bytes_of(Of::Bands))?;
        let bar = self.progress.bar("reading", extents.nbands as u64);
        let aqsn = self.columns(self.contents.aqsn, 0..extents.nbands, &*bar)?;
        drop(bar);
        let bands = Bands::new(self.contents.header.clone(), aqsn);
        Ok(bands.map_err(|what| wrong(&self.name, what))?.into())
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Given<'_>> {
        check_slab(self, &igp)?;
        let steps = 2 * igp.len() + self.extents().nbands;
        let bar = self.progress.bar("reading", steps as u64);
        let aqsm_local = self.aqsm_local(igp.clone(), &*bar)?;
        let wtilde = self.pairs(self.contents.wtilde, igp.clone(), &*bar)?;
        let eps = self.pairs(self.contents.eps, igp.clone(), &*bar)?;
        drop(bar);
        let slab = Slab::new(bands, igp, wtilde, eps, aqsm_local);
        Ok(Given::Made(slab.map_err(|what| wrong(&self.name, what))?))
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        let ncouls = self.extents().ncouls;
        let (mut modes, mut weights) =
            (self.at(self.contents.wtilde)?, self.at(self.contents.eps)?);
        let (mut wtilde, mut eps) = (vec![Complex64::ZERO; ncouls], vec![Complex64::ZERO; ncouls]);
        let mut at = 0;
        for k in igp {
            let next = self.contents.header.column(k);
            for (file, column) in [(&mut modes, &mut wtilde), (&mut weights, &mut eps)] {
                file.skip(16 * (ncouls * (next - at)) as u64)?;
                file.read(bytemuck::cast_slice_mut(column))?;
            }
            at = next + 1;
            if range::poles_of(&wtilde, &eps) == Poles::Any {
                return Ok(Poles::Any);
            }
        }
        Ok(Poles::Real)
    }
}

/// An error of the first marker as one of the whole file, where that is of a format that is known.
fn of_format(path: &Path, error: FileError) -> FileError {
    let Fault::Marker { big_endian: false, .. } = *error.fault else { return error };
    let mut first = [0; format::ENOUGH];
    let read = input::open(path).and_then(|(mut file, _)| file.read_exact(&mut first));
    if error.record > 1 || read.is_err() {
        return error;
    }
    match format::named(&first) {
        Some(named) => FileError { record: 0, fault: Fault::Format(named).into(), ..error },
        None => error,
    }
}
