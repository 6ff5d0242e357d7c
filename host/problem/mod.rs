//! One problem: the arrays that the kernels read, and where they come from.

pub mod file;
pub mod header;
pub mod plan;
pub mod range;
pub mod sums;
pub mod synthesis;
pub mod systems;

use std::borrow::Cow;
use std::path::PathBuf;

use gpp_kernels::arrays::{Arrays, Limits};
use gpp_kernels::layout::{self, Layout};
use gpp_kernels::plan::Plan;
use num_complex::Complex64;

use crate::error::{Error, Result};
pub use header::Header;
pub use plan::Planned;
pub use sums::Sums;
pub use systems::System;

/// Where a problem comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A built-in system, synthesised with this seed.
    System(System, u64),
    /// A file in the reference mini-app's format.
    File(PathBuf),
    /// Arrays that a caller made.
    Made,
}

/// One problem. All arrays are column-major, the first index named fastest.
#[derive(Clone, Debug)]
pub struct Problem {
    /// System name or file name.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The small records of the file format.
    pub header: Header,
    /// Plasmon-pole modes in eV, `(ncouls, ngpown)`.
    pub wtilde: Vec<Complex64>,
    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub eps: Vec<Complex64>,
    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub aqsn: Vec<Complex64>,
    /// Matrix elements of G′, `(ngpown, nbands)`.
    pub aqsm_local: Vec<Complex64>,
    /// Energies `e_lk + dw·(iw − 2) − e(n)` in eV, `(nw, nbands)`.
    pub wx: Vec<f64>,
    /// Coulomb interaction of each G′, `(ngpown)`.
    pub vcoul_loc: Vec<f64>,
    /// Occupation of each band, `(nbands)`.
    pub occ: Vec<f64>,
    /// `asxtemp` and `achtemp` before the kernel adds to them.
    pub start: Sums,
    /// `asxtempref` and `achtempref`, where a file holds them.
    pub stored: Option<Sums>,
}

/// The large arrays of a problem; everything else follows from the [`Header`].
#[derive(Clone, Debug)]
pub struct Matrices {
    /// `(ncouls, ngpown)`.
    pub wtilde: Vec<Complex64>,
    /// `(ncouls, ngpown)`.
    pub eps: Vec<Complex64>,
    /// `(ncouls, nbands)`.
    pub aqsn: Vec<Complex64>,
    /// `(ngpown, nbands)`.
    pub aqsm_local: Vec<Complex64>,
}

/// The matrices with their names in a file and their extents.
fn elements<'a>(
    header: &Header,
    matrices: &'a Matrices,
) -> [(&'static str, &'a [Complex64], usize, usize); 4] {
    let Header { nbands, ngpown, ncouls, .. } = *header;
    [
        ("wtilde_array(ig,igp)", &matrices.wtilde, ncouls, ngpown),
        ("I_eps_array(ig,igp)", &matrices.eps, ncouls, ngpown),
        ("aqsntemp(ig,n)", &matrices.aqsn, ncouls, nbands),
        ("aqsm_local(igp,n)", &matrices.aqsm_local, ngpown, nbands),
    ]
}

