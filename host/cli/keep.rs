//! What is done of an experiment is shown at its end, on an error and on an interrupt.

use crate::error::Result;
use crate::process::kept::Kept;

/// Runs an experiment that hands out its record after each part. The last record, or the one that it returns,
/// is shown.
///
/// # Errors
/// That of the experiment, else that of showing.
pub fn keep<R: Clone + Send + 'static>(
    show: impl Fn(&R) -> anyhow::Result<()> + Send + Sync + 'static,
    experiment: impl FnOnce(&mut dyn FnMut(&R)) -> Result<R>,
) -> anyhow::Result<R> {
    let kept = Kept::new(None, move |record: &Option<R>| match record {
        Some(record) => show(record),
        None => Ok(()),
    });
    let mut tell = |record: &R| kept.change(|kept| *kept = Some(record.clone()));
    let done = experiment(&mut tell);
    if let Ok(record) = &done {
        tell(record);
    }
    kept.finish(done)
}
