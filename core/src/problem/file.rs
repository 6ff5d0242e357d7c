//! The reference mini-app's input format: Fortran sequential unformatted records, little-endian,
//! with 4-byte length markers; records over 2 GiB are split into subrecords as gfortran does.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable, bytes_of_mut, cast_slice, cast_slice_mut};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::os::output::{self, replace};
use crate::problem::header::{Header, at_most, in_range};
use crate::problem::memory::{self, Extents, Of};
use crate::problem::{
    Bands, Grid, Origin, Problem, Slab, Source, Sums, check_slab, range, synthesis, wrong,
};
use crate::progress::{Bar, Progress};

#[cfg(target_endian = "big")]
compile_error!("the file format is little-endian and is read into memory as it stands");

/// Energies that the mini-app has room for: its arrays of sums have this length. A file of more energies has a
/// sum for each, and the mini-app cannot read it.
pub const MINI_APPS_ENERGIES: usize = 3;

/// The records in order: the arrays or scalars that each holds.
const RECORDS: [&str; 18] = [
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

// Records: markers, subrecords, offsets, whatever a record holds.

/// Bytes of a subrecord, gfortran's default.
const MAX_SUBRECORD: u64 = 2_147_483_639;

const MARKER: u64 = 4;

/// Bytes read ahead: enough for small records, little if seeks pass over most of a large one.
const AHEAD: usize = 1 << 14;

/// A record that was found: its number, the offset of its first marker, and its bytes.
#[derive(Clone, Copy, Debug)]
struct RecordAt {
    record: usize,
    offset: u64,
    length: u128,
}

/// Reads records one after the other, or passes over what is not wanted of them.
struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    size: u64,
    /// Byte offset of the next byte.
    at: u64,
    record: usize,
    /// Byte offset of this record.
    start: u64,
    /// Bytes of this record not read yet, over all its subrecords.
    left: u64,
    subrecord: Subrecord,
}

#[derive(Clone, Copy, Default)]
struct Subrecord {
    length: u64,
    left: u64,
    first: bool,
    last: bool,
}

/// What is wrong with a file as a whole.
fn of_file(path: &Path, what: String) -> Error {
    Error::Input { origin: path.display().to_string(), what }
}

impl Reader {
    fn open(path: &Path) -> Result<Reader> {
        let (file, size) =
            output::open(path).map_err(|e| of_file(path, format!("cannot read: {e}")))?;
        Ok(Reader {
            path: path.to_path_buf(),
            size,
            file: BufReader::with_capacity(AHEAD, file),
            at: 0,
            record: 0,
            start: 0,
            left: 0,
            subrecord: Subrecord::default(),
        })
    }

    /// What is wrong with this record.
    fn error(&self, fault: impl Display) -> Error {
        let (record, offset) = (self.record, self.start);
        let name = RECORDS.get(record.wrapping_sub(1)).copied().unwrap_or_default();
        of_file(&self.path, format!("record {record} ({name}) at byte {offset}: {fault}"))
    }

    /// Begins a record that another reader of the same file, then of `size` bytes, has found.
    fn go_to(&mut self, place: RecordAt, size: u64) -> Result<()> {
        let RecordAt { record, offset, length } = place;
        (self.record, self.start) = (record, offset);
        if self.size != size {
            let found = self.size;
            return Err(self.error(format!("had {size} bytes when it was opened, has {found}")));
        }
        self.at = offset;
        let sought = self.file.seek(SeekFrom::Start(offset));
        self.succeeded(sought, offset)?;
        self.record = record - 1;
        self.begin(length).map(|_| ())
    }

    fn succeeded<T>(&self, result: io::Result<T>, at: u64) -> Result<T> {
        result.map_err(|reason| self.error(format!("cannot read at byte {at}: {reason}")))
    }

    /// Starts the next record, which must hold `expected` bytes: checked against its first marker
    /// and against the rest of the file before anything is allocated for it.
    fn begin(&mut self, expected: u128) -> Result<RecordAt> {
        self.record += 1;
        self.start = self.at;
        let remaining = self.size - self.at;
        let needed = expected + 2 * u128::from(MARKER);
        if self.record > 1 && u128::from(remaining) < needed {
            return Err(self.error(format!(
                "needs {needed} bytes with its markers, the file ends after {remaining}"
            )));
        }
        self.left = expected as u64;
        self.subrecord = self.open_subrecord(true)?;
        Ok(RecordAt { record: self.record, offset: self.start, length: expected })
    }

