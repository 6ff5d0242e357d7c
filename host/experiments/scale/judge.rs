//! What the sums of teams are compared with.

use crate::catalogue::Kernel;
use crate::engine::Engine;
use crate::error::Result;
use crate::experiments::scaling;
use crate::problem::Sums;
use crate::reference::Reference;

/// What one member finds, and what it should.
pub struct Judge {
    /// The reference.
    pub reference: Reference,
    /// One member's sums, without the starting sums.
    pub base: Sums,
}

impl Judge {
    /// By an engine of one member, for a version.
    ///
    /// # Errors
    /// Those of the engine and of evaluating.
    pub fn new(engine: &mut Engine, kernel: Kernel) -> Result<Judge> {
        let reference = scaling::reference(engine, scaling::judge(kernel.back_end()))?;
        Ok(Judge { reference, base: engine.run(kernel)?.sums })
    }
}
