//! How many threads a process has room for: processors and their cores, as far as its mask and its cgroup leave
//! it any, and its share of them where other processes of the host have the same mask.

use std::collections::BTreeSet;

/// How many threads a process may run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// One on each core.
    pub cores: usize,
    /// One on each processor: cores may have several.
    pub all: usize,
}

impl Room {
    /// What the calling thread's mask and its cgroup leave a process that is alone on its host.
    pub fn here() -> Room {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        Room { cores: cores(&mask(), sibling).clamp(1, all), all }
    }

    /// The share of process `at` of those on a host, which have these [masks](mask): an equal one for all that
    /// have the same mask, as those have that nobody bound.
    ///
    /// # Panics
    /// Where there is no mask `at`.
    #[must_use]
    pub fn shared(self, masks: &[Vec<usize>], at: usize) -> Room {
        let alike = |some: &[Vec<usize>]| some.iter().filter(|mask| **mask == masks[at]).count();
        let (before, of) = (alike(&masks[..at]), alike(masks));
        let part = |count: usize| ((before + 1) * count / of - before * count / of).max(1);
        Room { cores: part(self.cores), all: part(self.all) }
    }
}

/// The processors that the calling thread may use, by their numbers; none where the system is not Linux.
pub fn mask() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    numbers(list.unwrap_or_default())
}

/// How many cores these processors are of, each known by its lowest processor.
fn cores(mask: &[usize], lowest: impl Fn(usize) -> Option<usize>) -> usize {
    let core = |&id: &usize| lowest(id).unwrap_or(id);
    mask.iter().map(core).collect::<BTreeSet<usize>>().len()
}

/// The lowest processor of a processor's core, where the system tells it.
fn sibling(id: usize) -> Option<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
    numbers(&std::fs::read_to_string(path).ok()?).into_iter().min()
}

/// The numbers of a list as Linux writes it, `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(of_range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_with_one_mask_share_its_cores() {
        let host = Room { cores: 8, all: 16 };
        let rooms = |room: Room, masks: &[Vec<usize>]| -> Vec<[usize; 2]> {
            let of = |at| room.shared(masks, at);
            (0..masks.len()).map(of).map(|room| [room.cores, room.all]).collect()
        };
        let all: Vec<usize> = (0..16).collect();
        assert_eq!(rooms(host, std::slice::from_ref(&all)), [[8, 16]]);
        assert_eq!(rooms(host, &vec![all.clone(); 2]), [[4, 8], [4, 8]]);
        assert_eq!(rooms(host, &vec![all.clone(); 3]), [[2, 5], [3, 5], [3, 6]]);
        // More processes than processors.
        assert_eq!(rooms(Room { cores: 1, all: 2 }, &vec![vec![0, 1]; 3]), [[1, 1]; 3]);
        // Who has a mask of its own keeps it, and so do those of each socket.
        let socket = Room { cores: 4, all: 8 };
        let [first, second]: [Vec<usize>; 2] = [(0..8).collect(), (8..16).collect()];
        let masks = [first.clone(), second.clone(), first, second];
        assert_eq!(rooms(socket, &masks), [[2, 4]; 4]);
        assert_eq!(socket.shared(&[all, masks[0].clone()], 1), socket);
    }

    #[test]
    fn a_core_counts_once() {
        // The second processor of core c is c + 8, as most systems number them.
        let lowest = |id| Some(id % 8);
        assert_eq!(cores(&(0..16).collect::<Vec<_>>(), lowest), 8);
        assert_eq!(cores(&[0, 1, 8, 9, 10], lowest), 3);
        assert_eq!(cores(&[3, 16], |_| None), 2);
    }

    #[test]
    fn lists_are_read_as_linux_writes_them() {
        assert_eq!(numbers("\t0-3,8\n"), [0, 1, 2, 3, 8]);
        assert!(numbers("").is_empty());
    }

    #[test]
    fn here_is_room_for_a_thread() {
        let Room { cores, all } = Room::here();
        assert!(1 <= cores && cores <= all);
        if cfg!(target_os = "linux") {
            assert!(mask().len() >= all, "{:?} of {all}", mask());
        }
    }
}
