//! What others have on a device.

use gpp::devices::gpu::driver::{ForeignStream, Visit, fetched, is_on_device, require_on};

use super::Outcome;
use super::on_devices::{check, open};

/// What others have on a device: here a buffer of ours, by its address.
pub fn foreign() -> Outcome {
    let (own, context) = open()?;
    let stream = context.stream("foreign")?;
    let values: Vec<u64> = (0..24).collect();
    let buffer = context.upload("values", &values, &stream)?;
    let (there, here) = (buffer.pointer().addr() as u64, values.as_ptr().addr() as u64);
    check(is_on_device(there) && !is_on_device(here), "told apart")?;
    require_on(own, "array", there, 24 * 8)?;
    for (index, at, says) in
        [(own, here, "array: is not in memory"), (own + 7, there, "was opened")]
    {
        let refused = require_on(index, "array", at, 8).map_err(|error| error.to_string());
        check(refused.as_ref().is_err_and(|error| error.contains(says)), refused)?;
    }
    let _visit = Visit::begin();
    stream.wait_for_foreign(ForeignStream::default())?;
    // Four columns of three, six apart; and all without gaps.
    // SAFETY: they are there, and nobody writes them.
    let columns = unsafe { fetched::<u64>("columns", there, 6, [3, 4], &stream) }?;
    check(columns == [0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20], columns)?;
    // SAFETY: as above.
    let all = unsafe { fetched::<u64>("all", there, 6, [6, 4], &stream) }?;
    check(all == values, all)
}
