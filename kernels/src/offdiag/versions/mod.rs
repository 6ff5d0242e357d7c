//! The versions of the products, one idea each. All give the same bits.

mod m16n8k16;
mod m16n8k8;
mod m8n8k4;
mod ring;
mod vector;
mod wide;

use super::version::Version;

/// All, each after the one that it is made from.
pub static ALL: [&Version; 6] = [
    &vector::VERSION,
    &m8n8k4::VERSION,
    &m16n8k8::VERSION,
    &ring::VERSION,
    &m16n8k16::VERSION,
    &wide::VERSION,
];
