//! The baseline: v0 to v8 in CUDA C++ (`benches/cuda/gpp.cu`), compiled here and now by nvcc and
//! run on the same arrays, with the same launch shapes, in the same process as ours.

use std::path::Path;
use std::process::Command;

use gpp_kernels::kernel;
use gpp_kernels::versions::PAPER;

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::Module;
use crate::devices::gpu::modules::Functions;
use crate::devices::gpu::worker::{Lane, OnGpu};
use crate::devices::{Device, SlabSums, Worker};
use crate::error::{Error, Result};
use crate::problem::Problem;

const SOURCE: &str = include_str!("../../../../benches/cuda/gpp.cu");

pub struct CudaKernels {
    module: Module,
    device: String,
    /// What nvcc says of its version.
    pub compiler: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Rust,
    Cuda,
}

impl Gpu {
    /// Compiles the kernels in CUDA C++ for this device and loads them.
    pub fn cuda_kernels(&self, nvcc: &Path) -> Result<CudaKernels> {
        let failed = |what: String| Error::Compiler { what };
        let missing = |e: std::io::Error| {
            failed(format!(
                "{} cannot be run ({e}): install the CUDA toolkit or name its nvcc with --compiler",
                nvcc.display()
            ))
        };
        let version = Command::new(nvcc).arg("--version").output().map_err(missing)?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let release = version.lines().find_map(|line| line.split("release ").nth(1));
        let release = release.and_then(|rest| rest.split(',').next()).unwrap_or("unknown");

        let folder = tempfile::tempdir().map_err(|e| failed(format!("no room: {e}")))?;
        let (source, image) = (folder.path().join("gpp.cu"), folder.path().join("gpp.cubin"));
        std::fs::write(&source, SOURCE).map_err(|e| failed(format!("no room: {e}")))?;
        let capability = self.info().compute_capability.as_deref().unwrap_or_default();
        let output = Command::new(nvcc)
            .args(["-O3", "-cubin", "-lineinfo"])
            .arg(format!("-arch=sm_{}", capability.replace('.', "")))
            .arg("-o")
            .args([&image, &source])
            .output()
            .map_err(missing)?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let first = errors.lines().find(|line| line.contains("error"));
            return Err(failed(format!("nvcc: {}", first.unwrap_or("failed"))));
        }
        let image = std::fs::read(&image).map_err(|e| failed(format!("nvcc wrote none: {e}")))?;
        // SAFETY: a cubin that nvcc wrote whole.
        let module = unsafe { self.context.image(&image)? };
        Ok(CudaKernels {
            module,
            device: self.info.id.clone(),
            compiler: format!("nvcc {release}"),
        })
    }

    /// Someone to sum a problem by either side.
    ///
    /// # Panics
    /// For kernels on another GPU.
    pub fn both<'a>(&'a self, problem: &'a Problem, cuda: &'a CudaKernels) -> Result<OnBoth<'a>> {
        assert_eq!(cuda.device, self.info.id, "the kernels are on this GPU");
        let lane = Lane::new(&self.context)?;
        Ok(OnBoth { problem, worker: OnGpu::new(self, problem, lane), cuda })
    }
}

/// A problem that both sides sum, on the same arrays.
pub struct OnBoth<'a> {
    problem: &'a Problem,
    worker: OnGpu<'a>,
    cuda: &'a CudaKernels,
}

/// The name in CUDA C++ of one of our kernels.
fn name(symbol: &str) -> String {
    symbol.replacen("gpp_", "cuda_", 1)
}

impl OnBoth<'_> {
    /// Whether CUDA C++ has this version: it has the paper's.
    pub fn has(version: &kernel::Gpu) -> bool {
        PAPER.iter().any(|own| own.id() == version.id())
    }

    /// One calculation on the whole problem by one side.
    ///
    /// # Panics
    /// For a problem of more energies than the version holds.
    pub fn sum(&mut self, side: Side, version: &kernel::Gpu) -> Result<SlabSums> {
        let batches = self.problem.batches(version.kernel(self.problem.poles()).holds());
        assert_eq!(batches.count(), 1, "both sides have kernels for a few energies");
        let (batch, slab) = (batches.first(), self.problem.slab());
        match side {
            Side::Rust => self.worker.begin_by_own(slab, &batch, version)?,
            Side::Cuda => {
                let module = &self.cuda.module;
                let functions =
                    Functions { kernel: module, table: None, second_stage: module, symbol: name };
                self.worker.begin_by(slab, &batch, version, &functions)?;
            }
        }
        self.worker.finish()
    }
}
