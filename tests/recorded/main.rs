//! What is made of recorded runs and profiles.

mod bounds;
#[path = "../common/mod.rs"]
mod common;
mod journeys;
mod records;
mod sigma;
