//! Which processors of a machine a process binds its threads to.
//!
//! What decides is the mask of processors that the process may use, and the masks of those beside it on the
//! host. Those with one mask share its cores, in contiguous parts; a core's processors (hyperthreads) stay
//! together as long as there are as many cores as processes. A mask that holds another one leaves it its cores.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A core: the numbers of its processors, which are online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core(pub Vec<usize>);

/// The cores of a machine, those of a package next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine(Vec<Core>);

/// What the system says of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its number.
    pub id: usize,
    /// The package that it is in.
    pub package: usize,
    /// Its core's lowest processor.
    pub core: usize,
}

impl Machine {
    /// Of these processors, all that are online.
    pub fn of(processors: impl IntoIterator<Item = Processor>) -> Machine {
        let mut cores = BTreeMap::<_, BTreeSet<usize>>::new();
        for Processor { id, package, core } in processors {
            cores.entry((package, core)).or_default().insert(id);
        }
        Machine(cores.into_values().map(|ids| Core(ids.into_iter().collect())).collect())
    }

    /// The machine that this runs on, as far as Linux tells of it.
    pub fn here() -> Machine {
        let root = Path::new("/sys/devices/system/cpu");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let processor = |id: usize| {
            let of = |what: &str| read(&format!("cpu{id}/topology/{what}"));
            let package = of("physical_package_id").and_then(|text| text.trim().parse().ok());
            let core = of("thread_siblings_list").and_then(|list| numbers(&list).into_iter().min());
            Processor { id, package: package.unwrap_or(0), core: core.unwrap_or(id) }
        };
        Machine::of(numbers(&read("online").unwrap_or_default()).into_iter().map(processor))
    }

    /// The cores of a mask, with those of their processors that it has. Processors that the machine does not
    /// tell of are each a core.
    pub fn within(&self, mask: &[usize]) -> Vec<Core> {
        let of_core = |Core(all): &Core| -> Vec<usize> {
            all.iter().copied().filter(|id| mask.contains(id)).collect()
        };
        let known = self.0.iter().map(of_core).filter(|ids| !ids.is_empty());
        let is_unknown = |id: &&usize| !self.0.iter().any(|Core(all)| all.contains(id));
        known.chain(mask.iter().filter(is_unknown).map(|&id| vec![id])).map(Core).collect()
    }

    /// The cores of process `at` of those on this host, which have these masks. Where there are fewer cores than
    /// processes with a mask they share out its processors.
    ///
    /// # Panics
    /// Where there is no mask `at`.
    pub fn share(&self, masks: &[Vec<usize>], at: usize) -> Vec<Core> {
        let of = |mask: &Vec<usize>| mask.iter().copied().collect::<BTreeSet<usize>>();
        let masks: Vec<BTreeSet<usize>> = masks.iter().map(of).collect();
        let own = &masks[at];
        // Who may use fewer has no choice.
        let mut different: Vec<&BTreeSet<usize>> = masks.iter().collect();
        different.sort_by_key(|mask| (mask.len(), *mask));
        different.dedup();
        let mut taken = BTreeSet::new();
        for mask in different {
            let all = self.within(&mask.iter().copied().collect::<Vec<_>>());
            let is_free = |Core(ids): &&Core| ids.iter().all(|id| !taken.contains(id));
            let free: Vec<Core> = all.iter().filter(is_free).cloned().collect();
            let cores = if free.is_empty() { all } else { free };
            if mask == own {
                let with_it =
                    |masks: &[BTreeSet<usize>]| masks.iter().filter(|m| *m == own).count();
                return part(cores, with_it(&masks[..at]), with_it(&masks));
            }
            taken.extend(cores.into_iter().flat_map(|Core(ids)| ids));
        }
        unreachable!("the own mask is among the masks")
    }
}

/// The processors to bind to: one of each core, then the others, core by core.
pub fn in_turns(cores: &[Core]) -> Vec<usize> {
    let most = cores.iter().map(|Core(ids)| ids.len()).max().unwrap_or(0);
    (0..most)
        .flat_map(|turn| cores.iter().filter_map(move |Core(ids)| ids.get(turn)))
        .copied()
        .collect()
}

