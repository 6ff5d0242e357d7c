//! Why warps wait: the profiler's reasons and what they mean.

/// Reasons to wait, and what for.
pub const REASONS: [(&str, &str); 15] = [
    ("long_scoreboard", "loads from L1, L2 or memory"),
    ("wait", "their own previous instruction"),
    ("math_pipe_throttle", "a busy math pipe"),
    ("short_scoreboard", "shared memory or a first approximation"),
    ("dispatch_stall", "the dispatcher"),
    ("branch_resolving", "the target of a branch"),
    ("barrier", "other warps of the block"),
    ("lg_throttle", "room in the queue to L1"),
    ("mio_throttle", "room in the queue to shared memory"),
    ("tex_throttle", "room in the queue to the texture unit"),
    ("imc_miss", "constant memory"),
    ("no_instruction", "the next instruction"),
    ("drain", "their last stores"),
    ("membar", "a memory barrier"),
    ("sleeping", "the end of a sleep"),
];

/// What a warp does that waits for nothing.
pub const ELIGIBLE: [(&str, &str); 2] =
    [("selected", "it issues"), ("not_selected", "it could issue, and another does")];

/// What a reason means; the profiler's own name where it is not known.
pub fn meaning(reason: &str) -> String {
    let known = REASONS.iter().chain(&ELIGIBLE).find(|(name, _)| *name == reason);
    known.map_or_else(|| reason.replace('_', " "), |(_, meaning)| (*meaning).into())
}
