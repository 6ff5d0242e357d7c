//! Versions of Σ as a matrix on the roofline: bytes by the profiler's counters, rates by a record.

use gpp_core::offdiag::images::GROUP;
use gpp_core::offdiag::versions::{self, Version};

use super::levels::Level;
use super::peaks::of_matrix_units;
use super::roofline::Point;
use crate::error::{Error, Result};
use crate::experiments::offdiag::folder::{COUNTERS_FILE, Folder};
use crate::record::ceilings::Ceilings;
use crate::record::offdiag::{OfVersion, Offdiag};

/// File name of the chart, without the ending.
pub const NAME: &str = "roofline-offdiag";

/// Operations that are counted for a complex product and its addition.
pub const COUNTED: f64 = 8.0;

/// Operations that are executed for one, as three real products.
pub const EXECUTED: f64 = 6.0;

/// The versions of a record on the roofline of its device.
pub struct Matrices<'a> {
    /// The system and its bands.
    pub title: String,
    /// A dot for each version that came out right, in their order: intensity of the first product of `sch`, rate of the
    /// whole calculation; 8 operations a complex product.
    pub points: Vec<Point>,
    /// What the device can do.
    pub ceilings: &'a Ceilings,
    /// FP64 operations a second of its matrix units, where it has some.
    pub matrix: Option<f64>,
}

impl<'a> Matrices<'a> {
    /// Of a folder's record with most versions; its counters are of the same system and bands.
    ///
    /// # Errors
    /// [`Error::Data`] for a folder without counters or with none above zero of a version, without versions of a GPU, and
    /// for ceilings of another device.
    pub fn of(folder: &Folder, ceilings: &'a Ceilings) -> Result<Matrices<'a>> {
        let record = folder.of_versions();
        let device = &record.head.device;
        if device.name != ceilings.device {
            let what = format!("is of {}, the ceilings are of {}", device.name, ceilings.device);
            return Err(wrong(&folder.path, what));
        }
        let Some(table) = folder.counters_file() else {
            return Err(wrong(&folder.path, format!("has no {COUNTERS_FILE} of the profiler's")));
        };
        let right = record.results.iter().filter(|own| own.is_right());
        let known = right.filter_map(|own| Some((own, versions::find(own.version.as_ref()?)?)));
        let point = |(own, version): (&OfVersion, &Version)| {
            let bytes = bytes(folder, version).map_err(|what| wrong(table, what))?;
            Ok(Point {
                version: version.id.into(),
                level: Level::Hbm,
                intensity: operations(record) / bytes,
                flops_per_s: 1e12 * own.tflops,
            })
        };
        let points: Vec<Point> = known.map(point).collect::<Result<_>>()?;
        if points.is_empty() {
            return Err(wrong(&folder.path, "has no version of a GPU that came out right".into()));
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
        let found = folder.counter_in(version, metric, unit).filter(|&value| value > 0.0);
        found.ok_or_else(|| format!("has no {metric} of {} in {unit} above 0", version.id))
    };
    Ok(counter("Memory Throughput", "byte/s")? * 1e-9 * counter("Duration", "ns")?)
}

fn wrong(path: &std::path::Path, what: String) -> Error {
    Error::Data { origin: path.display().to_string(), what }
}
