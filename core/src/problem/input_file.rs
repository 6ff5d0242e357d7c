//! The reference mini-app's input format: Fortran sequential unformatted records, little-endian,
//! with 4-byte length markers; records over 2 GiB are split into subrecords as gfortran does.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::iter::{once, repeat_n};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{Pod, bytes_of, bytes_of_mut, cast_slice, cast_slice_mut};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::error::{Error, Owner, Quantity, Result, invalid};
use crate::os::memory::{self, zeros};
use crate::os::output::{self, replace};
use crate::problem::arrays::Of;
use crate::problem::header::{Header, at_most, dimension};
use crate::problem::synthesis::RandomStream;
use crate::problem::{
    CheckedBands, Origin, Problem, Slab, Source, Sums, check_slab, range, synthesis,
};
use crate::progress::{Bars, StepBar};

#[cfg(target_endian = "big")]
compile_error!("the file format is little-endian and is read into memory as it stands");

/// The length of the mini-app's arrays of sums. A file of more energies has longer ones, and the mini-app cannot read it.
pub const MINI_APPS_ENERGIES: usize = 3;

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

/// The numbers of the large records, from 1.
const AQSMTEMP: usize = 8;
const WTILDE: usize = 12;
const EPS: usize = 13;
const AQSN: usize = 14;

/// Bytes of the first record: five integers.
const FIRST_RECORD: u64 = 20;

/// Bytes of a subrecord, gfortran's default.
const MAX_SUBRECORD: u64 = 2_147_483_639;

/// The error of a record that begins at this byte.
fn of_record(path: &Path, record: usize, offset: u64, fault: impl Display) -> Error {
    let name = RECORDS[record - 1];
    invalid(path.display(), format!("record {record} ({name}) at byte {offset}: {fault}"))
}

struct Reader {
    path: PathBuf,
    file: File,
    size: u64,
    /// Byte offset and length of each subrecord of each record.
    records: Vec<Vec<(u64, u64)>>,
}

impl Reader {
    /// Opens a file and checks all of its markers.
    fn open(path: &Path) -> Result<Reader> {
        let (file, size) =
            output::open(path).map_err(|e| invalid(path.display(), format!("cannot read: {e}")))?;
        if size == 0 {
            return Err(invalid(path.display(), "is empty"));
        }
        let mut reader = Reader { path: path.to_path_buf(), file, size, records: Vec::new() };
        let mut next = 0;
        while reader.records.len() < RECORDS.len() {
            let (record, offset) = (reader.records.len() + 1, next);
            let error = |fault| of_record(path, record, offset, fault);
            let mut subrecords = Vec::new();
            loop {
                let opening = reader.marker(next).map_err(error)?;
                let length = u64::from(opening.unsigned_abs());
                let first = FIRST_RECORD;
                if next == 0 && (length > first || opening >= 0 && length < first) {
                    let why = match opening.swap_bytes() == first as i32 {
                        true => "the file is big-endian",
                        false => "gpp's docs/berkeleygw.md describes the format",
                    };
                    let needs = format!("needs a length marker of {first}, found {opening}");
                    return Err(error(format!("{needs}: {why}")));
                }
                let closing = reader.marker(next + 4 + length).map_err(error)?;
                let sign = if subrecords.is_empty() { 1 } else { -1 };
                let needed = sign * length as i64;
                if i64::from(closing) != needed {
                    let next = next + 4 + length;
                    return Err(error(format!(
                        "needs {needed} as its closing marker at byte {next}, found {closing}"
                    )));
                }
                subrecords.push((next + 4, length));
                next += length + 8;
                if opening >= 0 {
                    break;
                }
            }
            reader.records.push(subrecords);
        }
        if size > next {
            let left = size - next;
            let what = format!("{left} bytes follow the last record, at byte {next}");
            return Err(invalid(path.display(), what));
        }
        Ok(reader)
    }

    fn exact(&self, offset: u64, bytes: &mut [u8]) -> std::result::Result<(), String> {
        let needed = bytes.len() as u64;
        if offset + needed > self.size {
            let (size, needed) = (self.size, offset + needed);
            return Err(format!(
                "the file is cut off: it ends after {size} bytes, and {needed} or more are needed"
            ));
        }
        let read = self.file.read_exact_at(bytes, offset);
        read.map_err(|reason| format!("cannot read at byte {offset}: {reason}"))
    }

