//! The reference mini-app's input format: Fortran sequential unformatted records, little-endian,
//! with 4-byte length markers; records over 2 GiB are split into subrecords as gfortran does.

mod records;

use std::borrow::Cow;
use std::io;
use std::io::{BufWriter, Read as _, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::error::{DataError, Error, Result};
use crate::problem::file::records::{MAX_SUBRECORD, MatrixAt, Reader, Writer, of_file};
use crate::problem::header::{Header, at_most, in_range};
use crate::problem::memory::{Extents, Of};
use crate::problem::source::{Given, Source, check_slab};
use crate::problem::{Bands, Origin, Problem, Slab, Sums, memory, range, wrong};
use crate::progress::{Bar, Progress};
use crate::system::output;
use crate::system::output::replace;

#[cfg(target_endian = "big")]
compile_error!("the file format is little-endian and is read into memory as it stands");

/// Energies that the mini-app has room for: its arrays of sums have this length. A file of more energies has a
/// sum for each, and the mini-app cannot read it.
pub const MINI_APPS_ENERGIES: usize = 3;

/// The records in order: the arrays or scalars that each holds.
pub const RECORDS: [&str; 18] = [
    "sig_ntband, gvec_ng, ncoul, epsmpi_ngpown_max, peinf_ntband_max",
    "peinf_ntband_dist, ipe, ispin, ngpown, ncouls",
    "peinf_indext_dist",
    "wfnkq_ekq",
    "nstart, nend, sig_fdf, sig_dw, sig_gamma, e_lk",
    "inv_igp_index",
    "gvec_ng, indinv",
    "aqsmtemp",
    "nvband, tol, efermi",
    "vcoul",
    "sexcut, limittwo, limitone",
    "wtilde_array",
    "I_eps_array",
    "aqsntemp",
    "asxtemp",
    "achtemp",
    "asxtempref",
    "achtempref",
];

// The records by their contents.

/// What a file holds beside its large arrays, and where these are.
pub struct Contents {
    pub header: Arc<Header>,
    pub start: Sums,
    pub stored: Sums,
    /// `aqsmtemp(ncouls, peinf_ntband_max)`.
    pub aqsmtemp: MatrixAt,
    /// `wtilde_array(ncouls, ngpown)`.
    pub wtilde: MatrixAt,
    /// `I_eps_array(ncouls, ngpown)`.
    pub eps: MatrixAt,
    /// `aqsntemp(ncouls, peinf_ntband_max)`.
    pub aqsn: MatrixAt,
}

/// Reads all records, passing over the large ones: every marker is looked at.
pub fn contents(file: &mut Reader) -> Result<Contents> {
    let [sig_ntband, gvec_ng, ncoul, epsmpi_ngpown_max, peinf_ntband_max] = extents(file)?;
    let [nbands, ipe, ispin, ngpown, ncouls] = scalars::<i32, 5>(file)?;
    let [ncouls] = positive(file, [("ncouls", ncouls)])?;
    let [nbands, ngpown] = at_least(file, 0, [("peinf_ntband_dist", nbands), ("ngpown", ngpown)])?;
    for (name, extent, limit, most) in [
        ("peinf_ntband_dist", nbands, "peinf_ntband_max", peinf_ntband_max),
        ("ngpown", ngpown, "epsmpi_ngpown_max", epsmpi_ngpown_max),
        ("ncouls", ncouls, "ncoul", ncoul),
    ] {
        at_most(name, extent, limit, most).map_err(|wrong| file.error(wrong))?;
    }
    let peinf_indext_dist = array(file, peinf_ntband_max)?;
    in_range("peinf_indext_dist", &peinf_indext_dist[..nbands], "sig_ntband", sig_ntband)
        .map_err(|wrong| file.error(wrong))?;
    let wfnkq_ekq = array(file, sig_ntband)?;
    let energies = scalar::<EnergyRecord>(file)?;
    let inv_igp_index = array(file, epsmpi_ngpown_max)?;
    in_range("inv_igp_index", &inv_igp_index[..ngpown], "gvec_ng", gvec_ng)
        .map_err(|wrong| file.error(wrong))?;
    let indinv = indinv(file, gvec_ng)?;

    let aqsmtemp = matrix(file, ncouls, peinf_ntband_max)?;
    let needed = 16 * ncouls as u128 * ngpown as u128;
    if needed > u128::from(file.size()) {
        return Err(file.error(format!(
            "ncouls = {ncouls} and ngpown = {ngpown} need {needed} bytes of wtilde_array, more than the whole \
             file has: {}",
            file.size()
        )));
    }
    let occupation = scalar::<Occupation>(file)?;
    let vcoul = array(file, ncoul)?;
    let [sexcut, _, _] = scalars::<f64, 3>(file)?;
    let header = Header {
        sig_ntband,
        gvec_ng,
        ncoul,
        epsmpi_ngpown_max,
        peinf_ntband_max,
        nbands,
        ipe,
        ispin,
        ngpown,
        ncouls,
        peinf_indext_dist,
        wfnkq_ekq,
        nstart: energies.nstart.max(0) as usize,
        nend: energies.nend.max(0) as usize,
        energies: None,
        sig_fdf: energies.sig_fdf,
        sig_dw: energies.sig_dw,
        sig_gamma: energies.sig_gamma,
        e_lk: energies.e_lk,
        inv_igp_index,
        unmasked: None,
        indinv,
        nvband: occupation.nvband,
        tol: occupation.tol,
        efermi: occupation.efermi,
        vcoul,
        sexcut,
    };
    header.validate_energies().map_err(|wrong| file.error(wrong))?;
    let header = header.with_work().without_masked();

    let wtilde = matrix(file, ncouls, ngpown)?;
    let eps = matrix(file, ncouls, ngpown)?;
    let aqsn = matrix(file, ncouls, peinf_ntband_max)?;
    let mut of_energies = || -> Result<Vec<Complex64>> {
        let all = array::<Complex64>(file, header.nend.max(MINI_APPS_ENERGIES))?;
        Ok(all[header.nstart - 1..header.nend].to_vec())
    };
    let start = Sums { asx: of_energies()?, ach: of_energies()? };
    let stored = Sums { asx: of_energies()?, ach: of_energies()? };
    file.finish()?;
    for (name, found) in start.named(header.nstart).chain(stored.named(header.nstart)) {
        if !(found.re.is_finite() && found.im.is_finite()) {
            return Err(file.error(format!("the stored {name} is {found}")));
        }
    }
    // Of a column that is masked no number counts.
    let [wtilde, eps] = if ngpown == 0 { [aqsmtemp; 2] } else { [wtilde, eps] };
    let header = header.into();
    Ok(Contents { header, start, stored, aqsmtemp, wtilde, eps, aqsn })
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct EnergyRecord {
    nstart: i32,
    nend: i32,
    sig_fdf: i32,
    sig_dw: f64,
    sig_gamma: f64,
    e_lk: f64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct Occupation {
    nvband: i32,
    tol: f64,
    efermi: f64,
}

fn scalar<T: Pod>(file: &mut Reader) -> Result<T> {
    let mut value = T::zeroed();
    file.begin(size_of::<T>() as u128)?;
    file.read(bytemuck::bytes_of_mut(&mut value))?;
    file.end()?;
    Ok(value)
}

fn scalars<T: Pod, const N: usize>(file: &mut Reader) -> Result<[T; N]> {
    let mut values = [T::zeroed(); N];
    file.begin(size_of::<[T; N]>() as u128)?;
    file.read(bytemuck::cast_slice_mut(&mut values))?;
    file.end()?;
    Ok(values)
}

fn array<T: Pod>(file: &mut Reader, length: usize) -> Result<Vec<T>> {
    file.begin(size_of::<T>() as u128 * length as u128)?;
    file.require_memory((size_of::<T>() * length) as u64)?;
    let mut values = vec![T::zeroed(); length];
    file.read(bytemuck::cast_slice_mut(&mut values))?;
    file.end()?;
    Ok(values)
}

/// Passes over a matrix of complex numbers.
fn matrix(file: &mut Reader, rows: usize, columns: usize) -> Result<MatrixAt> {
    let bytes = 16 * rows as u128 * columns as u128;
    let place = file.begin(bytes)?;
    file.skip(bytes as u64)?;
    file.end()?;
    Ok(place)
}

/// Record 1.
fn extents(file: &mut Reader) -> Result<[usize; 5]> {
    let [sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max] = scalars::<i32, 5>(file)?;
    positive(
        file,
        [
            ("sig_ntband", sig_ntband),
            ("gvec_ng", gvec_ng),
            ("ncoul", ncoul),
            ("epsmpi_ngpown_max", ngpown_max),
            ("peinf_ntband_max", ntband_max),
        ],
    )
}

/// Record 7: the extent once more, then the array.
fn indinv(file: &mut Reader, gvec_ng: usize) -> Result<Vec<i32>> {
    file.begin(4 * (gvec_ng as u128 + 1))?;
    let mut found = 0i32;
    file.read(bytemuck::bytes_of_mut(&mut found))?;
    if i64::from(found) != gvec_ng as i64 {
        return Err(file.error(format!("gvec_ng is {gvec_ng} in record 1, {found} here")));
    }
    file.require_memory(4 * gvec_ng as u64)?;
    let mut indinv = vec![0; gvec_ng];
    file.read(bytemuck::cast_slice_mut(&mut indinv))?;
    file.end()?;
    Ok(indinv)
}

fn positive<const N: usize>(
    file: &Reader,
    extents: [(&'static str, i32); N],
) -> Result<[usize; N]> {
    at_least(file, 1, extents)
}

fn at_least<const N: usize>(
    file: &Reader,
    least: i32,
    extents: [(&'static str, i32); N],
) -> Result<[usize; N]> {
    for (name, found) in extents {
        if found < least {
            return Err(file.error(format!("{name} must be at least {least}, found {found}")));
        }
    }
    Ok(extents.map(|(_, extent)| extent as usize))
}

// Reading: every extent is checked against the markers and the file's size before memory is taken
// for it, and only what is asked for is read.

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
    pub fn open(path: &Path, progress: impl Into<Progress>) -> Result<Input> {
        let mut file = Reader::open(path)?;
        let contents =
            contents(&mut file).map_err(|error| of_format(path, file.record(), error))?;
        let (name, size) = (path.display().to_string(), file.size());
        let progress = progress.into();
        Ok(Input { path: path.to_path_buf(), name, size, contents, progress })
    }

    /// The file at the begin of one of its matrices of `ncouls` rows.
    fn at(&self, matrix: MatrixAt) -> Result<Reader> {
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
    ) -> Result<Vec<Complex64>> {
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
    fn pairs(&self, matrix: MatrixAt, igp: Range<usize>, bar: &dyn Bar) -> Result<Vec<Complex64>> {
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
    fn aqsm_local(&self, igp: Range<usize>, bar: &dyn Bar) -> Result<Vec<Complex64>> {
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

/// The error of a record as one of the whole file, if it is of the first marker and the file of a format that is known.
fn of_format(path: &Path, record: usize, error: Error) -> Error {
    let mut first = [0; output::ENOUGH];
    let read = output::open(path).and_then(|(mut file, _)| file.read_exact(&mut first));
    // With the right first marker it is an input file.
    let is_input = first.starts_with(&output::FIRST_RECORD.to_le_bytes());
    match output::named(&first) {
        Some(named) if record <= 1 && read.is_ok() && !is_input => {
            let what = format!(
                "is {named}, and no input file: that begins with a Fortran record, little-endian with length \
                 markers of 4 bytes; docs/file-format.md describes it"
            );
            of_file(path, what)
        }
        _ => error,
    }
}

// Writing: the file appears whole under its name, or not at all.

/// Writes `problem` with `reference` as `asxtempref` and `achtempref`.
///
/// # Errors
/// [`crate::Error::Input`] for energies that a file has no place for; [`crate::Error::Io`]. Nothing is
/// left behind then.
pub fn write(
    path: &Path,
    problem: &Problem,
    reference: &Sums,
    progress: impl Into<Progress>,
) -> Result<()> {
    write_with_subrecords(path, problem, reference, progress, MAX_SUBRECORD)
}

/// [`write()`] with subrecords of at most `max_subrecord` bytes.
pub fn write_with_subrecords(
    path: &Path,
    problem: &Problem,
    reference: &Sums,
    progress: impl Into<Progress>,
    max_subrecord: u64,
) -> Result<()> {
    let progress = progress.into();
    if problem.header().energies.is_some() {
        let what = "its energies are a list of their own; a file holds nstart, nend, sig_dw and e_lk, for \
                    e_lk + sig_dw·(iw − 2)";
        return Err(wrong(problem.name(), DataError::new(what)));
    }
    replace(path, |file| {
        let mut to = Writer::new(BufWriter::with_capacity(1 << 20, file), max_subrecord);
        records(&mut to, problem, reference, progress)?;
        to.flush()
    })
}

fn records<W: Write>(
    to: &mut Writer<W>,
    problem: &Problem,
    reference: &Sums,
    progress: Progress,
) -> io::Result<()> {
    let h = problem.header();
    let ints = |values: &[usize]| values.iter().map(|&v| v as i32).collect::<Vec<_>>();
    let bar = progress.bar("writing", h.peinf_ntband_max as u64);

    whole(
        to,
        cast_slice(&ints(&[
            h.sig_ntband,
            h.gvec_ng,
            h.ncoul,
            h.epsmpi_ngpown_max,
            h.peinf_ntband_max,
        ])),
    )?;
    whole(to, cast_slice(&[h.nbands as i32, h.ipe, h.ispin, h.ngpown as i32, h.ncouls as i32]))?;
    whole(to, cast_slice(&h.peinf_indext_dist))?;
    whole(to, cast_slice(&h.wfnkq_ekq))?;
    whole(
        to,
        &[
            cast_slice(&[h.nstart as i32, h.nend as i32, h.sig_fdf]),
            cast_slice::<f64, u8>(&[h.sig_dw, h.sig_gamma, h.e_lk]),
        ]
        .concat(),
    )?;
    whole(to, cast_slice(&h.inv_igp_index))?;
    whole(to, &[bytes_of(&(h.gvec_ng as i32)), cast_slice(&h.indinv)].concat())?;

    let columns = (0..h.peinf_ntband_max).map(|n| {
        let mut column = vec![Complex64::ZERO; h.ncouls];
        if n < h.nbands {
            problem.aqsmtemp_column(n, &mut column);
        }
        bar.step();
        Cow::Owned(cast_slice(&column).to_vec())
    });
    to.record(16 * h.ncouls as u64 * h.peinf_ntband_max as u64, columns)?;

    whole(to, &[bytes_of(&h.nvband), cast_slice(&[h.tol, h.efermi])].concat())?;
    whole(to, cast_slice(&h.vcoul))?;
    let limits = problem.limits();
    whole(to, cast_slice(&[limits.sexcut, limits.limittwo, limits.limitone]))?;
    whole(to, cast_slice(problem.wtilde()))?;
    whole(to, cast_slice(problem.eps()))?;
    let unused = vec![0u8; 16 * h.ncouls];
    let aqsn = std::iter::once(Cow::Borrowed(cast_slice(problem.aqsn())))
        .chain((h.nbands..h.peinf_ntband_max).map(|_| Cow::Borrowed(&unused[..])));
    to.record(16 * h.ncouls as u64 * h.peinf_ntband_max as u64, aqsn)?;
    for sums in [problem.frame().start(), reference] {
        for part in [&sums.asx, &sums.ach] {
            let mut all = vec![Complex64::ZERO; h.nend.max(MINI_APPS_ENERGIES)];
            all[h.nstart - 1..h.nend].copy_from_slice(part);
            whole(to, cast_slice(&all))?;
        }
    }
    drop(bar);
    Ok(())
}

fn whole<W: Write>(to: &mut Writer<W>, bytes: &[u8]) -> io::Result<()> {
    to.record(bytes.len() as u64, [Cow::Borrowed(bytes)])
}