impl Problem {
    /// A problem from its header and matrices.
    ///
    /// # Errors
    /// [`Error::Data`] where an extent or index is out of range, a matrix has the wrong size, or a
    /// value is not finite or out of [`range`].
    pub fn new(
        name: &str,
        origin: Origin,
        header: Header,
        mut matrices: Matrices,
    ) -> Result<Problem> {
        let wrong = |what: String| Error::Data { origin: name.to_string(), what };
        header.validate().map_err(&wrong)?;
        for (what, array, first, second) in elements(&header, &matrices) {
            let needed = first as u64 * second as u64;
            if array.len() as u64 != needed {
                return Err(wrong(format!("{what} needs {needed} elements, has {}", array.len())));
            }
            if needed > u64::from(u32::MAX) {
                return Err(wrong(format!(
                    "{what} has {needed} elements; the kernels index at most {}",
                    u32::MAX
                )));
            }
            if let Some(at) = array.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) {
                return Err(wrong(format!(
                    "{what} is {} at ({},{}); it must be finite",
                    array[at],
                    at % first + 1,
                    at / first + 1
                )));
            }
        }
        let wx = header.wx();
        range::check(&header, &matrices, &wx).map_err(&wrong)?;
        range::resolve(&mut matrices, &wx);
        let Matrices { wtilde, eps, aqsn, aqsm_local } = matrices;
        let start = Sums::zero(header.nw());
        Ok(Problem {
            name: name.to_string(),
            origin,
            wx,
            vcoul_loc: header.vcoul_loc(),
            occ: header.occ(),
            header,
            wtilde,
            eps,
            aqsn,
            aqsm_local,
            start,
            stored: None,
        })
    }

    /// Energies.
    pub fn nw(&self) -> usize {
        self.header.nw()
    }

    /// Terms of the sum: (n, igp, ig, iw).
    pub fn terms(&self) -> u64 {
        let Header { nbands, ngpown, ncouls, .. } = self.header;
        nbands as u64 * ngpown as u64 * ncouls as u64 * self.nw() as u64
    }

    /// Bytes of the arrays that the kernels read.
    pub fn bytes(&self) -> u64 {
        let complex = self.wtilde.len() + self.eps.len() + self.aqsn.len() + self.aqsm_local.len();
        let real = self.wx.len() + self.vcoul_loc.len() + self.occ.len();
        (complex * 16 + real * 8) as u64
    }

    /// The kernels' view of the arrays, those that depend on the band in the order that `layout`
    /// wants, with the plan where it is [`Layout::Planned`].
    pub fn arrays(&self, layout: &Reordered, plan: Plan) -> Arrays {
        Arrays {
            wtilde: self.wtilde.as_ptr(),
            eps: self.eps.as_ptr(),
            aqsn: layout.aqsn.as_ptr(),
            aqsm_local: layout.aqsm_local.as_ptr(),
            wx: layout.wx.as_ptr(),
            vcoul_loc: self.vcoul_loc.as_ptr(),
            occ: layout.occ.as_ptr(),
            nbands: self.header.nbands as u32,
            ngpown: self.header.ngpown as u32,
            ncouls: self.header.ncouls as u32,
            nw: self.nw() as u32,
            limits: self.limits(),
            plan,
        }
    }

    /// What the later versions need to know of it.
    pub fn plan(&self) -> Planned {
        Planned::of(self)
    }

    /// The arrays that depend on the band in the order of `layout`.
    pub fn reordered(&self, layout: Layout, plan: &Planned) -> Reordered<'_> {
        let original = Reordered {
            aqsn: self.aqsn.as_slice().into(),
            aqsm_local: self.aqsm_local.as_slice().into(),
            wx: self.wx.as_slice().into(),
            occ: self.occ.as_slice().into(),
        };
        let Header { ngpown, ncouls, .. } = self.header;
        match layout {
            Layout::Planned => {
                let rows = layout::Planned::rows(ngpown as u32) as usize;
                let energies = layout::Planned::ENERGIES as usize;
                let aqsm_local = plan.reordered(&self.aqsm_local, ngpown, rows).into();
                let wx = plan.reordered(&self.wx, self.nw(), energies).into();
                if plan.keeps_order() {
                    return Reordered { aqsm_local, wx, ..original };
                }
                Reordered {
                    aqsn: plan.reordered(&self.aqsn, ncouls, ncouls).into(),
                    aqsm_local,
                    wx,
                    occ: plan.reordered(&self.occ, 1, 1).into(),
                }
            }
            Layout::Original => original,
            Layout::Swapped => Reordered {
                wx: transposed(&self.wx, self.nw()).into(),
                aqsm_local: transposed(&self.aqsm_local, ngpown).into(),
                ..original
            },
        }
    }

    /// Limits of the formula.
    pub fn limits(&self) -> Limits {
        self.header.limits()
    }

    /// Column `n` (0-based) of `aqsmtemp(ncouls, nbands)`, from which `aqsm_local` was taken. Of a
    /// problem that was not synthesised only the rows in `aqsm_local` are known; the rest are zero.
    pub fn aqsmtemp_column(&self, n: usize, column: &mut [Complex64]) {
        if let Origin::System(system, seed) = &self.origin {
            synthesis::aqsmtemp_column(system, *seed, n, column);
            return;
        }
        column.fill(Complex64::ZERO);
        let ngpown = self.header.ngpown;
        for (k, row) in self.header.rows().enumerate() {
            if let Some(igp) = row {
                column[igp] = self.aqsm_local[n * ngpown + k];
            }
        }
    }
}

/// A problem's arrays for threads to share while the problem is borrowed.
pub struct SharedArrays(pub Arrays);

// SAFETY: the pointers are only read through, and what they point to is borrowed for longer than
// the threads run.
unsafe impl Sync for SharedArrays {}

impl SharedArrays {
    /// The arrays.
    pub fn get(&self) -> &Arrays {
        &self.0
    }
}

/// The arrays that depend on the band in one of the orders.
#[derive(Clone, Debug)]
pub struct Reordered<'a> {
    /// Matrix elements of G.
    pub aqsn: Cow<'a, [Complex64]>,
    /// Matrix elements of G′.
    pub aqsm_local: Cow<'a, [Complex64]>,
    /// Energies.
    pub wx: Cow<'a, [f64]>,
    /// Occupations.
    pub occ: Cow<'a, [f64]>,
}

/// A column-major matrix of `rows` rows, transposed.
fn transposed<T: Copy>(matrix: &[T], rows: usize) -> Vec<T> {
    (0..rows).flat_map(|row| matrix.iter().skip(row).step_by(rows).copied()).collect()
}
