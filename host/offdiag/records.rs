//! Stored records of Σ as a matrix, and what follows from them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gpp_core::offdiag::versions::{self, Version};
use gpp_core::offdiag::{Elements, GROUP};
use npyz::{NpyFile, Order};
use num_complex::Complex64;
use serde::Deserialize;

use crate::error::{Error, Result, invalid};
use crate::output::input;
use crate::problem::Extents;
use crate::record;
use crate::record::offdiag::{OfVersion, Offdiag};
use crate::record::profile::Ceilings;
use crate::roofline::{Level, Point, of_matrix_units};
use crate::terminal::{Cells, or_dash};

/// The file of counters, of the calculation of the record with most versions; there need be none.
pub const COUNTERS_FILE: &str = "counters.csv";

/// A counter of the first product of `sch`, of real poles.
pub struct Counter {
    pub metric: &'static str,
    pub name: &'static str,
    pub unit: &'static str,
    pub factor: f64,
    /// Digits behind the point in a table.
    pub decimals: usize,
}

pub const COUNTERS: [Counter; 6] = [
    percent("Compute (SM) Throughput", "busiest pipe"),
    percent("Issue Slots Busy", "issue slots"),
    percent("L1/TEX Cache Throughput", "L1 and shared memory"),
    percent("L2 Cache Throughput", "L2"),
    percent("DRAM Throughput", "DRAM"),
    Counter {
        metric: "Local Memory Spilling Requests",
        name: "requests of local memory",
        unit: "10⁶",
        factor: 1e-6,
        decimals: 1,
    },
];

const fn percent(metric: &'static str, name: &'static str) -> Counter {
    Counter { metric, name, unit: "%", factor: 1.0, decimals: 0 }
}

pub struct Folder {
    /// Where they are: the folder, or the one file.
    pub path: PathBuf,
    pub records: Vec<Offdiag>,
    counters: Vec<Row>,
}

/// A row of the profiler's table.
struct Row {
    kernel: String,
    metric: String,
    unit: String,
    value: f64,
}

impl Folder {
    /// All records of a folder and its counters, or the record of a file.
    pub fn load(path: &Path) -> Result<Folder> {
        let mut files = if path.is_file() { vec![path.into()] } else { named(path)? };
        files.sort();
        let records = files.iter().map(|file| record::read(file)).collect::<Result<_>>()?;
        let table = path.join(COUNTERS_FILE);
        let counters = if table.is_file() { counters(&table)? } else { Vec::new() };
        Ok(Folder { path: path.into(), records, counters })
    }

    /// The record with most versions of which nothing came out wrong, the first of several.
    pub fn of_versions(&self) -> &Offdiag {
        let count = |record: &Offdiag| {
            let right = record.results.iter().filter(|own| own.is_right());
            right.filter(|own| own.version.is_some()).count()
        };
        let most = self.records.iter().rev().max_by_key(|record| count(record));
        most.expect("a folder has a record at least")
    }

    /// A version's calculations of a system and so many bands, unless something came out wrong.
    pub fn find(
        &self,
        system: &str,
        bands: usize,
        version: &str,
    ) -> Option<(&Offdiag, &OfVersion)> {
        let own = |record: &Offdiag| record.system.name == system && record.count() == bands;
        let records = self.records.iter().filter(|record| own(record));
        let mut all =
            records.flat_map(|record| record.results.iter().map(move |own| (record, own)));
        all.find(|(_, own)| own.version.as_deref() == Some(version) && own.is_right())
    }

    /// What the profiler counted of a version's first product of `sch`, of real poles: a metric may have several units.
    fn rows(&self, version: &Version, metric: &str) -> impl Iterator<Item = &Row> {
        let [[kernel, _], _] = version.symbols_u;
        self.counters.iter().filter(move |row| row.kernel == kernel && row.metric == metric)
    }
}

/// The files of a folder that may be records.
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