    /// Reads the next bytes of the record.
    fn read(&mut self, mut bytes: &mut [u8]) -> Result<()> {
        while !bytes.is_empty() {
            let n = self.of_subrecord(bytes.len() as u64)?;
            let (now, later) = bytes.split_at_mut(n as usize);
            self.exact(now)?;
            bytes = later;
        }
        Ok(())
    }

    /// Passes over the next bytes of the record without reading any but the markers on the way.
    fn skip(&mut self, mut bytes: u64) -> Result<()> {
        while bytes > 0 {
            let n = self.of_subrecord(bytes)?;
            self.require(n)?;
            let sought = self.file.seek_relative(n as i64);
            self.succeeded(sought, self.at)?;
            self.at += n;
            bytes -= n;
        }
        Ok(())
    }

    /// How many of so many bytes the subrecord has next: it has one at least.
    fn of_subrecord(&mut self, bytes: u64) -> Result<u64> {
        while self.subrecord.left == 0 {
            self.next_subrecord()?;
        }
        let n = bytes.min(self.subrecord.left);
        self.subrecord.left -= n;
        self.left -= n;
        Ok(n)
    }

    /// Ends the record: all of it has been read and its last marker is right.
    fn end(&mut self) -> Result<()> {
        debug_assert_eq!(self.left, 0, "the caller reads what it announced");
        while !self.subrecord.last {
            self.next_subrecord()?;
        }
        self.close_subrecord()
    }

    fn next_subrecord(&mut self) -> Result<()> {
        if self.subrecord.last {
            return Err(self.error("the record ends early"));
        }
        self.close_subrecord()?;
        self.subrecord = self.open_subrecord(false)?;
        Ok(())
    }

    fn open_subrecord(&mut self, first: bool) -> Result<Subrecord> {
        let marker = self.marker()?;
        let length = u64::from(marker.unsigned_abs());
        let last = marker >= 0;
        let fits = if last { length == self.left } else { 0 < length && length <= self.left };
        if !fits {
            let needed = self.left;
            let big_endian = u64::from(marker.swap_bytes().unsigned_abs()) == needed;
            let why = if big_endian { ": the file is big-endian" } else { "" };
            return Err(
                self.error(format!("needs a length marker of {needed}, found {marker}{why}"))
            );
        }
        Ok(Subrecord { length, left: length, first, last })
    }

    fn close_subrecord(&mut self) -> Result<()> {
        let Subrecord { length, first, .. } = self.subrecord;
        let expected = if first { length as i64 } else { -(length as i64) };
        let marker = self.marker()?;
        if i64::from(marker) != expected {
            let at = self.at - MARKER;
            return Err(self.error(format!(
                "needs {expected} as its closing marker at byte {at}, found {marker}"
            )));
        }
        Ok(())
    }

    fn marker(&mut self) -> Result<i32> {
        let mut bytes = [0; MARKER as usize];
        self.exact(&mut bytes)?;
        Ok(i32::from_le_bytes(bytes))
    }

