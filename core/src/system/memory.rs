//! The host's memory: what of it is free to this process.

use bytemuck::{Zeroable, allocation};

use super::cgroup;
use crate::error::{Error, Result, mib};

/// Memory that is free, and what bounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// Bytes.
    pub bytes: u64,
    /// Whose limit leaves no more: of a control group or of a flag; none where it is the machine's memory.
    pub limit: Option<String>,
}

impl Free {
    /// The less of this and another one.
    #[must_use]
    pub fn or_less(self, other: Free) -> Free {
        if other.bytes < self.bytes { other } else { self }
    }

    /// Fails where less than `needed` bytes are free.
    ///
    /// # Errors
    /// [`Error::Memory`], which names the limit.
    pub fn require(&self, what: &str, needed: u64) -> Result<()> {
        if needed <= self.bytes {
            return Ok(());
        }
        let (free, limit) = (self.bytes, self.limit.clone());
        Err(Error::Memory { place: "host", what: what.into(), needed, free, limit })
    }
}

/// Host memory that is free, in the control groups of this process too; nothing where the system does not tell.
pub fn free() -> Option<Free> {
    use sysinfo::{MemoryRefreshKind, RefreshKind, System};
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let of_machine = System::new_with_specifics(kind).ok().map(|system| system.available_memory());
    let of_machine = of_machine.map(|bytes| Free { bytes, limit: None });
    let of_group = cgroup::tightest().map(|limit| Free {
        bytes: limit.free,
        limit: Some(format!("{} allows {}", limit.file.display(), mib(limit.bytes))),
    });
    match (of_machine, of_group) {
        (Some(machine), Some(group)) => Some(machine.or_less(group)),
        (machine, group) => machine.or(group),
    }
}

/// Bytes from which on free memory is looked at: less is found anywhere, and the look takes longer than a small
/// calculation.
const LOOKED_AT: u64 = 16 << 20;

/// Fails if less than `needed` bytes of host memory are free, or if the system refuses them to this process.
///
/// # Errors
/// [`Error::Memory`].
pub fn require(what: &str, needed: u64) -> Result<()> {
    // If the system does not tell, the allocation itself will.
    if needed >= LOOKED_AT
        && let Some(free) = free()
    {
        free.require(what, needed)?;
    }
    let mut room = Vec::<u8>::new();
    let granted = room.try_reserve_exact(usize::try_from(needed).unwrap_or(usize::MAX));
    // What nobody looks at would not be asked for.
    std::hint::black_box(&room);
    granted.map_err(|_| refused(what, needed))
}

/// The error of bytes that were refused.
pub(crate) fn refused(what: &str, needed: u64) -> Error {
    let Free { bytes: free, limit } = free().unwrap_or(Free { bytes: 0, limit: None });
    let limit = match needed > free {
        true => limit,
        false => Some("the system grants this process no more, as under `ulimit -v`".into()),
    };
    Error::Memory { place: "host", what: what.into(), needed, free, limit }
}

/// So many zeros for an array whose size is a caller's: the system may refuse it.
///
/// # Errors
/// [`Error::Memory`], which names the array.
pub fn zeros<T: Zeroable>(what: &str, length: usize) -> Result<Vec<T>> {
    let needed = length.saturating_mul(size_of::<T>()) as u64;
    require(what, needed)?;
    allocation::try_zeroed_vec(length).map_err(|()| refused(what, needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_an_error_with_its_name() {
        for length in [usize::MAX, usize::MAX / 32] {
            match zeros::<f64>("wx(iw,n)", length) {
                Err(Error::Memory { place: "host", what, needed, .. }) => {
                    assert_eq!((&what[..], needed), ("wx(iw,n)", length.saturating_mul(8) as u64));
                }
                other => panic!("{:?}", other.map(|all| all.len())),
            }
        }
        assert_eq!(zeros::<u32>("three", 3).unwrap(), [0; 3]);
    }
}