    fn marker(&self, offset: u64) -> std::result::Result<i32, String> {
        let mut bytes = [0; 4];
        self.exact(offset, &mut bytes)?;
        Ok(i32::from_le_bytes(bytes))
    }

    fn error(&self, record: usize, fault: impl Display) -> Error {
        // Behind its first marker the first subrecord begins.
        of_record(&self.path, record, self.records[record - 1][0].0 - 4, fault)
    }

    /// Fails if a record does not have so many bytes. Memory is taken only for records that do.
    fn require(&self, record: usize, needed: u128) -> Result<()> {
        let found: u64 = self.records[record - 1].iter().map(|(_, length)| length).sum();
        if u128::from(found) == needed {
            return Ok(());
        }
        let fault = format!("needs {needed} bytes between its markers, has {found}");
        Err(self.error(record, fault))
    }

    fn read(&self, record: usize, mut from: u64, mut bytes: &mut [u8]) -> Result<()> {
        for &(at, length) in &self.records[record - 1] {
            let n = length.saturating_sub(from).min(bytes.len() as u64);
            let (now, later) = std::mem::take(&mut bytes).split_at_mut(n as usize);
            if n > 0 {
                self.exact(at + from, now).map_err(|fault| self.error(record, fault))?;
            }
            (from, bytes) = (from.saturating_sub(length), later);
        }
        Ok(())
    }

    /// A record of two values, as they are in memory.
    fn values<A: Pod, B: Pod>(&self, record: usize) -> Result<(A, B)> {
        let (mut a, mut b) = (A::zeroed(), B::zeroed());
        self.require(record, (size_of::<A>() + size_of::<B>()) as u128)?;
        self.read(record, 0, bytes_of_mut(&mut a))?;
        self.read(record, size_of::<A>() as u64, bytes_of_mut(&mut b))?;
        Ok((a, b))
    }

    fn array<T: Pod>(&self, record: usize, length: usize) -> Result<Vec<T>> {
        self.require(record, size_of::<T>() as u128 * length as u128)?;
        let mut values = zeros(RECORDS[record - 1], length)?;
        self.read(record, 0, cast_slice_mut(&mut values))?;
        Ok(values)
    }
}

pub fn read(path: &Path, progress: impl Into<Bars>) -> Result<Problem> {
    InputFile::open(path, progress)?.load()
}

/// An input file, read whole or slab by slab. Dimensions are checked before memory is taken for them.
pub struct InputFile {
    name: String,
    file: Reader,
    progress: Bars,
    header: Arc<Header>,
    start: Sums,
    stored: Option<Sums>,
}

