//! The reference's layout: all arrays as they are.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, PaperArguments};
use gpp_kernels::kernel::Kernel;
use num_complex::Complex64;

use super::{Pairs, Preparation, Words};
use crate::error::Result;
use crate::problem::memory::{AQSM_LOCAL, Array, zeros};
use crate::problem::{BandOrder, Batch, Frame, SlabView};

/// The reference's layout.
pub struct Original;

impl Preparation for Original {
    fn own(&self, _: bool) -> Vec<&'static Array> {
        Vec::new()
    }

    fn aqsm_local<'a>(&self, slab: SlabView<'a>, _: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        let all = slab.aqsm_local();
        if let Some(whole) = all.whole() {
            return Ok(whole.into());
        }
        let mut rows = zeros(AQSM_LOCAL.name, all.rows() * slab.nbands())?;
        rows.chunks_exact_mut(all.rows())
            .zip(all.columns())
            .for_each(|(to, from)| to.copy_from_slice(from));
        Ok(rows.into())
    }

    fn pairs(&self, _: &Frame, _: SlabView, _: &Batch, _: &Kernel) -> Arc<dyn Pairs> {
        Arc::new(AsTheyAre)
    }
}

/// Nothing beside `wtilde` and `eps`.
pub struct AsTheyAre;

impl Pairs for AsTheyAre {
    fn arrays(&self) -> Vec<Words<'_>> {
        Vec::new()
    }

    fn arguments(
        &self,
        common: PaperArguments,
        _: (&Batch, &Kernel),
        _: &[*const c_void],
    ) -> Box<dyn Arguments> {
        Box::new(common)
    }
}