/// The numbers of the profiler's table: of its metrics some are texts.
fn counters(table: &Path) -> Result<Vec<Row>> {
    #[derive(Deserialize)]
    struct Cells {
        kernel: String,
        metric: String,
        #[serde(default)]
        unit: String,
        value: String,
    }
    let failed =
        |error: csv::Error| invalid(table.display(), format!("is no record of counters: {error}"));
    let cells = csv::Reader::from_path(table).map_err(failed)?.into_deserialize::<Cells>();
    let mut rows = Vec::new();
    for cells in cells {
        let Cells { kernel, metric, unit, value } = cells.map_err(failed)?;
        let value = value.parse().ok().filter(|value: &f64| value.is_finite());
        rows.extend(value.map(|value| Row { kernel, metric, unit, value }));
    }
    Ok(rows)
}

// Matrix elements of a file: a NumPy array, read column by column.

/// `A(l, n, ig)` of a file in the format of `numpy.save`: complex128, `(bands, nbands, ncouls)`, in C order.
pub struct Stored {
    path: PathBuf,
    begin: u64,
    bands: usize,
    nbands: usize,
    failed: OnceLock<String>,
}

impl Stored {
    /// Looks at a file that is to go with a problem of these extents.
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
    invalid(format!("--elements {}", path.display()), what)
}

// Versions of Σ as a matrix on the roofline: bytes by the profiler's counters, rates by a record.

/// Operations that are counted for a complex product and its addition.
pub const COUNTED: f64 = 8.0;

/// Operations that are executed for one, as three real products.
pub const EXECUTED: f64 = 6.0;

/// The versions of a record on the roofline of its device.
pub struct Matrices<'a> {
    pub title: String,
    /// A dot for each version that came out right, in their order: intensity of the first product of `sch`, rate of the
    /// whole calculation; 8 operations a complex product.
    pub points: Vec<Point>,
    pub ceilings: &'a Ceilings,
    /// FP64 operations a second of its matrix units, where it has some.
    pub matrix: Option<f64>,
}