    fn exact(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.require(bytes.len() as u64)?;
        let read = self.file.read_exact(bytes);
        self.succeeded(read, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Fails if the file ends within the next bytes.
    fn require(&self, needed: u64) -> Result<()> {
        let (at, left) = (self.at, self.size.saturating_sub(self.at));
        if needed > left {
            return Err(self
                .error(format!("needs {needed} bytes at byte {at}, the file ends after {left}")));
        }
        Ok(())
    }

    // Records by what they hold.

    /// A record of one value, as it is in memory.
    fn value<T: Pod>(&mut self) -> Result<T> {
        let mut value = T::zeroed();
        self.begin(size_of::<T>() as u128)?;
        self.read(bytes_of_mut(&mut value))?;
        self.end()?;
        Ok(value)
    }

    /// The rest of a record, an array. Memory is there for it.
    fn array_to_end<T: Pod>(&mut self, length: usize) -> Result<Vec<T>> {
        memory::require("its array", (size_of::<T>() * length) as u64)
            .map_err(|error| self.error(error))?;
        let mut values = vec![T::zeroed(); length];
        self.read(cast_slice_mut(&mut values))?;
        self.end()?;
        Ok(values)
    }

    fn array<T: Pod>(&mut self, length: usize) -> Result<Vec<T>> {
        self.begin(size_of::<T>() as u128 * length as u128)?;
        self.array_to_end(length)
    }

    /// Passes over a matrix of complex numbers.
    fn matrix(&mut self, rows: usize, columns: usize) -> Result<RecordAt> {
        let bytes = 16 * rows as u128 * columns as u128;
        let place = self.begin(bytes)?;
        self.skip(bytes as u64)?;
        self.end()?;
        Ok(place)
    }

    /// Numbers of this record that must not be below the least one.
    fn at_least<const N: usize>(&self, least: i32, found: [(&str, i32); N]) -> Result<[usize; N]> {
        match found.iter().find(|(_, found)| *found < least) {
            Some((name, found)) => {
                Err(self.error(format!("{name} must be at least {least}, found {found}")))
            }
            None => Ok(found.map(|(_, found)| found as usize)),
        }
    }
}

// Reading: every extent is checked against the markers and the file's size before memory is taken
// for it, and only what is asked for is read.

/// What a file holds besides its large arrays, and where these are.
struct Contents {
    header: Arc<Header>,
    start: Sums,
    stored: Option<Sums>,
    /// `aqsmtemp(ncouls, peinf_ntband_max)`.
    aqsmtemp: RecordAt,
    /// `wtilde_array(ncouls, ngpown)`.
    wtilde: RecordAt,
    /// `I_eps_array(ncouls, ngpown)`.
    eps: RecordAt,
    /// `aqsntemp(ncouls, peinf_ntband_max)`.
    aqsn: RecordAt,
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

/// Reads all records, passing over the large ones: every marker is looked at.
fn contents(file: &mut Reader) -> Result<Contents> {
    let [sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max] = file.value::<[i32; 5]>()?;
    let [sig_ntband, gvec_ng, ncoul, epsmpi_ngpown_max, peinf_ntband_max] = file.at_least(
        1,
        [
            ("sig_ntband", sig_ntband),
            ("gvec_ng", gvec_ng),
            ("ncoul", ncoul),
            ("epsmpi_ngpown_max", ngpown_max),
            ("peinf_ntband_max", ntband_max),
        ],
    )?;
    let [nbands, ipe, ispin, ngpown, ncouls] = file.value::<[i32; 5]>()?;
    let [ncouls] = file.at_least(1, [("ncouls", ncouls)])?;
    let [nbands, ngpown] = file.at_least(0, [("peinf_ntband_dist", nbands), ("ngpown", ngpown)])?;
    for (name, extent, limit, most) in [
        ("peinf_ntband_dist", nbands, "peinf_ntband_max", peinf_ntband_max),
        ("ngpown", ngpown, "epsmpi_ngpown_max", epsmpi_ngpown_max),
        ("ncouls", ncouls, "ncoul", ncoul),
    ] {
        at_most(name, extent, limit, most).map_err(|wrong| file.error(wrong))?;
    }
    let peinf_indext_dist = file.array(peinf_ntband_max)?;
    in_range("peinf_indext_dist", &peinf_indext_dist[..nbands], "sig_ntband", sig_ntband)
        .map_err(|wrong| file.error(wrong))?;
    let wfnkq_ekq = file.array(sig_ntband)?;
    let energies: EnergyRecord = file.value()?;
    let inv_igp_index = file.array(epsmpi_ngpown_max)?;
    in_range("inv_igp_index", &inv_igp_index[..ngpown], "gvec_ng", gvec_ng)
        .map_err(|wrong| file.error(wrong))?;

    // The extent once more, then the array.
    file.begin(4 * (gvec_ng as u128 + 1))?;
    let mut found = 0i32;
    file.read(bytes_of_mut(&mut found))?;
    if i64::from(found) != gvec_ng as i64 {
        return Err(file.error(format!("gvec_ng is {gvec_ng} in record 1, {found} here")));
    }
    let indinv = file.array_to_end(gvec_ng)?;

    let aqsmtemp = file.matrix(ncouls, peinf_ntband_max)?;
    let needed = 16 * ncouls as u128 * ngpown as u128;
    if needed > u128::from(file.size) {
        return Err(file.error(format!(
            "ncouls = {ncouls} and ngpown = {ngpown} need {needed} bytes of wtilde_array, more than the whole \
             file has: {}",
            file.size
        )));
    }
    let occupation: Occupation = file.value()?;
    let vcoul = file.array(ncoul)?;
    let [sexcut, _, _] = file.value::<[f64; 3]>()?;
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

    let wtilde = file.matrix(ncouls, ngpown)?;
    let eps = file.matrix(ncouls, ngpown)?;
    let aqsn = file.matrix(ncouls, peinf_ntband_max)?;
    let mut of_energies = || -> Result<Vec<Complex64>> {
        let all = file.array::<Complex64>(header.nend.max(MINI_APPS_ENERGIES))?;
        Ok(all[header.nstart - 1..header.nend].to_vec())
    };
    let start = Sums { asx: of_energies()?, ach: of_energies()? };
    let stored = Sums { asx: of_energies()?, ach: of_energies()? };
    if file.size > file.at {
        let (left, at) = (file.size - file.at, file.at);
        let what = format!("{left} bytes follow the last record, at byte {at}");
        return Err(of_file(&file.path, what));
    }
    for (name, found) in start.named(header.nstart).chain(stored.named(header.nstart)) {
        if !(found.re.is_finite() && found.im.is_finite()) {
            return Err(file.error(format!("the stored {name} is {found}")));
        }
    }
    // A file whose reference was never filled in holds zeros.
    let is_filled = stored.named(1).any(|(_, z)| z != Complex64::ZERO);
    let stored = is_filled.then_some(stored);
    // Of a column that is masked no number counts.
    let [wtilde, eps] = if ngpown == 0 { [aqsmtemp; 2] } else { [wtilde, eps] };
    Ok(Contents { header: header.into(), start, stored, aqsmtemp, wtilde, eps, aqsn })
}

/// The error of a record as one of the whole file, if it is of the first marker and the file of a format that is
/// known.
fn of_format(path: &Path, record: usize, error: Error) -> Error {
    let mut first = [0; output::ENOUGH];
    let read = output::open(path).and_then(|(mut file, _)| file.read_exact(&mut first));
    // With the right first marker it is an input file.
    let is_input = first.starts_with(&output::FIRST_RECORD.to_le_bytes());
    match output::named(&first) {
        Some(named) if record <= 1 && read.is_ok() && !is_input => {
            let what = format!(
                "is {named}, and no input file: that begins with a Fortran record, little-endian with length \
                 markers of 4 bytes; docs/berkeleygw.md describes it"
            );
            of_file(path, what)
        }
        _ => error,
    }
}

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

impl Input {
    /// Reads what is small and looks at all markers.
    pub fn open(path: &Path, progress: impl Into<Progress>) -> Result<Input> {
        let mut file = Reader::open(path)?;
        let contents = contents(&mut file).map_err(|error| of_format(path, file.record, error))?;
        let (name, size) = (path.display().to_string(), file.size);
        Ok(Input { path: path.to_path_buf(), name, size, contents, progress: progress.into() })
    }

    /// The file at the begin of one of its matrices of `ncouls` rows.
    fn begun(&self, matrix: RecordAt) -> Result<Reader> {
        let mut file = Reader::open(&self.path)?;
        file.go_to(matrix, self.size)?;
        Ok(file)
    }

    /// Some columns of one of the matrices of `ncouls` rows, by their ascending numbers.
    fn columns(
        &self,
        matrix: RecordAt,
        numbers: impl ExactSizeIterator<Item = usize>,
        bar: &dyn Bar,
    ) -> Result<Vec<Complex64>> {
        let ncouls = self.contents.header.ncouls;
        let mut file = self.begun(matrix)?;
        let mut elements = vec![Complex64::ZERO; ncouls * numbers.len()];
        let mut at = 0;
        for (column, next) in elements.chunks_exact_mut(ncouls).zip(numbers) {
            file.skip(16 * (ncouls * (next - at)) as u64)?;
            file.read(cast_slice_mut(column))?;
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
        let mut file = self.begun(self.contents.aqsmtemp)?;
        let mut column = vec![Complex64::ZERO; last + 1 - first];
        let passed = header.ncouls - column.len();
        file.skip(16 * first as u64)?;
        for (n, band) in aqsm_local.chunks_exact_mut(igp.len()).enumerate() {
            if n > 0 {
                file.skip(16 * passed as u64)?;
            }
            file.read(cast_slice_mut(&mut column))?;
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

    fn set_energies(&mut self, grid: &Grid) {
        let Contents { header, start, stored, .. } = &mut self.contents;
        *header = grid.of(header).into();
        (*start, *stored) = (Sums::zero(header.nw()), None);
    }

    fn start(&self) -> Sums {
        self.contents.start.clone()
    }

    fn stored(&self) -> Option<Sums> {
        self.contents.stored.clone()
    }

    fn bands(&self) -> Result<Bands> {
        let extents = self.extents();
        memory::require(&self.name, extents.bytes_of(Of::Bands))?;
        let bar = self.progress.bar("reading", extents.nbands as u64);
        let aqsn = self.columns(self.contents.aqsn, 0..extents.nbands, &*bar)?;
        drop(bar);
        Bands::new(self.contents.header.clone(), aqsn).map_err(|what| wrong(&self.name, what))
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Slab> {
        check_slab(self, &igp)?;
        let Contents { header, wtilde, eps, .. } = &self.contents;
        let steps = 2 * igp.len() + header.nbands;
        let bar = self.progress.bar("reading", steps as u64);
        let aqsm_local = self.aqsm_local(igp.clone(), &*bar)?;
        let numbers = || igp.clone().map(|igp| header.column(igp));
        let wtilde = self.columns(*wtilde, numbers(), &*bar)?;
        let eps = self.columns(*eps, numbers(), &*bar)?;
        drop(bar);
        Slab::new(bands, igp, wtilde, eps, aqsm_local).map_err(|what| wrong(&self.name, what))
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        let Contents { header, wtilde, eps, .. } = &self.contents;
        let ncouls = header.ncouls;
        let mut files = [self.begun(*wtilde)?, self.begun(*eps)?];
        let mut columns = [(); 2].map(|()| vec![Complex64::ZERO; ncouls]);
        let mut at = 0;
        for next in igp.map(|igp| header.column(igp)) {
            for (file, column) in files.iter_mut().zip(&mut columns) {
                file.skip(16 * (ncouls * (next - at)) as u64)?;
                file.read(cast_slice_mut(column))?;
            }
            at = next + 1;
            if range::poles_of(&columns[0], &columns[1]) == Poles::Any {
                return Ok(Poles::Any);
            }
        }
        Ok(Poles::Real)
    }
}

// Writing: the file appears whole under its name, or not at all.

/// Writes `problem` with `reference` as `asxtempref` and `achtempref`; nothing is left behind after an error. A file
/// has no place for energies of a list.
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
    assert!(max_subrecord > 0 && max_subrecord <= MAX_SUBRECORD);
    let progress = progress.into();
    if problem.header().energies.is_some() {
        let what = "its energies are a list of their own; a file holds nstart, nend, sig_dw and e_lk, for \
                    e_lk + sig_dw·(iw − 2)";
        return Err(wrong(problem.name(), Error::new(what)));
    }
    replace(path, |file| {
        let to = BufWriter::with_capacity(1 << 20, file);
        let mut to = Writer { to, max_subrecord };
        records(&mut to, problem, reference, progress)?;
        to.to.flush()
    })
}

fn records<W: Write>(
    to: &mut Writer<W>,
    problem: &Problem,
    reference: &Sums,
    progress: Progress,
) -> io::Result<()> {
    let h = problem.header();
    let bar = progress.bar("writing", h.peinf_ntband_max as u64);
    let ints = |of: [usize; 5]| of.map(|of| of as i32);

    to.whole(&ints([h.sig_ntband, h.gvec_ng, h.ncoul, h.epsmpi_ngpown_max, h.peinf_ntband_max]))?;
    to.whole(&[h.nbands as i32, h.ipe, h.ispin, h.ngpown as i32, h.ncouls as i32])?;
    to.whole(&h.peinf_indext_dist)?;
    to.whole(&h.wfnkq_ekq)?;
    let (nstart, nend) = (h.nstart as i32, h.nend as i32);
    let Header { sig_fdf, sig_dw, sig_gamma, e_lk, nvband, tol, efermi, .. } = *h;
    to.whole(&[EnergyRecord { nstart, nend, sig_fdf, sig_dw, sig_gamma, e_lk }])?;
    to.whole(&h.inv_igp_index)?;
    to.whole(&[&[h.gvec_ng as i32], &h.indinv[..]].concat())?;

    let columns = (0..h.peinf_ntband_max).map(|n| {
        let mut column = vec![Complex64::ZERO; h.ncouls];
        if n < h.nbands {
            aqsmtemp_column(problem, n, &mut column);
        }
        bar.step();
        Cow::Owned(cast_slice(&column).to_vec())
    });
    to.record(16 * h.ncouls as u64 * h.peinf_ntband_max as u64, columns)?;

    to.whole(&[Occupation { nvband, tol, efermi }])?;
    to.whole(&h.vcoul)?;
    let limits = problem.limits();
    to.whole(&[limits.sexcut, limits.limittwo, limits.limitone])?;
    to.whole(problem.wtilde())?;
    to.whole(problem.eps())?;
    let unused = vec![0u8; 16 * h.ncouls];
    let aqsn = std::iter::once(Cow::Borrowed(cast_slice(problem.aqsn())))
        .chain((h.nbands..h.peinf_ntband_max).map(|_| Cow::Borrowed(&unused[..])));
    to.record(16 * h.ncouls as u64 * h.peinf_ntband_max as u64, aqsn)?;
    for sums in [problem.start(), reference] {
        for part in [&sums.asx, &sums.ach] {
            let mut all = vec![Complex64::ZERO; h.nend.max(MINI_APPS_ENERGIES)];
            all[h.nstart - 1..h.nend].copy_from_slice(part);
            to.whole(&all)?;
        }
    }
    drop(bar);
    Ok(())
}

/// Column `n` (0-based) of `aqsmtemp(ncouls, nbands)`, from which `aqsm_local` was taken. Of a problem that was not
/// synthesised only the rows in `aqsm_local` are known; the rest are zero.
pub fn aqsmtemp_column(problem: &Problem, n: usize, column: &mut [Complex64]) {
    if let Origin::System(system, seed) = problem.origin() {
        synthesis::aqsmtemp_column(system, *seed, n, column);
        return;
    }
    column.fill(Complex64::ZERO);
    let aqsm_local = problem.slab().aqsm_local().column(n);
    for (row, element) in problem.header().rows().zip(aqsm_local) {
        if let Some(igp) = row {
            column[igp] = *element;
        }
    }
}

struct Writer<W: Write> {
    to: W,
    max_subrecord: u64,
}

impl<W: Write> Writer<W> {
    /// A record of these values.
    fn whole<T: Pod>(&mut self, values: &[T]) -> io::Result<()> {
        self.record(size_of_val(values) as u64, [Cow::Borrowed(cast_slice(values))])
    }

    /// A record of `length` bytes that `parts` yields piece by piece.
    fn record<'a>(
        &mut self,
        length: u64,
        parts: impl IntoIterator<Item = Cow<'a, [u8]>>,
    ) -> io::Result<()> {
        let mut left = length;
        let mut subrecord = self.open(left, true)?;
        for part in parts {
            let mut part = &part[..];
            while !part.is_empty() {
                if subrecord.left == 0 {
                    self.close(subrecord)?;
                    subrecord = self.open(left, false)?;
                }
                let n = part.len().min(usize::try_from(subrecord.left).unwrap_or(usize::MAX));
                self.to.write_all(&part[..n])?;
                subrecord.left -= n as u64;
                left -= n as u64;
                part = &part[n..];
            }
        }
        debug_assert_eq!(left, 0, "the caller writes what it announced");
        self.close(subrecord)
    }

    fn open(&mut self, left: u64, first: bool) -> io::Result<Subrecord> {
        let length = left.min(self.max_subrecord);
        let last = length == left;
        let marker = if last { length as i32 } else { -(length as i32) };
        self.to.write_all(&marker.to_le_bytes())?;
        Ok(Subrecord { length, left: length, first, last })
    }

    fn close(&mut self, subrecord: Subrecord) -> io::Result<()> {
        let length = subrecord.length as i32;
        let marker = if subrecord.first { length } else { -length };
        self.to.write_all(&marker.to_le_bytes())
    }
}
