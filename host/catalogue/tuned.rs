//! The shape of the best version's tiles: what was measured fastest on a device, or what is asked for.

use std::sync::LazyLock;

use gpp_kernels::registry::{Launch, Loops, Poles, Version};
use gpp_kernels::tiles::Shape;
use gpp_kernels::tiles::candidates::{CANDIDATES, Candidate};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What was measured fastest on a device: a line of `data/tuned.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The device's name.
    pub device: String,
    /// `real` or `any`.
    pub poles: String,
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Most registers of a thread.
    pub max_registers: Option<u32>,
}

/// Shapes measured by `gpp tune`.
pub static TUNED: LazyLock<Vec<Tuned>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/tuned.json"))
        .expect("a test reads data/tuned.json")
});

/// What a user asks for instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Overrides {
    /// G′ of a thread in the best version, instead of the tuned number
    #[arg(long, value_name = "N")]
    pub tile: Option<u32>,

    /// Warps of a block in the best version
    #[arg(long, value_name = "N")]
    pub warps: Option<u32>,

    /// Most registers of a thread in the best version
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(32..=255))]
    pub registers: Option<u32>,
}

/// The name of poles in `data/tuned.json`.
pub fn name(poles: Poles) -> &'static str {
    match poles {
        Poles::Real => "real",
        Poles::Any => "any",
    }
}

/// The candidates for these poles.
pub fn candidates(poles: Poles) -> impl Iterator<Item = &'static Candidate> {
    CANDIDATES.iter().filter(move |candidate| candidate.poles == poles)
}

/// `version` in the shape for a device and these poles; only the best version has others than its
/// own.
///
/// # Errors
/// [`Error::UnknownName`] for a shape without kernels.
pub fn shaped(
    version: &'static Version,
    device: &str,
    poles: Poles,
    overrides: Overrides,
) -> Result<&'static Version> {
    if version.id != Version::best().id {
        return Ok(version);
    }
    let Launch { loops: Loops::Tiled(own), max_registers, .. } = version.of(poles) else {
        return Ok(version);
    };
    let tuned = TUNED.iter().find(|t| t.device == device && t.poles == name(poles));
    let (shape, registers) = tuned.map_or((own, max_registers), |tuned| {
        (Shape { tile: tuned.tile, warps: tuned.warps }, tuned.max_registers)
    });
    let shape = Shape {
        tile: overrides.tile.unwrap_or(shape.tile),
        warps: overrides.warps.unwrap_or(shape.warps),
    };
    let registers = overrides.registers.or(registers);
    if (shape, registers) == (own, max_registers) {
        return Ok(version);
    }
    let text = |shape: Shape| format!("{} × {} warps", shape.tile, shape.warps);
    let candidate = candidates(poles).find(|candidate| candidate.shape == shape);
    let candidate = candidate.ok_or_else(|| {
        let known: Vec<String> = candidates(poles).map(|c| text(c.shape)).collect();
        Error::unknown("tile", &text(shape), known.iter().map(String::as_str))
    })?;
    // A handful in the life of the program; versions are static everywhere.
    Ok(Box::leak(Box::new(candidate.of(version, registers))))
}
