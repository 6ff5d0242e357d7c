//! The shape of a version's tiles: what was measured fastest on a device, or what is asked for.

use std::sync::LazyLock;

use gpp_kernels::kernel::{Gpu, Kernel, Loops};
use gpp_kernels::plan::Poles;
use gpp_kernels::tiling::Shape;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What was measured fastest on a device: a line of `data/tuned.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The device's name.
    pub device: String,
    /// The version's id.
    pub version: String,
    /// The poles that its kernel takes.
    #[serde(with = "PolesInFile")]
    pub poles: Poles,
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Most registers of a thread.
    pub max_registers: Option<u32>,
}

/// [`Poles`] as `data/tuned.json` has them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Poles", rename_all = "lowercase")]
enum PolesInFile {
    Any,
    Real,
    #[serde(skip)]
    Unread,
}

/// Shapes measured by `gpp tune`.
pub static TUNED: LazyLock<Vec<Tuned>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../data/tuned.json"))
        .expect("a test reads data/tuned.json")
});

/// What a user asks for instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// G′ of a thread in a version that has other shapes, instead of the tuned number.
    pub tile: Option<u32>,
    /// Warps of a block in such a version.
    pub warps: Option<u32>,
    /// Most registers of a thread in such a version.
    pub registers: Option<u32>,
}

/// The shapes of a version's kernels for these poles.
pub fn shapes(version: &Gpu, poles: Poles) -> impl Iterator<Item = &'static Kernel> + use<> {
    version.shapes.iter().filter(move |kernel| kernel.poles == poles)
}

/// The shape of a kernel's tiles.
pub fn shape(kernel: &Kernel) -> Option<Shape> {
    match kernel.loops {
        Loops::Tiled(shape) => Some(shape),
        _ => None,
    }
}

/// `version` with this kernel and no other, and with this cap on its registers.
pub fn with(version: &Gpu, kernel: &Kernel, max_registers: Option<u32>) -> &'static Gpu {
    let &Gpu { version, beyond, shapes, .. } = version;
    // A handful in the life of the program; versions are static everywhere.
    let kernels = Box::leak(Box::new([Kernel { max_registers, ..*kernel }]));
    Box::leak(Box::new(Gpu { version, kernels, beyond, shapes }))
}

/// `kernel` in the shape for a device and these poles, where it has others than its own.
///
/// # Errors
/// [`Error::UnknownName`] for a shape without kernels.
pub fn shaped(
    kernel: super::Kernel,
    device: &str,
    poles: Poles,
    overrides: Overrides,
) -> Result<super::Kernel> {
    match kernel {
        super::Kernel::Gpu(gpu) => {
            shaped_gpu(gpu, device, poles, overrides).map(super::Kernel::Gpu)
        }
        super::Kernel::Cpu(_) => Ok(kernel),
    }
}

fn shaped_gpu(
    version: &'static Gpu,
    device: &str,
    poles: Poles,
    overrides: Overrides,
) -> Result<&'static Gpu> {
    let &Kernel { max_registers, .. } = version.kernel(poles);
    let Some(own) = shape(version.kernel(poles)).filter(|_| !version.shapes.is_empty()) else {
        return Ok(version);
    };
    let is_for = |tuned: &&Tuned| {
        (&*tuned.device, &*tuned.version, tuned.poles) == (device, version.id(), poles)
    };
    let tuned = TUNED.iter().find(is_for);
    let (picked, registers) = tuned.map_or((own, max_registers), |tuned| {
        (Shape { tile: tuned.tile, warps: tuned.warps }, tuned.max_registers)
    });
    let picked = Shape {
        tile: overrides.tile.unwrap_or(picked.tile),
        warps: overrides.warps.unwrap_or(picked.warps),
    };
    let registers = overrides.registers.or(registers);
    if (picked, registers) == (own, max_registers) {
        return Ok(version);
    }
    let text = |shape: Shape| format!("{} × {} warps", shape.tile, shape.warps);
    let kernel = shapes(version, poles).find(|kernel| shape(kernel) == Some(picked));
    let kernel = kernel.ok_or_else(|| {
        let known: Vec<String> = shapes(version, poles).filter_map(shape).map(text).collect();
        Error::unknown("tile", &text(picked), known.iter().map(String::as_str))
    })?;
    Ok(with(version, kernel, registers))
}
