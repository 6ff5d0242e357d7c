//! What a kernel may spill.

/// Register spills that the tests let an entry have, with room for another compiler's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spills {
    /// Loads and stores of local memory in one pass of an innermost loop of FP64 arithmetic: these
    /// cost time.
    pub in_loop: u32,
    /// Bytes in the whole entry, most of which run once: more means that it has changed.
    pub bytes: u32,
}

impl Spills {
    /// None in a loop, but for the few that the tests let pass anywhere.
    pub const OUTSIDE: Spills = Spills { in_loop: 0, bytes: 192 };
}