impl InputFile {
    /// Reads the small records and all markers.
    pub fn open(path: &Path, progress: impl Into<Bars>) -> Result<InputFile> {
        let file = Reader::open(path)?;
        let ([sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max], ()) =
            file.values::<[i32; 5], ()>(1)?;
        let ([nbands, ipe, ispin, ngpown, ncouls], ()) = file.values::<[i32; 5], ()>(2)?;
        let name = path.display().to_string();
        let of_file = |error: Error| error.owned_by(Owner::File(name.clone()));
        let positive = |of, found: i32| -> Result<usize> {
            dimension(of, found.into(), [1, i32::MAX as usize]).map_err(of_file)?;
            Ok(found as usize)
        };
        let sig_ntband = positive(Quantity::SigNtband, sig_ntband)?;
        let gvec_ng = positive(Quantity::GvecNg, gvec_ng)?;
        let ncoul = positive(Quantity::Ncoul, ncoul)?;
        let epsmpi_ngpown_max = positive(Quantity::EpsmpiNgpownMax, ngpown_max)?;
        let peinf_ntband_max = positive(Quantity::PeinfNtbandMax, ntband_max)?;
        let nbands = positive(Quantity::PeinfNtbandDist, nbands)?;
        let ngpown = positive(Quantity::Ngpown, ngpown)?;
        let ncouls = positive(Quantity::Ncouls, ncouls)?;
        at_most((Quantity::Ncouls, ncouls), (Quantity::Ncoul, ncoul)).map_err(of_file)?;
        let peinf_indext_dist = file.array(3, peinf_ntband_max)?;
        let wfnkq_ekq = file.array(4, sig_ntband)?;
        let ([nstart, nend, sig_fdf], [sig_dw, sig_gamma, e_lk]) =
            file.values::<[i32; 3], [f64; 3]>(5)?;
        let inv_igp_index = file.array(6, epsmpi_ngpown_max)?;
        // The dimension once more, then the array.
        let mut indinv: Vec<i32> = file.array(7, gvec_ng + 1)?;
        let found = indinv.remove(0);
        if i64::from(found) != gvec_ng as i64 {
            return Err(file.error(7, format!("gvec_ng is {gvec_ng} in record 1, {found} here")));
        }
        let matrix = |record, rows: usize, columns: usize| {
            file.require(record, 16 * rows as u128 * columns as u128)
        };
        matrix(AQSMTEMP, ncouls, peinf_ntband_max)?;
        let (nvband, [tol, efermi]) = file.values::<i32, [f64; 2]>(9)?;
        let vcoul = file.array(10, ncoul)?;
        let ([sexcut, _, _], ()) = file.values::<[f64; 3], ()>(11)?;
        matrix(WTILDE, ncouls, ngpown)?;
        matrix(EPS, ncouls, ngpown)?;
        matrix(AQSN, ncouls, peinf_ntband_max)?;
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
            nstart: nstart.max(0) as usize,
            nend: nend.max(0) as usize,
            sig_fdf,
            sig_dw,
            sig_gamma,
            e_lk,
            inv_igp_index,
            indinv,
            nvband,
            tol,
            efermi,
            vcoul,
            sexcut,
            ..Header::default()
        };
        header.validate().map_err(of_file)?;
        let header = header.without_masked();

        let of_energies = |record| -> Result<Vec<Complex64>> {
            let sums = file.array::<Complex64>(record, header.nend.max(MINI_APPS_ENERGIES))?;
            Ok(sums[header.nstart - 1..header.nend].to_vec())
        };
        let start = Sums { asx: of_energies(15)?, ach: of_energies(16)? };
        let stored = Sums { asx: of_energies(17)?, ach: of_energies(18)? };
        for (name, found) in start.named(header.nstart).chain(stored.named(header.nstart)) {
            if !(found.re.is_finite() && found.im.is_finite()) {
                return Err(invalid(&name, format!("the stored {name} is {found}")));
            }
        }
        // A file whose reference was never filled in holds zeros.
        let is_filled = stored.named(1).any(|(_, z)| z != Complex64::ZERO);
        let stored = is_filled.then_some(stored);
        let (progress, header) = (progress.into(), header.into());
        Ok(InputFile { name, file, progress, header, start, stored })
    }

    /// Names the file in an error, and what it holds.
    fn wrong(&self, error: Error) -> Error {
        let error = error.in_rows_of_g(|column| self.header.row_of_column(column));
        error.owned_by(Owner::File(self.name.clone()))
    }

    fn columns(
        &self,
        record: usize,
        numbers: impl ExactSizeIterator<Item = usize>,
        bar: &StepBar,
    ) -> Result<Vec<Complex64>> {
        let ncouls = self.header.ncouls;
        let mut elements = vec![Complex64::ZERO; ncouls * numbers.len()];
        for (column, k) in elements.chunks_exact_mut(ncouls).zip(numbers) {
            self.file.read(record, 16 * (ncouls * k) as u64, cast_slice_mut(column))?;
            bar();
        }
        Ok(elements)
    }

    /// The rows of `aqsmtemp` that belong to some igp, `(igp.len(), nbands)`.
    fn aqsm_local(&self, igp: Range<usize>, bar: &StepBar) -> Result<Vec<Complex64>> {
        let Header { nbands, ncouls, .. } = *self.header;
        let mut aqsm_local = vec![Complex64::ZERO; igp.len() * nbands];
        let rows: Vec<Option<usize>> = self.header.rows_of(igp.clone()).collect();
        let used = rows.iter().flatten();
        let (Some(&first), Some(&last)) = (used.clone().min(), used.max()) else {
            return Ok(aqsm_local);
        };
        let mut column = vec![Complex64::ZERO; last + 1 - first];
        for (n, band) in aqsm_local.chunks_exact_mut(igp.len()).enumerate() {
            let from = 16 * (n * ncouls + first) as u64;
            self.file.read(AQSMTEMP, from, cast_slice_mut(&mut column))?;
            for (element, row) in band.iter_mut().zip(&rows) {
                *element = row.map_or(Complex64::ZERO, |igp| column[igp - first]);
            }
            bar();
        }
        Ok(aqsm_local)
    }
}

