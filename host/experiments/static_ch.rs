//! The static CH beside the sums of a run.

use crate::catalogue::Kernel;
use crate::devices::Watch;
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::process::progress::Progress;
use crate::record::static_ch::StaticCh;
use crate::reference::verify::verify_static_ch;
use crate::reference::{MAX_SERIAL_TERMS, static_ch as evaluate};

/// The static CH of an engine's problem by a kernel, compared with one that is evaluated now where that is wanted
/// and not too much.
///
/// # Errors
/// Those of the engine and of the problem's source.
pub fn static_ch(
    engine: &mut Engine,
    kernel: Kernel,
    compares: bool,
    progress: Progress,
) -> Result<StaticCh> {
    let Calculation { sums, seconds, .. } = engine.static_ch(kernel, Watch::none())?;
    let problem = engine.problem();
    let products = problem.terms() / problem.nw() as u64;
    let is_compared = compares && products <= MAX_SERIAL_TERMS;
    let reference = is_compared.then(|| evaluate(engine.slabs(), progress)).transpose()?;
    let verification = verify_static_ch(problem, sums.ach[0], reference);
    Ok(StaticCh::of(sums.ach[0], seconds, verification))
}
