//! Joining the processes that MPI's launcher started.

#[cfg(feature = "mpi")]
mod world;

use crate::error::{Result, invalid};

pub use gpp_core::ranks::{Alone, Ranks, require_same};

/// Variables with the number of ranks: of Open MPI, MPICH, MVAPICH and Slurm.
const SIZES: [&str; 4] =
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Variables with the rank; the last one is also set by Slurm without MPI.
const RANKS: [&str; 5] =
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"];

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

fn size() -> Option<usize> {
    SIZES.into_iter().find_map(number)
}

/// The variable with the rank of this process, and the rank, if a launcher started it.
fn launched() -> Option<(&'static str, usize)> {
    let (name, rank) = RANKS.into_iter().find_map(|name| Some((name, number(name)?)))?;
    // Slurm also numbers processes that run alone, scripts and shells.
    let is_alone =
        size().is_none_or(|size| size < 2) || std::env::var_os("SLURM_PTY_PORT").is_some();
    (name != "SLURM_PROCID" || !is_alone).then_some((name, rank))
}

/// The rank of this process before it joins the others, if a launcher started it.
pub fn launched_as() -> Option<usize> {
    launched().map(|(_, rank)| rank)
}

/// Joins the processes that MPI's launcher started, or stays alone if none did.
pub fn join() -> Result<Box<dyn Ranks>> {
    let Some((name, rank)) = launched() else { return Ok(Box::new(Alone)) };
    let size = size();
    #[cfg(feature = "mpi")]
    let (ranks, is_alone, why) = (
        world::join()?,
        size > Some(1),
        "the MPI that this program was built with has another launcher",
    );
    #[cfg(not(feature = "mpi"))]
    let (ranks, is_alone, why) = (
        Box::new(Alone),
        size != Some(1),
        "this program was built without MPI: cargo build --release --features mpi",
    );
    if ranks.size() == 1 && is_alone {
        let size = size.map_or("several".into(), |size| size.to_string());
        let what = format!(
            "{size} ranks, and {why}; for runs that share nothing, unset {name}, which is {rank} here"
        );
        return Err(invalid("the launcher of MPI", what));
    }
    Ok(ranks)
}
