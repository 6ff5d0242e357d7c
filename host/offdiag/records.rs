//! Stored records of Σ as a matrix, and what follows from them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gpp_core::offdiag::gpu::{Version, find};
use gpp_core::offdiag::{Elements, GROUP};
use npyz::{NpyFile, Order};
use num_complex::Complex64;

use crate::error::{Error, Result, invalid};
use crate::output::input;
use crate::problem::Extents;
use crate::problem::range::LARGEST_FACTOR;
use crate::record::run::{OfVersion, Offdiag};
use crate::record::{self, State};
use crate::roofline::{Level, Point};
use crate::terminal::{Cells, Column, digits, or_dash, outcome, time};

/// The file of the profiler's counters, of the calculation of the record with most versions; there need be none.
const COUNTERS_FILE: &str = "counters.csv";

pub struct Folder {
    pub records: Vec<Offdiag>,
    /// Numbers of the profiler's table, by kernel, metric and unit.
    counters: HashMap<[String; 3], f64>,
}

impl Folder {
    pub fn load(path: &Path) -> Result<Folder> {
        let mut files = if path.is_file() { vec![path.into()] } else { named(path)? };
        files.sort();
        let records = files.iter().map(|file| record::read(file)).collect::<Result<_>>()?;
        let table = path.join(COUNTERS_FILE);
        let counters = if table.is_file() { counters(&table)? } else { HashMap::new() };
        Ok(Folder { records, counters })
    }

    /// The record with most versions of which nothing came out wrong, the first of several.
    pub fn of_versions(&self) -> &Offdiag {
        let count =
            |record: &Offdiag| right(record).filter(|(_, own)| own.version.is_some()).count();
        let most = self.records.iter().rev().max_by_key(|record| count(record));
        most.expect("a folder has a record at least")
    }

    /// What the profiler counted of a version's first product of `sch`, of real poles.
    fn counter(&self, version: &Version, metric: &str, unit: &str) -> Option<f64> {
        let [[kernel, _], _] = version.symbols_u;
        self.counters.get(&[kernel, metric, unit].map(String::from)).copied()
    }
}

fn named(folder: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |what: &str| invalid(folder.display(), what);
    let entries = std::fs::read_dir(folder).map_err(|_| wrong("no such folder or file"))?;
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_json).collect();
    if files.is_empty() {
        return Err(wrong("holds no *.json; `gpp offdiag --version all --json FILE` writes one"));
    }
    Ok(files)
}

/// The numbers of the profiler's table; some of its metrics are texts.
fn counters(table: &Path) -> Result<HashMap<[String; 3], f64>> {
    let failed =
        |error: csv::Error| invalid(table.display(), format!("is not a CSV of counters: {error}"));
    let mut all = HashMap::new();
    for row in csv::Reader::from_path(table).map_err(failed)?.into_deserialize() {
        let [kernel, metric, unit, value]: [String; 4] = row.map_err(failed)?;
        if let Some(value) = value.parse().ok().filter(|value: &f64| value.is_finite()) {
            all.insert([kernel, metric, unit], value);
        }
    }
    Ok(all)
}

/// `A(l, n, ig)` of a file in the format of `numpy.save`: complex128, `(bands, nbands, ncouls)`, in C order.
pub struct Stored {
    path: PathBuf,
    begin: u64,
    bands: usize,
    nbands: usize,
    failed: OnceLock<String>,
}

impl Stored {
    pub fn open(path: &Path, extents: Extents) -> Result<Stored> {
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
        let elements = shape.iter().try_fold(16, |all: u64, n| all.checked_mul(*n));
        let needed = elements.and_then(|elements| elements.checked_add(begin));
        if needed != Some(bytes) {
            let needed = needed.map_or("more than any file has".into(), |n| n.to_string());
            return Err(wrong(format!("needs {needed} bytes for {shape:?}, has {bytes}")));
        }
        let bands = shape[0] as usize;
        Ok(Stored { path: path.into(), begin, bands, nbands, failed: OnceLock::new() })
    }

    /// Fails if a column could not be read, or had what is no number.
    pub fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |what| Err(error(&self.path, what.clone())))
    }
}

impl Elements for Stored {
    fn bands(&self) -> usize {
        self.bands
    }