impl Source for InputFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> Origin {
        Origin::File(self.file.path.clone())
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn set_header(&mut self, header: Header) {
        (self.start, self.stored) = (Sums::zero(header.nw()), None);
        self.header = header.into();
    }

    fn start(&self) -> Sums {
        self.start.clone()
    }

    fn stored(&self) -> Option<Sums> {
        self.stored.clone()
    }

    fn bands(&self) -> Result<CheckedBands> {
        let extents = self.extents();
        memory::require(&self.name, extents.bytes_of(Of::Bands))?;
        let bar = self.progress.bar("reading", extents.nbands as u64);
        let aqsn = self.columns(AQSN, 0..extents.nbands, &bar)?;
        drop(bar);
        CheckedBands::new(self.header.clone(), aqsn).map_err(|error| self.wrong(error))
    }

    fn slab(&self, bands: &CheckedBands, igp: Range<usize>) -> Result<Slab> {
        check_slab(self, &igp)?;
        let steps = 2 * igp.len() + self.header.nbands;
        let bar = self.progress.bar("reading", steps as u64);
        let aqsm_local = self.aqsm_local(igp.clone(), &bar)?;
        let numbers = || igp.clone().map(|igp| self.header.column(igp));
        let wtilde = self.columns(WTILDE, numbers(), &bar)?;
        let eps = self.columns(EPS, numbers(), &bar)?;
        drop(bar);
        Slab::new(bands, igp, wtilde, eps, aqsm_local).map_err(|error| self.wrong(error))
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        let ncouls = self.header.ncouls;
        let mut columns = [(); 2].map(|()| vec![Complex64::ZERO; ncouls]);
        for k in igp.map(|igp| self.header.column(igp)) {
            for (record, column) in [WTILDE, EPS].into_iter().zip(&mut columns) {
                self.file.read(record, 16 * (ncouls * k) as u64, cast_slice_mut(column))?;
            }
            if range::poles_of(&columns[0], &columns[1]) == Poles::Any {
                return Ok(Poles::Any);
            }
        }
        Ok(Poles::Real)
    }
}

/// Writes `problem`, and `reference` as `asxtempref` and `achtempref`, whole or not at all; no listed energies.
pub fn write(
    path: &Path,
    problem: &Problem,
    reference: &Sums,
    progress: impl Into<Bars>,
) -> Result<()> {
    write_with_subrecords(path, problem, reference, progress, MAX_SUBRECORD)
}

/// [`write()`] with subrecords of at most `max_subrecord` bytes.
pub fn write_with_subrecords(
    path: &Path,
    problem: &Problem,
    reference: &Sums,
    progress: impl Into<Bars>,
    max_subrecord: u64,
) -> Result<()> {
    assert!(max_subrecord > 0 && max_subrecord <= MAX_SUBRECORD);
    let progress = progress.into();
    if problem.header().eta.is_some() {
        let what = "has the poles of the time-ordered formula, and a file is for BerkeleyGW's";
        return Err(invalid(problem.name(), what));
    }
    if problem.header().energies.is_some() {
        let what = "its energies are not a grid e_lk + sig_dw·(iw − 2), and a file holds nstart, nend, sig_dw and \
                    e_lk only";
        return Err(invalid(problem.name(), what));
    }
    replace(path, |file| {
        let to = BufWriter::with_capacity(1 << 20, file);
        let mut to = Writer { to, max_subrecord };
        to.records(problem, reference, progress)?;
        to.to.flush()
    })
}

