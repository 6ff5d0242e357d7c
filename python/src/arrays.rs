//! Arrays as the core wants them: column-major slices, or addresses on a GPU.

use gpp_core::on_gpu::{self, DeviceMatrix};
use gpp_core::{Aqsm, Bands, MatrixBands, Screening};
use num_complex::Complex64;
use numpy::{AsSliceError, PyReadonlyArray1};
use pyo3::prelude::*;

/// A vector of NumPy's, without gaps.
pub type Vector<'py, T> = PyReadonlyArray1<'py, T>;

type Result<T> = std::result::Result<T, AsSliceError>;

/// All elements of a matrix in the order of the core, or where they are on a GPU.
#[derive(FromPyObject)]
pub enum Matrix<'py> {
    Host(Vector<'py, Complex64>),
    Device { at: u64, ld: usize },
}

impl Matrix<'_> {
    fn host(&self) -> Result<&[Complex64]> {
        match self {
            Matrix::Host(vector) => vector.as_slice(),
            Matrix::Device { .. } => Ok(&[]),
        }
    }

    fn device(&self) -> Option<DeviceMatrix> {
        match *self {
            Matrix::Host(_) => None,
            Matrix::Device { at, ld } => Some(DeviceMatrix { at, ld }),
        }
    }
}

/// ω̃, eps and vcoul; 1, 2, 3, … for each column; its row, counted from 1, or 0.
#[derive(FromPyObject)]
pub struct OfScreening<'py>(
    Matrix<'py>,
    Matrix<'py>,
    Vector<'py, f64>,
    Vector<'py, i32>,
    Vector<'py, i32>,
);

impl OfScreening<'_> {
    /// With the matrices of the host.
    pub fn host(&self) -> Result<Screening<'_>> {
        let OfScreening(wtilde, eps, vcoul, inv_igp_index, indinv) = self;
        Ok(Screening {
            wtilde: wtilde.host()?,
            eps: eps.host()?,
            vcoul: vcoul.as_slice()?,
            inv_igp_index: inv_igp_index.as_slice()?,
            indinv: indinv.as_slice()?,
        })
    }

    /// With the matrices of a GPU, if they are there.
    pub fn on_gpu(&self) -> Result<Option<on_gpu::Screening<'_>>> {
        let (Some(wtilde), Some(eps)) = (self.0.device(), self.1.device()) else {
            return Ok(None);
        };
        let Screening { vcoul, inv_igp_index, indinv, .. } = self.host()?;
        Ok(Some(on_gpu::Screening { wtilde, eps, vcoul, inv_igp_index, indinv }))
    }
}

/// aqsn; aqsm, and whether it has a row for each G; e and occ.
#[derive(FromPyObject)]
pub struct OfBands<'py>(Matrix<'py>, Matrix<'py>, bool, Vector<'py, f64>, Vector<'py, f64>);

impl OfBands<'_> {
    /// With the matrices of the host.
    pub fn host(&self) -> Result<Bands<'_>> {
        let OfBands(aqsn, aqsm, is_whole, e, occ) = self;
        let aqsm = aqsm.host()?;
        let aqsm = if *is_whole { Aqsm::Whole(aqsm) } else { Aqsm::Local(aqsm) };
        Ok(Bands { aqsn: aqsn.host()?, aqsm, e: e.as_slice()?, occ: occ.as_slice()? })
    }

    /// With the matrices of a GPU, if they are there.
    pub fn on_gpu(&self) -> Result<Option<on_gpu::Bands<'_>>> {
        let (Some(aqsn), Some(aqsm)) = (self.0.device(), self.1.device()) else {
            return Ok(None);
        };
        let aqsm = if self.2 { on_gpu::Aqsm::Whole(aqsm) } else { on_gpu::Aqsm::Local(aqsm) };
        let Bands { e, occ, .. } = self.host()?;
        Ok(Some(on_gpu::Bands { aqsn, aqsm, e, occ }))
    }
}

/// a, e, occ, and whether the energies are those of the bands l.
#[derive(FromPyObject)]
pub struct OfMatrix<'py>(Vector<'py, Complex64>, Vector<'py, f64>, Vector<'py, f64>, bool);

impl OfMatrix<'_> {
    /// As the core has them.
    pub fn host(&self) -> Result<MatrixBands<'_>> {
        let OfMatrix(a, e, occ, at_bands) = self;
        let (a, e, occ) = (a.as_slice()?, e.as_slice()?, occ.as_slice()?);
        Ok(MatrixBands { a, e, occ, at_bands: *at_bands })
    }
}
