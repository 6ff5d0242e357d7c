//! How much memory a call takes, said before there are arrays.

use std::sync::Arc;

use gpp_kernels::plan::Poles;

use super::arrays::{NAME, header};
use super::{Calculator, Formula};
use crate::catalogue::choice;
use crate::error::{Error, Result};
use crate::problem::memory::Of;
use crate::problem::plan::BySize;
use crate::problem::{Bands, Extents, Frame, Header, Origin};

/// What the memory of a call depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// G vectors.
    pub ncouls: usize,
    /// G′ vectors.
    pub ngpown: usize,
    /// Bands.
    pub nbands: usize,
    /// Energies.
    pub nw: usize,
    /// Whether `wtilde` and `eps` are on the GPU already.
    pub screening_lent: bool,
    /// Whether matrix elements are.
    pub bands_lent: bool,
}

/// Bytes that a call takes at most beside the caller's arrays, where no number has to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workspace {
    /// On the host.
    pub host: u64,
    /// On each GPU, for the whole problem at once; less is enough for arrays of the host, which go there in slabs.
    pub device: u64,
}

impl Calculator {
    /// The memory that a call takes for problems of these sizes, with any poles.
    ///
    /// # Errors
    /// [`Error::Problem`] for sizes that no problem has.
    pub fn workspace(&self, sizes: Sizes) -> Result<Workspace> {
        let Sizes { ncouls, ngpown, nbands, nw, screening_lent, bands_lent } = sizes;
        let wrong = |what| Error::Problem { origin: NAME.into(), what };
        let extents = Extents { nbands, ngpown, ncouls, nw };
        let screening = Header {
            gvec_ng: 1,
            ncoul: ncouls,
            epsmpi_ngpown_max: ngpown,
            ngpown,
            ncouls,
            inv_igp_index: vec![1; ngpown],
            indinv: vec![1],
            vcoul: vec![0.0; ncouls],
            ..Header::default()
        };
        let (e, omega) = (vec![0.0; nbands], vec![0.0; nw]);
        let header = header(screening, &e, &omega, Formula::default());
        let bands = Arc::new(Bands::elsewhere(header).map_err(wrong)?);
        let device = self.opened.first();
        let beside = [Poles::Real, Poles::Any].map(|poles| {
            let frame = Frame::new(NAME, Origin::Made, bands.clone(), poles);
            let task = choice::Task { nbands, pairs: ngpown as u64 * ncouls as u64, nw, poles };
            let best = || choice::best_for(device.back_end(), &task).kernel;
            device.beside(&frame, &self.kernels(self.version.unwrap_or_else(best)), extents)
        });
        let beside = beside[0].or(beside[1]);
        let element = size_of::<num_complex::Complex64>() as u64;
        let pairs = element * ncouls as u64 * ngpown as u64;
        let rows = element * ngpown as u64 * nbands as u64;
        let copies = if bands_lent { 0 } else { rows };
        let copies = copies + if screening_lent { 2 * pairs } else { 0 };
        let copies = copies.saturating_add(BySize::bytes(extents));
        let host = beside.bands.saturating_add(beside.slab).saturating_add(copies);
        let on_gpu = extents.device_bytes(Of::Bands).saturating_add(extents.device_bytes(Of::Slab));
        let lent = if screening_lent { 2 * pairs } else { 0 };
        let on_gpu = if self.opened.is_host() { 0 } else { on_gpu.saturating_sub(lent) };
        Ok(Workspace { host, device: on_gpu })
    }
}
