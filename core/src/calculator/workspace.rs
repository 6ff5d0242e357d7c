//! How much memory a call takes, said before there are arrays.

use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;

use super::Calculator;
use super::arrays::NAME;
use crate::devices::beside::Beside;
use crate::error::{DataError, Result};
use crate::problem::header::MOST_ENERGIES;
use crate::problem::memory::{AQSM_LOCAL, MOST_TOGETHER, Of, WTILDE, WX, partial_sums, require};
use crate::problem::plan::BySize;
use crate::problem::{Extents, Outline, wrong};

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

/// Bytes that a call takes at most beside the caller's arrays, if no number has to be replaced and no column is
/// masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// On the host.
    pub host: u64,
    /// On each GPU, for the whole problem at once; less is enough for arrays of the host, which go there in slabs.
    pub device: u64,
}

impl Calculator {
    /// The memory that a call takes for problems of these sizes, with any poles. It is computed: nothing is allocated.
    ///
    /// # Errors
    /// [`Error::Problem`](crate::Error::Problem) for sizes that no problem has.
    pub fn workspace(&self, sizes: Sizes) -> Result<Workspace> {
        let Sizes { ncouls, ngpown, nbands, nw, screening_lent, bands_lent } = sizes;
        let extents = Extents { nbands, ngpown, ncouls, nw };
        let energies = DataError::Energies { nstart: 1, nend: nw };
        let is_right = (1..=MOST_ENERGIES).contains(&nw).then_some(()).ok_or(energies);
        is_right.and_then(|()| extents.check()).map_err(|what| wrong(NAME, what))?;
        if [ncouls, ngpown, nbands].contains(&0) {
            return Ok(Workspace { host: 0, device: 0 });
        }
        let laid = [Poles::Real, Poles::Any]
            .map(|poles| self.laid(Outline { extents, poles, keeps_order: false }));
        let lent = if screening_lent { 2 * WTILDE.bytes(extents, Layout::Original) } else { 0 };
        let rows = if bands_lent { 0 } else { AQSM_LOCAL.bytes(extents, Layout::Original) };
        let copies = lent + rows + BySize::bytes(extents) + small(extents);
        let on_gpu = if self.opened.is_host() { 0 } else { extents.device_bytes(Of::Bands) };
        let of_slab = if self.opened.is_host() { 0 } else { extents.device_bytes(Of::Slab) };
        let device = (on_gpu + of_slab).saturating_sub(lent);
        Ok(Workspace { host: laid[0].max(laid[1]) + copies, device })
    }

    /// Fails if the host has no room for what is laid out and summed of such a problem.
    pub(super) fn require_laid(&self, problem: Outline) -> Result<()> {
        require("what versions lay out of the arrays", self.laid(problem))
    }

    /// Bytes of the host's memory for it.
    fn laid(&self, problem: Outline) -> u64 {
        let (version, count) = (self.version_for(problem), self.opened.count());
        let kernels = self.kernels(version);
        let ngpown = problem.extents.ngpown.div_ceil(count);
        let slab = Extents { ngpown, ..problem.extents };
        let laid = self.opened.all().map(|device| device.beside(problem, &kernels, slab));
        let Beside { bands, slab: of_slabs } = laid.fold(Beside::default(), |all, one| all + one);
        let is_emulated = self.opened.is_host() && version.gpu().is_some();
        let partials = if is_emulated { partial_sums(batch(slab)) } else { 0 };
        // Of batches, then of all energies.
        bands + of_slabs + partials + 2 * problem.bytes_of_sums(version)
    }
}

/// Fails if the host has no room for what calls have of such a problem beside the caller's matrices: small arrays, and
/// what its energies are in the problem and in its batches; `ng` is the length of `indinv`.
pub(super) fn require_small(extents: Extents, ng: usize) -> Result<()> {
    require(NAME, small(extents) + 8 * ng as u64)
}

/// Bytes of it.
fn small(extents: Extents) -> u64 {
    let Extents { nbands, ngpown, ncouls, nw } = extents;
    let energies = |of| WX.bytes(of, Layout::Original);
    let numbers = [nbands, ngpown, ncouls, nw].iter().fold(0, |all: u64, n| all + *n as u64);
    64 * numbers + 4 * energies(extents) + 12 * energies(batch(extents))
}

/// So many energies as a batch has at most.
fn batch(extents: Extents) -> Extents {
    Extents { nw: extents.nw.min(MOST_TOGETHER), ..extents }
}
