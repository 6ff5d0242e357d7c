//! A GPU, through its driver.

mod ceilings;
mod driver;

use std::borrow::Cow;

use cudarc::driver::sys::{CUdevice_attribute, CUfunction_attribute};
use gpp_kernels::reduce::{self, VALUES};
use gpp_kernels::registry::{Layout, VERSIONS, Version};
use gpp_kernels::target::WARP;

use super::{Device, DeviceInfo, KernelInfo, Loaded};
use crate::error::{Error, Result};
use crate::problem::{Header, Problem, Sums};
use driver::{Argument, Buffer, Context, Event, Function, Module};

/// The kernels as PTX; empty where the build found no compiler for them.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/gpp.ptx"));

/// Why there are no kernels in this build, where there are none.
pub const NO_KERNELS: Option<&str> = option_env!("GPP_NO_KERNELS");

/// The kernels to load: those in the program, or those of the file that `GPP_PTX` names.
///
/// # Errors
/// [`Error::Data`] for a file that cannot be read.
pub fn ptx() -> Result<Cow<'static, str>> {
    let Some(path) = std::env::var_os("GPP_PTX") else { return Ok(PTX.into()) };
    let text = std::fs::read_to_string(&path).map_err(|e| Error::Data {
        origin: path.to_string_lossy().into_owned(),
        what: format!("named by GPP_PTX, cannot be read: {e}"),
    })?;
    Ok(text.into())
}

/// A GPU with the kernels loaded.
pub struct Gpu {
    module: Module,
    info: DeviceInfo,
    /// Last, so that it is released last.
    context: Context,
}

impl Gpu {
    /// Opens GPU `index` and loads the kernels.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without kernels, driver or device; [`Error::Driver`] where the driver
    /// refuses the kernels, with its log.
    pub fn open(index: usize) -> Result<Gpu> {
        let count = driver::devices()?;
        if let Some(why) = NO_KERNELS {
            return Err(Error::NoGpu { why: why.into() });
        }
        if index >= count {
            let last = count - 1;
            return Err(Error::NoGpu {
                why: format!("gpu:{index} was asked for, the last one is gpu:{last}"),
            });
        }
        let context = Context::open(index)?;
        let module = context.module(&ptx()?)?;
        let version = context.driver_version()?;
        let major = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let info = DeviceInfo {
            id: format!("gpu:{index}"),
            name: context.name()?,
            driver: Some(format!("CUDA {}.{}", version / 1000, version % 1000 / 10)),
            compute_capability: Some(format!("{major}.{minor}")),
            multiprocessors: context
                .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            clock_mhz: Some(context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? / 1000),
            memory_bytes: context.memory()?.1,
        };
        Ok(Gpu { module, info, context })
    }

    fn function(&self, version: &Version, nw: usize) -> Result<Function> {
        let body = version.body(nw).expect("the registry has a body for every number of energies");
        self.module.function(body.symbol)
    }
}

