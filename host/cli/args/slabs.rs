//! How a problem is parted into slabs.

use bytesize::ByteSize;
use clap::Args;

use super::measure::at_least_one;
use crate::experiments::parting::Limits;

/// How much memory to take for arrays.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Slabs")]
pub struct MemoryArgs {
    /// Memory to take of each GPU for arrays, as 2GiB; what does not fit streams slab by slab. By default
    /// all that is free
    #[arg(long, value_name = "LIMIT", value_parser = bytes)]
    pub device_memory: Option<ByteSize>,

    /// The same of the host, for all ranks on it
    #[arg(long, value_name = "LIMIT", value_parser = bytes)]
    pub host_memory: Option<ByteSize>,
}

impl MemoryArgs {
    /// What is said of memory.
    pub fn limits(&self) -> Limits {
        Limits {
            device: self.device_memory.map(|limit| limit.as_u64()),
            host: self.host_memory.map(|limit| limit.as_u64()),
            slab: None,
        }
    }
}

/// Slabs: ranges of G′ that several devices share, or that follow each other where memory is short.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Slabs")]
pub struct SlabArgs {
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// G′ vectors of a slab, a multiple of a kernel's groups; by default what memory holds and devices
    /// share evenly
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub slab: Option<usize>,
}

impl SlabArgs {
    /// What is said of memory and slabs.
    pub fn limits(&self) -> Limits {
        Limits { slab: self.slab, ..self.memory.limits() }
    }
}

pub(super) fn bytes(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Ok(bytes) if bytes.as_u64() > 0 => Ok(bytes),
        Ok(_) => Err("needs at least one byte".into()),
        Err(reason) => Err(format!("needs a number of bytes, as 2GiB or 500MB: {reason}")),
    }
}
