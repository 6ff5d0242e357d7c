//! What there is to run: versions, journeys, the shapes tuned for a device, and what others published.

pub mod names;
pub mod order;
pub mod published;
pub mod tuned;
