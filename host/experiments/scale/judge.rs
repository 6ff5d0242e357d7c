//! What the sums of points are compared with.

use crate::catalogue::{self, BackEnd, Kernel};
use crate::engine::Engine;
use crate::error::Result;
use crate::problem::Sums;
use crate::process::progress::Progress;
use crate::reference::{self, Reference, Source};

/// Most terms that are evaluated for a reference: half a second on two cores. Larger problems are
/// compared with a [`version`] on the same device, which the tests check against the definition.
const EVALUATED: u64 = 100_000_000;

/// What one member finds, and what it should.
pub struct Judge {
    /// The reference.
    pub reference: Reference,
    /// One member's sums, without the starting sums, where others are to have their bits.
    pub base: Option<Sums>,
}

impl Judge {
    /// By an engine of one member, for a version; `is_exact` tells whether others are to have its bits.
    ///
    /// # Errors
    /// Those of the engine and of evaluating.
    pub fn new(engine: &mut Engine, kernel: Kernel, is_exact: bool) -> Result<Judge> {
        let reference = reference(engine, kernel.back_end())?;
        let base = if is_exact { Some(engine.run(kernel)?.sums) } else { None };
        Ok(Judge { reference, base })
    }
}

/// The version whose sums others are compared with: made for the back end, its terms written as the
/// definition has them.
fn version(back_end: BackEnd) -> Kernel {
    let id = match back_end {
        BackEnd::Gpu => "v3",
        BackEnd::Cpu => "cpu:blocked",
    };
    catalogue::find(id).expect("the journeys have both").kernel
}

/// Golden sums or sums evaluated now, or a [`version`]'s where that would take too long.
pub(super) fn reference(engine: &mut Engine, back_end: BackEnd) -> Result<Reference> {
    let problem = engine.problem();
    let quiet = Progress { shown: false };
    if (problem.terms() <= EVALUATED || reference::is_golden(problem))
        && let Some(reference) = reference::of(engine.slabs(), quiet)?
    {
        return Ok(reference);
    }
    let sums = engine.run(version(back_end))?.sums;
    Ok(Reference::new(problem.start().plus(&sums), Source::Device, quiet))
}
