//! Being asked to stop.

/// Looks whether a calculation is to stop, and for what: a number of the caller's, of a signal for instance.
/// It is called between slabs, from any thread, and again afterwards: once it has said to stop, it goes on
/// saying so.
pub type Stop<'a> = &'a (dyn Fn() -> Option<i32> + Sync);

/// For calculations that nobody stops.
pub fn never() -> Option<i32> {
    None
}