/// Column `n` (0-based) of `aqsmtemp(ncouls, nbands)`; if not synthesised, zero but for rows of `aqsm_local`.
pub fn aqsmtemp_column(problem: &Problem, n: usize, column: &mut [Complex64]) {
    if let Origin::System(system, seed) = problem.origin() {
        let rows = synthesis::rows(system);
        return synthesis::matrix_elements(*seed, RandomStream::Aqsm, n, &rows, column);
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
    fn records(&mut self, problem: &Problem, reference: &Sums, progress: Bars) -> io::Result<()> {
        let h = problem.header();
        let bar = progress.bar("writing", h.peinf_ntband_max as u64);
        let dimensions =
            [h.sig_ntband, h.gvec_ng, h.ncoul, h.epsmpi_ngpown_max, h.peinf_ntband_max];
        self.whole(&dimensions.map(|n| n as i32))?;
        self.whole(&[h.nbands as i32, h.ipe, h.ispin, h.ngpown as i32, h.ncouls as i32])?;
        self.whole(&h.peinf_indext_dist)?;
        self.whole(&h.wfnkq_ekq)?;
        let (range, energies) =
            ([h.nstart as i32, h.nend as i32, h.sig_fdf], [h.sig_dw, h.sig_gamma, h.e_lk]);
        self.record(36, [bytes_of(&range), bytes_of(&energies)])?;
        self.whole(&h.inv_igp_index)?;
        self.whole(&[&[h.gvec_ng as i32], &h.indinv[..]].concat())?;

        let of_bands = 16 * h.ncouls as u64 * h.peinf_ntband_max as u64;
        let columns = (0..h.peinf_ntband_max).map(|n| {
            let mut column = vec![Complex64::ZERO; h.ncouls];
            if n < h.nbands {
                aqsmtemp_column(problem, n, &mut column);
            }
            bar();
            cast_slice(&column).to_vec()
        });
        self.record(of_bands, columns)?;

        self.record(20, [bytes_of(&h.nvband), bytes_of(&[h.tol, h.efermi])])?;
        self.whole(&h.vcoul)?;
        let limits = problem.limits();
        self.whole(&[limits.sexcut, limits.limittwo, limits.limitone])?;
        self.whole(problem.wtilde())?;
        self.whole(problem.eps())?;
        let unused = vec![0u8; 16 * h.ncouls];
        let unused = repeat_n(&unused[..], h.peinf_ntband_max - h.nbands);
        self.record(of_bands, once(cast_slice(problem.aqsn())).chain(unused))?;
        for sums in [problem.start(), reference] {
            for part in [&sums.asx, &sums.ach] {
                let mut padded = vec![Complex64::ZERO; h.nend.max(MINI_APPS_ENERGIES)];
                padded[h.nstart - 1..h.nend].copy_from_slice(part);
                self.whole(&padded)?;
            }
        }
        Ok(())
    }

    fn whole<T: Pod>(&mut self, values: &[T]) -> io::Result<()> {
        self.record(size_of_val(values) as u64, [cast_slice(values)])
    }

    fn record<P: AsRef<[u8]>>(
        &mut self,
        length: u64,
        parts: impl IntoIterator<Item = P>,
    ) -> io::Result<()> {
        let most = self.max_subrecord;
        let mut at = 0;
        self.marker(length.min(most), length > most)?;
        for part in parts {
            let mut part = part.as_ref();
            while !part.is_empty() {
                if at > 0 && at % most == 0 {
                    self.marker(most, at > most)?;
                    self.marker((length - at).min(most), length - at > most)?;
                }
                let here = usize::try_from(most - at % most).unwrap_or(usize::MAX);
                let (now, later) = part.split_at(part.len().min(here));
                self.to.write_all(now)?;
                (at, part) = (at + now.len() as u64, later);
            }
        }
        debug_assert_eq!(at, length, "the caller writes what it announced");
        let before = at.saturating_sub(1) / most * most;
        self.marker(at - before, before > 0)
    }

    /// The length of a subrecord: in front of it negative if another one follows, behind it if it follows another one.
    fn marker(&mut self, length: u64, has_other: bool) -> io::Result<()> {
        let marker = if has_other { -(length as i32) } else { length as i32 };
        self.to.write_all(&marker.to_le_bytes())
    }
}
