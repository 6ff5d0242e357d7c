//! MPI's processes.

use std::sync::Once;

use gpp_core::ranks::Ranks;
use mpi::Threading;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use crate::error::{Result, invalid};
use crate::output;

/// A communicator, and what ends MPI with it.
struct World {
    communicator: SimpleCommunicator,
    host: SimpleCommunicator,
    /// Dropped last: it ends MPI.
    _universe: Universe,
}

// SAFETY: collective calls come from the thread that joined; others only abort, which MPI's libraries take at
// any time, and read numbers that are kept here.
unsafe impl Sync for World {}

/// Joins MPI's processes. A panic in one rank ends all. A rank that merely unwinds would wait for the others
/// at the end of MPI, and they for it.
pub(super) fn join() -> Result<Box<dyn Ranks>> {
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        return Err(invalid("MPI", "cannot begin: it has begun before"));
    };
    let communicator = universe.world();
    let host = communicator.split_shared(communicator.rank());
    let world = World { communicator, host, _universe: universe };
    end_all_on_panic(&world);
    Ok(Box::new(world))
}

/// Once: later parts of the world are the same processes.
fn end_all_on_panic(world: &World) {
    static HOOK: Once = Once::new();
    let (rank, name) = (world.rank(), world.name());
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            let name = name.clone().unwrap_or_else(|| format!("rank {rank}"));
            output::note(format_args!("error: {name} panicked"));
            SimpleCommunicator::world().abort(PANICKED);
        }));
    });
}

/// What Rust's programs exit with after a panic.
const PANICKED: i32 = 101;

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
        // Never the address of no bytes, see below.
        let bytes = if bytes.is_empty() { &NOTHING[..0] } else { bytes };
        if !self.is_root() {
            root.gather_into(&count);
            root.gather_varcount_into(bytes);
            return None;
        }
        let mut counts = vec![0; self.size()];
        root.gather_into_root(&count, &mut counts[..]);
        Some(parted(&counts, |parts| root.gather_varcount_into_root(bytes, parts)))
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        let root = self.communicator.process_at_rank(0);
        let mut count = length(&bytes);
        root.broadcast_into(&mut count);
        let mut bytes = if self.is_root() { bytes } else { vec![0; count as usize] };
        // The address of no bytes may be one that means something to MPI, MPI_IN_PLACE.
        if count > 0 {
            root.broadcast_into(&mut bytes[..]);
        }
        bytes
    }

    fn abort(&self, code: u8) {
        self.communicator.abort(code.into())
    }
}

/// Messages of these lengths, one after the other as `receive` fills them in.
fn parted(
    counts: &[i32],
    receive: impl FnOnce(&mut PartitionMut<[u8], &[i32], &[i32]>),
) -> Vec<Vec<u8>> {
    let begin = |next: &mut i32, count: &i32| {
        let begin = *next;
        *next = begin.checked_add(*count).expect("MPI counts by 31 bits");
        Some(begin)
    };
    let begins: Vec<i32> = counts.iter().scan(0i32, begin).collect();
    let sum: usize = counts.iter().map(|&count| count as usize).sum();
    // Never the address of no bytes, see below.
    let mut all = vec![0u8; sum.max(1)];
    receive(&mut PartitionMut::new(&mut all[..sum], counts, &begins[..]));
    let part = |(begin, count): (&i32, &i32)| all[*begin as usize..][..*count as usize].to_vec();
    begins.iter().zip(counts).map(part).collect()
}

static NOTHING: [u8; 1] = [0];

/// Bytes of a message as MPI counts them.
fn length(bytes: &[u8]) -> i32 {
    bytes.len().try_into().expect("MPI counts by 31 bits")
}
