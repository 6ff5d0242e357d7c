//! The ranks of MPI.

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

// SAFETY: collective calls come from the thread that joined; others only abort, which MPI allows at any time, and read
// rank and size.
unsafe impl Sync for World {}

/// Joins the ranks. A panic in one rank ends all: a rank that merely unwinds would wait for the others at the end of
/// MPI, and they for it.
pub(super) fn join() -> Result<Box<dyn Ranks>> {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        return Err(invalid("MPI", "cannot be initialized a second time"));
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
        let mut all = vec![0u8; (end as usize).max(1)];
        let mut parts = PartitionMut::new(&mut all[..end as usize], &counts[..], &begins[..]);
        root.gather_varcount_into_root(bytes, &mut parts);
        let part =
            |(&begin, &count): (&i32, &i32)| all[begin as usize..][..count as usize].to_vec();
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