impl<'a> Matrices<'a> {
    /// Of a folder's record with most versions; its counters are of the same system and bands.
    pub fn of(folder: &Folder, ceilings: &'a Ceilings) -> Result<Matrices<'a>> {
        let record = folder.of_versions();
        let device = &record.head.device;
        if device.name != ceilings.device {
            let what = format!("is of {}, but ceilings are of {}", device.name, ceilings.device);
            return Err(invalid(folder.path.display(), what));
        }
        let table = folder.path.join(COUNTERS_FILE);
        if !table.is_file() {
            let what = format!("has no {COUNTERS_FILE} with the profiler's counters");
            return Err(invalid(folder.path.display(), what));
        }
        let right = record.results.iter().filter(|own| own.is_right());
        let known = right.filter_map(|own| Some((own, versions::find(own.version.as_ref()?)?)));
        let point = |(own, version): (&OfVersion, &Version)| {
            let bytes = bytes(folder, version).map_err(|what| invalid(table.display(), what))?;
            Ok(Point {
                version: version.id.into(),
                level: Level::Hbm,
                intensity: operations(record) / bytes,
                flops_per_s: 1e12 * own.tflops,
            })
        };
        let points: Vec<Point> = known.map(point).collect::<Result<_>>()?;
        if points.is_empty() {
            return Err(invalid(
                folder.path.display(),
                "has no verified result of a version for GPUs",
            ));
        }
        Ok(Matrices {
            title: format!("{}, {} bands: Σ as a matrix", record.system.name, record.count()),
            points,
            ceilings,
            matrix: of_matrix_units(ceilings, device.compute_capability.as_deref()),
        })
    }

    /// The same dots by the operations that are executed, without those that make P.
    pub fn executed(&self) -> Vec<Point> {
        let executed = |point: &Point| Point {
            intensity: EXECUTED / COUNTED * point.intensity,
            flops_per_s: EXECUTED / COUNTED * point.flops_per_s,
            ..point.clone()
        };
        self.points.iter().map(executed).collect()
    }
}

/// Operations of a launch of the first product: a group of bands n at an energy.
fn operations(record: &Offdiag) -> f64 {
    let of = &record.system;
    let n = GROUP.min(of.nbands);
    COUNTED
        * [n, of.ncouls, of.ngpown, record.count()]
            .map(|extent| extent as f64)
            .iter()
            .product::<f64>()
}

/// Bytes from and to memory of that launch, or what is missing for them.
fn bytes(folder: &Folder, version: &Version) -> std::result::Result<f64, String> {
    let counter = |metric: &str, unit: &str| {
        let found = folder.rows(version, metric).find(|row| row.unit == unit).map(|row| row.value);
        found
            .filter(|&value| value > 0.0)
            .ok_or_else(|| format!("has no {metric} of {} in {unit} above 0", version.id))
    };
    Ok(counter("Memory Throughput", "byte/s")? * 1e-9 * counter("Duration", "ns")?)
}

// Tables of stored records of Σ as a matrix.

fn whole(value: Option<f64>) -> String {
    or_dash(value.map(|value| format!("{value:.0}")))
}

fn clock(own: &OfVersion) -> Option<f64> {
    Some(own.state.as_ref()?.sm_mhz?.median)
}

/// A row for each version of a system and so many bands.
pub fn by_version(folder: &Folder, system: &str, bands: usize) -> Cells {
    let of = |id| folder.find(system, bands, id).map(|(_, own)| own);
    let before = |version: &Version| {
        let (before, now) = version.from.and_then(of).zip(of(version.id))?;
        Some(before.time_s.median / now.time_s.median)
    };
    Cells::new(
        &[
            ("version", &|own: &&Version| own.id.into()),
            ("capability", &|own: &&Version| format!("{:.1}", own.capability)),
            ("what it changes", &|own: &&Version| own.change.into()),
            ("time [s]", &|own: &&Version| {
                or_dash(of(own.id).map(|own| format!("{:.2}", own.time_s.median)))
            }),
            ("TFLOP/s", &|own: &&Version| {
                or_dash(of(own.id).map(|own| format!("{:.1}", own.tflops)))
            }),
            ("× before", &|own: &&Version| {
                or_dash(before(own).map(|ratio| format!("{ratio:.2}")))
            }),
            ("clock [MHz]", &|own: &&Version| whole(of(own.id).and_then(clock))),
            ("energy [J]", &|own: &&Version| whole(of(own.id).and_then(OfVersion::joules))),
        ],
        versions::ALL.iter().copied(),
    )
}

/// Counters of each version's first product of `sch`.
pub fn counters_table(folder: &Folder) -> Cells {
    let row = |version: &&Version| {
        let cell = |counter: &Counter| {
            let row = folder.rows(version, counter.metric).next();
            or_dash(row.map(|row| format!("{:.*}", counter.decimals, counter.factor * row.value)))
        };
        [version.id.into()].into_iter().chain(COUNTERS.iter().map(cell)).collect()
    };
    let heading = |counter: &Counter| format!("{} [{}]", counter.name, counter.unit);
    let headings = ["version".into()].into_iter().chain(COUNTERS.iter().map(heading)).collect();
    Cells { headings, rows: versions::ALL.iter().map(row).collect() }
}

/// A row for each record, of its fastest version, by system and number of bands.
pub fn by_bands(folder: &Folder) -> Cells {
    type Found<'a> = (&'a Offdiag, &'a OfVersion);
    let mut found: Vec<Found> =
        folder.records.iter().filter_map(|record| Some((record, record.fastest()?))).collect();
    found.sort_by_key(|(record, _)| (&record.system.name, record.count()));
    let error =
        |own: &OfVersion| own.verification.as_ref().and_then(|verdict| verdict.max_rel_error);
    Cells::new(
        &[
            ("system", &|(record, _): &Found| record.system.name.clone()),
            ("bands", &|(record, _): &Found| record.count().to_string()),
            ("version", &|(_, own): &Found| or_dash(own.version.as_ref())),
            ("time [s]", &|(_, own): &Found| format!("{:.2}", own.time_s.median)),
            ("TFLOP/s", &|(_, own): &Found| format!("{:.1}", own.tflops)),
            ("clock [MHz]", &|(_, own): &Found| whole(clock(own))),
            ("energy [J]", &|(_, own): &Found| whole(own.joules())),
            ("error", &|(_, own): &Found| or_dash(error(own).map(|error| format!("{error:.1e}")))),
        ],
        found,
    )
}
