//! Joining the processes that MPI's launcher started.

#[cfg(feature = "mpi")]
mod world;

pub use gpp_core::ranks::{Alone, Ranks, require_same};

#[cfg(not(feature = "mpi"))]
use crate::error::Error;
use crate::error::Result;

/// What launchers tell a process of the number of ranks: Open MPI's, MPICH's, MVAPICH's, Slurm's.
#[cfg(not(feature = "mpi"))]
const SIZES: [&str; 4] =
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"];

/// What they tell it of its rank.
const RANKS: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK"];

fn number(names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The rank that a launcher of MPI gave this process, if one did: what is the same for all of them is said
/// by rank 0 only.
pub fn launched_as() -> Option<usize> {
    number(&RANKS)
}

/// Joins the processes that MPI's launcher started, or stays alone where none did.
///
/// # Errors
/// [`Error::Data`] where there are others and the program was built without MPI.
pub fn join() -> Result<Box<dyn Ranks>> {
    if launched_as().is_none() {
        return Ok(Box::new(Alone));
    }
    #[cfg(feature = "mpi")]
    return world::join();
    #[cfg(not(feature = "mpi"))]
    match number(&SIZES) {
        Some(1) => Ok(Box::new(Alone)),
        size => {
            let size = size.map_or("several".into(), |size| size.to_string());
            let what = format!(
                "{size} ranks, and this program was built without MPI: cargo build --release \
                 --features mpi"
            );
            Err(Error::Data { origin: "the launcher of MPI".into(), what })
        }
    }
}
