//! Joining the processes that MPI's launcher started.

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
pub fn launched() -> Option<(&'static str, usize)> {
    let (name, rank) = RANKS.into_iter().find_map(|name| Some((name, number(name)?)))?;
    // Slurm also numbers processes that run alone, scripts and shells.
    let is_alone =
        size().is_none_or(|size| size < 2) || std::env::var_os("SLURM_PTY_PORT").is_some();
    (name != "SLURM_PROCID" || !is_alone).then_some((name, rank))
}

/// Joins the processes that MPI's launcher started, or stays alone if none did.
pub fn join() -> Result<Box<dyn Ranks>> {
    let Some((name, rank)) = launched() else { return Ok(Box::new(Alone)) };
    let size = size();
    #[cfg(feature = "mpi")]
    let (ranks, is_alone, why) = (
        world::join()?,
        size > Some(1),
        "this program was built with another MPI than the launcher's",
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
            "{size} ranks, but {why}; for independent runs unset {name}, which is {rank} here"
        );
        return Err(invalid("the launcher of MPI", what));
    }
    Ok(ranks)
}

#[cfg(feature = "mpi")]
mod world {
    use gpp_core::ranks::Ranks;
    use mpi::Threading;
    use mpi::datatype::PartitionMut;
    use mpi::environment::Universe;
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::*;

    use crate::error::{Result, invalid};
    use crate::output;

    struct World {
        communicator: SimpleCommunicator,
        /// The ranks of this host.
        host: SimpleCommunicator,
        /// Dropped last: it ends MPI.
        _universe: Universe,
    }

    // SAFETY: collective calls come from the thread that joined; others only abort, which MPI allows at any time, and
    // read rank and size.
    unsafe impl Sync for World {}

    /// Joins the ranks. A panic in one rank ends all: a rank that merely unwinds would wait for the others at the end
    /// of MPI, and they for it.
    pub(super) fn join() -> Result<Box<dyn Ranks>> {
        let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
            return Err(invalid("MPI", "was initialised before"));
        };
        let communicator = universe.world();
        let host = communicator.split_shared(communicator.rank());
        let world = World { communicator, host, _universe: universe };
        let name = world.name().unwrap_or("rank 0".into());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            output::note(format_args!("error: {name} panicked"));
            // The exit code of a Rust program that panicked.
            SimpleCommunicator::world().abort(101);
        }));
        Ok(Box::new(world))
    }

    impl Ranks for World {
        fn rank(&self) -> usize {
            self.communicator.rank() as usize
        }

        fn size(&self) -> usize {
            self.communicator.size() as usize
        }

        fn local(&self) -> (usize, usize) {
            (self.host.rank() as usize, self.host.size() as usize)
        }

        fn barrier(&self) {
            self.communicator.barrier();
        }

        fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
            let root = self.communicator.process_at_rank(0);
            let count = length(bytes);
            // MPI must not see the dangling address of an empty slice: it may equal MPI_IN_PLACE.
            let bytes = if bytes.is_empty() { &NOTHING[..0] } else { bytes };
            if !self.is_root() {
                root.gather_into(&count);
                root.gather_varcount_into(bytes);
                return None;
            }
            let mut counts = vec![0; self.size()];
            root.gather_into_root(&count, &mut counts[..]);
            let mut end = 0i32;
            let mut begins = Vec::new();
            for count in &counts {
                begins.push(end);
                end = end.checked_add(*count).expect(COUNTS);
            }
            let mut received = vec![0u8; (end as usize).max(1)];
            let mut parts =
                PartitionMut::new(&mut received[..end as usize], &counts[..], &begins[..]);
            root.gather_varcount_into_root(bytes, &mut parts);
            let part = |(&begin, &count): (&i32, &i32)| {
                received[begin as usize..][..count as usize].to_vec()
            };
            Some(begins.iter().zip(&counts).map(part).collect())
        }

        fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
            let root = self.communicator.process_at_rank(0);
            let mut count = length(&bytes);
            root.broadcast_into(&mut count);
            let mut bytes = if self.is_root() { bytes } else { vec![0; count as usize] };
            if count > 0 {
                root.broadcast_into(&mut bytes[..]);
            }
            bytes
        }

        fn abort(&self, code: u8) {
            self.communicator.abort(code.into())
        }
    }

    static NOTHING: [u8; 1] = [0];

    const COUNTS: &str = "MPI counts by 31 bits";

    fn length(bytes: &[u8]) -> i32 {
        bytes.len().try_into().expect(COUNTS)
    }
}