/// Part `at` of `of` of some cores, one at least; processors where there are too few cores.
fn part(cores: Vec<Core>, at: usize, of: usize) -> Vec<Core> {
    let cores = match cores.len() < of {
        true => cores.into_iter().flat_map(|Core(ids)| ids).map(|id| Core(vec![id])).collect(),
        false => cores,
    };
    if cores.is_empty() {
        return cores;
    }
    let begin = at * cores.len() / of;
    let end = ((at + 1) * cores.len() / of).max(begin + 1);
    cores[begin..end].to_vec()
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

    /// Two packages of four cores; the second processor of core c is c + 8, as most systems number them.
    fn machine() -> Machine {
        let of = |id: usize| Processor { id, package: id % 8 / 4, core: id % 8 };
        Machine::of((0..16).map(of))
    }

    fn shares(machine: &Machine, masks: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let ids = |cores: Vec<Core>| cores.into_iter().flat_map(|Core(ids)| ids).collect();
        (0..masks.len()).map(|at| ids(machine.share(masks, at))).collect()
    }

    #[test]
    fn processes_without_a_mask_of_their_own_share_the_cores() {
        let all: Vec<usize> = (0..16).collect();
        let found = shares(&machine(), &vec![all.clone(); 2]);
        assert_eq!(found, [[0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15]]);
        let found = shares(&machine(), &vec![all.clone(); 3]);
        assert_eq!(found, [vec![0, 8, 1, 9], vec![2, 10, 3, 11, 4, 12], vec![5, 13, 6, 14, 7, 15]]);
        assert_eq!(shares(&machine(), &[all])[0].len(), 16);
    }

    #[test]
    fn processes_bound_to_a_socket_share_it() {
        let [first, second]: [Vec<usize>; 2] =
            [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]].map(Vec::from);
        let found = shares(&machine(), &[first.clone(), first, second.clone(), second]);
        let expected =
            [[0, 8, 1, 9], [2, 10, 3, 11], [4, 12, 5, 13], [6, 14, 7, 15]].map(Vec::from);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_containers_cores_are_shared_though_the_machine_has_more() {
        let found = shares(&machine(), &vec![vec![2, 3, 10, 11]; 2]);
        assert_eq!(found, [[2, 10], [3, 11]]);
    }

    #[test]
    fn who_is_bound_keeps_what_others_could_use_as_well() {
        let found = shares(&machine(), &[(0..16).collect(), vec![1], (0..4).collect()]);
        assert_eq!(found[1], [1]);
        assert_eq!(found[2], [0, 2, 3]);
        assert_eq!(found[0], [4, 12, 5, 13, 6, 14, 7, 15]);
        // Bound to a processor each, siblings or not.
        assert_eq!(shares(&machine(), &[vec![0], vec![8]]), [[0], [8]]);
        // Where nothing is left they share.
        assert_eq!(shares(&machine(), &[vec![0, 8], vec![0]]), [vec![0, 8], vec![0]]);
    }

    #[test]
    fn siblings_are_parted_where_there_are_fewer_cores_than_processes_only() {
        let machine = machine();
        for masks in [vec![(0..16).collect::<Vec<_>>(); 5], vec![vec![0, 1, 8, 9]; 2]] {
            let shares = shares(&machine, &masks);
            let of = |id: usize| shares.iter().position(|ids| ids.contains(&id)).unwrap();
            assert!(masks[0].iter().filter(|&&id| id < 8).all(|&id| of(id) == of(id + 8)));
            assert_eq!(shares.iter().flatten().count(), masks[0].len(), "each has its own");
        }
        assert_eq!(shares(&machine, &vec![vec![0, 8]; 2]), [[0], [8]]);
        // More processes than processors.
        assert_eq!(shares(&machine, &vec![vec![0, 8]; 4]), [[0], [0], [8], [8]]);
    }

    #[test]
    fn few_threads_are_on_cores_of_their_own() {
        let cores = machine().within(&[0, 1, 8, 9, 10]);
        assert_eq!(cores, [vec![0, 8], vec![1, 9], vec![10]].map(Core));
        assert_eq!(in_turns(&cores), [0, 1, 10, 8, 9]);
        // Of processors that are not told of nothing else is known.
        assert_eq!(machine().within(&[16, 3]), [vec![3], vec![16]].map(Core));
        assert!(machine().share(&[vec![]], 0).is_empty());
    }

    #[test]
    fn lists_are_read_as_linux_writes_them() {
        assert_eq!(numbers("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert!(numbers("").is_empty());
        let here = Machine::here();
        let mask: Vec<usize> =
            core_affinity::get_core_ids().unwrap_or_default().iter().map(|id| id.id).collect();
        let mut ids = in_turns(&here.within(&mask));
        ids.sort_unstable();
        assert_eq!(ids, mask);
    }
}
