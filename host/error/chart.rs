//! What keeps a chart from being drawn.

/// A chart that cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChartError {
    /// The drawing library gave up.
    #[error("{0}")]
    Drawing(String),

    /// A name has no place.
    #[error("no room for the name `{name}`")]
    NoRoom {
        /// The name.
        name: String,
    },

    /// A dot has no place on a chart with logarithmic axes.
    #[error("{version} has no {level} point: {intensity} FLOP/byte, {flops_per_s} FLOP/s")]
    NoPoint {
        /// The version's id.
        version: String,
        /// The level of the memory hierarchy.
        level: &'static str,
        /// Operations for each byte.
        intensity: f64,
        /// Operations a second.
        flops_per_s: f64,
    },

    /// An axis that reaches farther than anything that is measured.
    #[error("an axis from {from:e} to {to:e}, and {MOST_DECADES} powers of ten have room")]
    Axis {
        /// Its begin.
        from: f64,
        /// Its end.
        to: f64,
    },
}

/// Powers of ten that an axis has room for.
pub const MOST_DECADES: f64 = 24.0;
