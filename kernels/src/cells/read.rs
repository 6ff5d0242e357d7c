//! What kernels read of their arguments.

use num_complex::Complex64;

use super::place::BANDS;
use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::intrinsics::load;
use crate::pairs::Pole;

impl CellsArguments {
    pub(crate) fn limits(&self) -> Limits {
        let CellsArguments { limittwo, limitone, sexcut, .. } = *self;
        Limits { limittwo, limitone, sexcut }
    }

    /// Parts of all bands.
    pub fn units(&self) -> u32 {
        self.rows / BANDS * self.count
    }

    /// `wx(iw,n)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), indices in range.
    #[inline(always)]
    pub(crate) unsafe fn wx(&self, iw: u32, n: u32) -> f64 {
        // SAFETY: indices in range, whose product has 32 bits.
        unsafe { *self.wx.add((n * self.nw + iw) as usize) }
    }

    /// Whether a band is occupied, and how much.
    ///
    /// # Safety
    /// As [`CellsArguments::wx`].
    #[inline(always)]
    pub(crate) unsafe fn occ(&self, n: u32) -> f64 {
        // SAFETY: in range.
        unsafe { *self.occ.add(n as usize) }
    }

    /// Bands of a block from `first` on.
    #[inline(always)]
    pub(crate) fn bands(&self, first: u32) -> u32 {
        BANDS.min(self.nbands - first.min(self.nbands))
    }

    /// `aqsm_local` and `aqsn` of a pair and a band.
    ///
    /// # Safety
    /// As [`CellsArguments::wx`], `n < rows`.
    #[inline(always)]
    pub(crate) unsafe fn elements<W>(&self, pole: &Pole<W>, n: u32) -> [Complex64; 2] {
        // SAFETY: in range.
        let (aqsm, aqsn) = unsafe {
            (
                load(self.aqsm_local, pole.igp * self.rows + n),
                load(self.aqsn, pole.ig * self.rows + n),
            )
        };
        [aqsm, aqsn]
    }
}
