//! What there is to run: versions, journeys, the shapes tuned for a device, and what others published.

use gpp_kernels::kernel::Gpu;
use gpp_kernels::versions;

/// The fastest version on a GPU, for whatever it is given.
pub static BEST: &Gpu = &versions::v13::GPU;

pub mod names;
pub mod published;
pub mod tuned;