use CUdevice_attribute as Attribute;

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, version: &Version, nw: usize) -> Result<KernelInfo> {
        let function = self.function(version, nw)?;
        let attribute = |attribute| function.attribute(attribute).map(Some);
        let blocks = function.blocks_per_multiprocessor(version.threads)?;
        Ok(KernelInfo {
            symbol: version.body(nw).map(|body| body.symbol.into()).unwrap_or_default(),
            registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            shared_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            warps_per_sm: Some(blocks * version.threads / WARP),
        })
    }

    fn load<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Loaded + 'a>> {
        let Header { nbands, ngpown, ncouls, .. } = problem.header;
        let nw = problem.nw();
        let most_blocks = VERSIONS
            .iter()
            .map(|version| version.blocks(nbands, ngpown, ncouls))
            .max()
            .unwrap_or_default();
        let partials = most_blocks as usize * nw * VALUES * size_of::<f64>();

        let both_layouts = size_of_val(&problem.aqsm_local[..]) + size_of_val(&problem.wx[..]);
        let needed = problem.bytes() + (both_layouts + partials) as u64;
        let (free, _) = self.context.memory()?;
        if needed > free {
            return Err(Error::Memory {
                place: "device",
                what: problem.name.clone(),
                needed,
                free,
            });
        }

        let context = &self.context;
        let layout = |layout| -> Result<[Buffer; 2]> {
            let arrays = problem.reordered(layout);
            Ok([
                context.upload("aqsm_local", &arrays.aqsm_local)?,
                context.upload("wx", &arrays.wx)?,
            ])
        };
        Ok(Box::new(OnGpu {
            gpu: self,
            problem,
            wtilde: context.upload("wtilde", &problem.wtilde)?,
            eps: context.upload("eps", &problem.eps)?,
            aqsn: context.upload("aqsn", &problem.aqsn)?,
            original: layout(Layout::Original)?,
            swapped: layout(Layout::Swapped)?,
            vcoul_loc: context.upload("vcoul_loc", &problem.vcoul_loc)?,
            occ: context.upload("occ", &problem.occ)?,
            partials: context.buffer("partial sums", partials)?,
            sums: context.buffer("sums", nw * VALUES * size_of::<f64>())?,
            second_stage: self.module.function(reduce::SYMBOL)?,
            begin: context.event()?,
            end: context.event()?,
        }))
    }
}

struct OnGpu<'a> {
    gpu: &'a Gpu,
    problem: &'a Problem,
    wtilde: Buffer,
    eps: Buffer,
    aqsn: Buffer,
    /// `aqsm_local` and `wx` in either order.
    original: [Buffer; 2],
    swapped: [Buffer; 2],
    vcoul_loc: Buffer,
    occ: Buffer,
    partials: Buffer,
    sums: Buffer,
    second_stage: Function,
    begin: Event,
    end: Event,
}

impl OnGpu<'_> {
    /// The parameters of a version's kernel, in its order; `iw` is the first energy of the launch.
    fn arguments(&self, version: &Version, iw: u32) -> [Argument; 16] {
        let [aqsm_local, wx] = match version.layout {
            Layout::Original => &self.original,
            Layout::Swapped => &self.swapped,
        };
        let Header { nbands, ngpown, ncouls, .. } = self.problem.header;
        let limits = self.problem.limits();
        let count = |n: usize| Argument::Count(n as u32);
        [
            self.wtilde.argument(),
            self.eps.argument(),
            self.aqsn.argument(),
            aqsm_local.argument(),
            wx.argument(),
            self.vcoul_loc.argument(),
            self.occ.argument(),
            self.partials.argument(),
            count(nbands),
            count(ngpown),
            count(ncouls),
            count(self.problem.nw()),
            Argument::Count(iw),
            Argument::Number(limits.limittwo),
            Argument::Number(limits.limitone),
            Argument::Number(limits.sexcut),
        ]
    }
}

impl Loaded for OnGpu<'_> {
    fn run(&mut self, version: &Version) -> Result<(Sums, f64)> {
        let Header { nbands, ngpown, ncouls, .. } = self.problem.header;
        let nw = self.problem.nw();
        let function = self.gpu.function(version, nw)?;
        let blocks = version.blocks(nbands, ngpown, ncouls);
        let values = nw * VALUES;
        // What a kernel fails to write is NaN, which no comparison passes.
        self.partials.poison()?;
        self.sums.poison()?;

        self.begin.record()?;
        for iw in version.launches(nw) {
            // SAFETY: the parameters are those of the entry, whose arrays were uploaded whole in
            // the version's layout; `partials` holds all blocks of the largest grid for all values.
            unsafe {
                function.launch(blocks, version.threads, &self.arguments(version, iw))?;
            }
        }
        // SAFETY: the second stage's parameters; one block for each value of `sums`.
        unsafe {
            self.second_stage.launch(
                values as u32,
                reduce::THREADS,
                &[self.partials.argument(), Argument::Count(blocks), self.sums.argument()],
            )?;
        }
        self.end.record()?;
        let seconds = self.end.seconds_since(&self.begin, version.id)?;
        Ok((Sums::from_values(&self.sums.download(values)?), seconds))
    }
}