    /// What cannot be read is not a number: see [`Stored::check`].
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let at = self.begin + 16 * (column.len() * (l * self.nbands + n)) as u64;
        let mut read = || -> io::Result<()> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(bytemuck::cast_slice_mut(column))
        };
        if let Err(error) = read() {
            self.failed.get_or_init(|| format!("cannot read at byte {at}: {error}"));
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

/// Operations that are counted for a complex product and its addition.
pub const COUNTED: f64 = 8.0;

/// Operations that are executed for one, as three real products.
pub const EXECUTED: f64 = 6.0;

/// A dot for each version that came out right of a folder's record with most versions, in their order: intensity of
/// the first product of `sch`, a group of bands n at an energy, by the folder's counters; rate of the whole calculation.
pub fn points(folder: &Folder) -> Vec<Point> {
    let record = folder.of_versions();
    let of = &record.system;
    let extents = [GROUP.min(of.nbands), of.ncouls, of.ngpown, record.count()];
    let operations = COUNTED * extents.map(|extent| extent as f64).iter().product::<f64>();
    let point = |(_, own): Calculated| {
        let version = find(own.version.as_ref()?)?;
        let bytes_per_s = folder.counter(version, "Memory Throughput", "byte/s")?;
        let bytes = bytes_per_s * 1e-9 * folder.counter(version, "Duration", "ns")?;
        Some(Point {
            version: version.id.into(),
            level: Level::Hbm,
            intensity: operations / bytes,
            flops_per_s: 1e12 * own.tflops,
        })
        .filter(|_| bytes > 0.0)
    };
    right(record).filter_map(point).collect()
}

pub type Calculated<'a> = (&'a Offdiag, &'a OfVersion);

fn right(record: &Offdiag) -> impl Iterator<Item = Calculated<'_>> {
    record.results.iter().filter(|own| own.is_right()).map(move |own| (record, own))
}

/// A row for each calculation, which begins with these columns.
pub fn results<'a>(first: &[Column<Calculated<'a>>], rows: Vec<Calculated<'a>>) -> Cells {
    // How much faster than the version before it, of the same record.
    let before = |(record, own): &Calculated| {
        let from = find(own.version.as_ref()?)?.from;
        let before = record.results.iter().find(|other| other.version.as_deref() == from)?;
        Some(format!("{:.2}", before.time_s.median / own.time_s.median))
    };
    let state = |own: &OfVersion| own.state.clone();
    let clock = |own: &OfVersion| Some(state(own)?.sm_mhz?.median);
    let error = |own: &OfVersion| own.verification.as_ref()?.max_rel_error;
    let whole = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.0}")));
    let columns: [Column<Calculated>; 9] = [
        ("time", &|(_, own)| time(own.time_s.median)),
        ("with input", &|(_, own)| time(own.total_s)),
        ("TFLOP/s", &|(_, own)| digits(own.tflops)),
        ("× before", &|of| or_dash(before(of))),
        ("clock [MHz]", &|(_, own)| whole(clock(own))),
        ("power [W]", &|(_, own)| whole(state(own).as_ref().and_then(State::watts))),
        ("energy [J]", &|(_, own)| whole(own.joules())),
        ("error", &|(_, own)| or_dash(error(own).map(|error| format!("{error:.1e}")))),
        ("result", &|(_, own)| outcome(own.outcome()).into()),
    ];
    Cells::new(&[first, &columns].concat(), rows)
}

pub fn by_version(folder: &Folder) -> Cells {
    let change = |(_, own): &Calculated| {
        or_dash(own.version.as_ref().and_then(|id| find(id)).map(|own| own.change))
    };
    let version = |(_, own): &Calculated| or_dash(own.version.as_ref());
    let rows = right(folder.of_versions()).collect();
    results(&[("version", &version), ("what it changes", &change)], rows)
}

/// A row for each record, of its fastest version, by system and number of bands.
pub fn by_bands(folder: &Folder) -> Cells {
    let seconds = |own: &Calculated| own.1.time_s.median;
    let records = folder.records.iter();
    let mut rows: Vec<Calculated> = records
        .filter_map(|record| right(record).min_by(|a, b| seconds(a).total_cmp(&seconds(b))))
        .collect();
    rows.sort_by_key(|(record, _)| (&record.system.name, record.count()));
    results(
        &[
            ("system", &|(record, _)| record.system.name.clone()),
            ("bands", &|(record, _)| record.count().to_string()),
            ("version", &|(_, own)| or_dash(own.version.as_ref())),
        ],
        rows,
    )
}
