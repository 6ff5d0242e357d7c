//! The host's memory that is free to this process.

use std::fs;
use std::path::{Component, Path, PathBuf};

use bytemuck::{Zeroable, allocation};
use rayon::prelude::*;

use crate::error::{Error, Result, shown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    pub bytes: u64,
    /// What leaves no more; none if it is the machine's memory.
    pub limit: Option<String>,
}

impl Free {
    #[must_use]
    pub fn or_less(self, other: Free) -> Free {
        if other.bytes < self.bytes { other } else { self }
    }

    /// Fails if less than `needed` bytes are free.
    pub fn require(&self, what: &str, needed: u64) -> Result<()> {
        if needed <= self.bytes {
            return Ok(());
        }
        Err(self.clone().too_little(what, needed))
    }

    fn too_little(self, what: &str, needed: u64) -> Error {
        let (what, free) = (what.into(), Some(self.bytes).filter(|&bytes| bytes != u64::MAX));
        Error::Memory { on_device: false, what, needed, free, limit: self.limit }
    }
}

/// Host memory that is free to this process, within its control groups; none if the system does not say.
pub fn free() -> Option<Free> {
    use sysinfo::{MemoryRefreshKind, RefreshKind, System};
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kind).ok();
    // Zero means that /proc/meminfo cannot be read.
    let system = system.filter(|system| system.total_memory() > 0);
    let of_machine = system.map(|system| Free { bytes: system.available_memory(), limit: None });
    let of_group = group_limit(Path::new("/proc/self"), Path::new("/"));
    of_machine.into_iter().chain(of_group).reduce(Free::or_less)
}

/// Fewer bytes are not compared with what is free, which takes longer than a small calculation.
pub const SMALL: u64 = 16 << 20;

/// Fails if less than `needed` bytes of host memory are free, or if the system refuses them to this process.
pub fn require(what: &str, needed: u64) -> Result<()> {
    if needed >= SMALL
        && let Some(free) = free()
    {
        free.require(what, needed)?;
    }
    let mut room = Vec::<u8>::new();
    let granted = room.try_reserve_exact(usize::try_from(needed).unwrap_or(usize::MAX));
    // Otherwise the compiler removes an allocation that is never read.
    std::hint::black_box(&room);
    granted.map_err(|_| refused(what, needed))
}

fn refused(what: &str, needed: u64) -> Error {
    let Free { bytes: free, limit } = free().unwrap_or(Free { bytes: 0, limit: None });
    let refuses = || "the system grants this process no more, as under `ulimit -v`".into();
    let limit = if needed > free { limit } else { Some(refuses()) };
    Free { bytes: free, limit }.too_little(what, needed)
}

/// Zeros for an array of a size that a caller chooses, so that the system may refuse it.
pub fn zeros<T: Zeroable>(what: &str, length: usize) -> Result<Vec<T>> {
    let needed = length.saturating_mul(size_of::<T>()) as u64;
    require(what, needed)?;
    allocation::try_zeroed_vec(length).map_err(|()| refused(what, needed))
}

/// Items in an array of a size that a caller chooses, so that the system may refuse it.
pub fn collected<T: Send>(
    what: &str,
    items: impl IndexedParallelIterator<Item = T>,
) -> Result<Vec<T>> {
    let (mut all, length) = (Vec::new(), items.len());
    let needed = length.saturating_mul(size_of::<T>()) as u64;
    all.try_reserve_exact(length).map_err(|_| refused(what, needed))?;
    items.collect_into_vec(&mut all);
    Ok(all)
}

/// The files of a group that limit memory and say what is taken, and its page cache in `memory.stat`. Above `memory.high`
/// a process is slowed down until it hardly moves; version 1 has no such limit.
const V2: [&str; 5] =
    ["memory.max", "memory.high", "memory.current", "inactive_file", "active_file"];
const V1: [&str; 5] = [
    "memory.limit_in_bytes",
    "",
    "memory.usage_in_bytes",
    "total_inactive_file",
    "total_active_file",
];

/// What the tightest limit of a process (its folder in `/proc`) and of its groups' parents, mounted below `root`, leaves. The
/// page cache of files counts as free. sysinfo's `Process::cgroup_limits` counts it as taken, finds no limit if a group has no
/// files for memory, and does not say which group sets the limit.
fn group_limit(proc: &Path, root: &Path) -> Option<Free> {
    let read = |name| fs::read_to_string(proc.join(name)).unwrap_or_default();
    let (mounts, groups) = (read("mountinfo"), read("cgroup"));
    let has = |list: &str, name: &str| list.split(',').any(|one| one == name);
    let limit = |mount: &str| -> Option<Free> {
        let (mount, system) = mount.split_once(" - ")?;
        let mut system = system.split(' ');
        let (controller, files) = match (system.next()?, system.next_back()?) {
            ("cgroup2", _) => ("", V2),
            ("cgroup", options) if has(options, "memory") => ("memory", V1),
            _ => return None,
        };
        let mut fields = mount.split(' ').skip(3);
        let (mounted, point) = (fields.next()?, fields.next()?);
        let group = groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            has(controllers, controller).then_some(group)
        })?;
        // In a container the mount may show no more than its own group, which has another name outside.
        let below = Path::new(group).strip_prefix(mounted).unwrap_or(Path::new(""));
        let is_mounted = !below.components().any(|part| part == Component::ParentDir);
        let below = if is_mounted { below } else { Path::new("") };
        let top = root.join(point.trim_start_matches('/'));
        let levels = below.ancestors().filter_map(|level| limit_at(&top.join(level), files));
        levels.min_by_key(|free| free.bytes)
    };
    mounts.lines().filter_map(limit).min_by_key(|free| free.bytes)
}

fn limit_at(group: &Path, [max, high, usage, inactive, active]: [&str; 5]) -> Option<Free> {
    let number = |name: &str| -> Option<(PathBuf, u64)> {
        let file = group.join(name);
        // `max` means no limit.
        let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Some((file, bytes))
    };
    let limits = [max, high].into_iter().filter_map(number);
    let (file, bytes) = limits.min_by_key(|(_, bytes)| *bytes)?;
    let usage = number(usage).map_or(0, |(_, bytes)| bytes);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = |line: &str| {
        let (name, bytes) = line.split_once(' ')?;
        [inactive, active].contains(&name).then(|| bytes.trim().parse::<u64>().ok())?
    };
    let taken = usage.saturating_sub(stat.lines().filter_map(cached).sum());
    let limit = Some(format!("{} allows {}", file.display(), shown(bytes)));
    Some(Free { bytes: bytes.saturating_sub(taken), limit })
}

#[cfg(test)]
mod tests;
