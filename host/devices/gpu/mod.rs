//! A GPU, through its driver.

mod argument;
pub mod ceilings;
pub mod driver;
mod modules;
pub mod ptx;
pub mod yardstick;

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::Pod;
use gpp_kernels::plan::TABLE_SYMBOL;
use gpp_kernels::reduce::{self, VALUES};
use gpp_kernels::registry::{Body, Layout, Poles, VERSIONS, Version};
use gpp_kernels::target::WARP;
use gpp_kernels::tiles::candidates::CANDIDATES;
use num_complex::Complex64;

use super::{Device, DeviceInfo, KernelInfo, Loaded};
use crate::error::{Error, Result};
use crate::experiments::measure::body;
use crate::problem::plan::Odd;
use crate::problem::{Header, Planned, Problem, Reordered, Sums};
use crate::process::startup;
use argument::Argument;
use driver::{
    Buffer, Context, DeviceAttribute, Event, FunctionAttribute, Module, Stream, driver_version,
};
use modules::Modules;
use ptx::Ptx;

/// The kernels as PTX; empty where the build found no compiler for them.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/gpp.ptx"));

/// Why there are no kernels in this build, where there are none.
pub const NO_KERNELS: Option<&str> = option_env!("GPP_NO_KERNELS");

/// The compiler that built the kernels in the program: `rustc 1.96.0, LLVM 22.1.8`.
pub const KERNELS_BY: Option<&str> = option_env!("GPP_KERNELS_BY");

/// The kernels to load: those in the program, or those of the file that `GPP_PTX` names.
///
/// # Errors
/// [`Error::Data`] for a file that cannot be read.
pub fn kernels() -> Result<Ptx> {
    let Some(path) = std::env::var_os("GPP_PTX") else { return Ok(Ptx::new(PTX)) };
    let text = std::fs::read_to_string(&path).map_err(|e| Error::Data {
        origin: path.to_string_lossy().into_owned(),
        what: format!("named by GPP_PTX, cannot be read: {e}"),
    })?;
    Ok(Ptx::new(text))
}

/// A GPU, which loads each kernel when it is first asked for. Threads may share it.
pub struct Gpu {
    modules: Modules,
    info: DeviceInfo,
    context: Context,
}

const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<Gpu>();
    any_thread::<OnGpu>();
};

impl Gpu {
    /// Opens GPU `index`.
    ///
    /// # Errors
    /// [`Error::NoGpu`] without kernels, driver or device; [`Error::Driver`].
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
        let major = context.attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = context.attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        let info = DeviceInfo {
            id: format!("gpu:{index}"),
            name: context.name()?,
            driver: Some(format!("CUDA {}", driver_version()?)),
            compute_capability: Some(format!("{major}.{minor}")),
            multiprocessors: context.attribute(DeviceAttribute::MultiprocessorCount)?,
            clock_mhz: Some(context.attribute(DeviceAttribute::ClockRate)? / 1000),
            memory_bytes: context.memory()?.1,
        };
        Ok(Gpu { modules: Modules::new(kernels()?, context.clone()), info, context })
    }

    /// The module of a kernel that has no cap but the build's.
    fn module(&self, symbol: &str) -> Result<Arc<Module>> {
        self.modules.get(symbol, None)
    }

    /// The module of one of a version's kernels.
    fn module_of(&self, version: &Version, body: &Body) -> Result<Arc<Module>> {
        let most_registers = version.launch_of(body).max_registers;
        self.modules.get(body.symbol, most_registers)
    }
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, version: &Version, body: &Body) -> Result<KernelInfo> {
        let module = self.module_of(version, body)?;
        let function = module.function(body.symbol)?;
        let threads = version.launch_of(body).threads;
        let attribute = |attribute| function.attribute(attribute).map(Some);
        let blocks = function.blocks_per_multiprocessor(threads)?;
        Ok(KernelInfo {
            symbol: body.symbol.into(),
            registers: attribute(FunctionAttribute::NumRegisters)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            warps_per_sm: Some(blocks * threads / WARP),
        })
    }

    fn prepare(&self, version: &Version, body: &Body) {
        self.modules.want(body.symbol, version.launch_of(body).max_registers);
    }

    fn load<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Loaded + 'a>> {
        Ok(Box::new(self.place(problem)?))
    }
}

impl Gpu {
    /// As [`Device::load`].
    fn place<'a>(&'a self, problem: &'a Problem) -> Result<OnGpu<'a>> {
        let plan = problem.plan();
        let nw = problem.nw();
        let candidates = CANDIDATES.iter().map(|candidate| {
            let version = candidate.of(Version::best(), None);
            version.blocks(plan.extents(&problem.header, &version), candidate.poles)
        });
        let most_blocks = VERSIONS
            .iter()
            .map(|version| plan.running(version))
            .map(|version| version.blocks(plan.extents(&problem.header, &version), plan.poles))
            .chain(candidates)
            .max()
            .unwrap_or_default();
        let partials = most_blocks as usize * nw * VALUES;

        let planned_arrays = problem.reordered(Layout::Planned, &plan);
        let swapped = size_of_val(&problem.aqsm_local[..]) + size_of_val(&problem.wx[..]);
        let reordered = if plan.keeps_order() {
            0
        } else {
            size_of_val(&problem.aqsn[..]) + size_of_val(&problem.occ[..])
        };
        let planned = reordered
            + size_of_val(&planned_arrays.aqsm_local[..])
            + size_of_val(&planned_arrays.wx[..]);
        let odd = [Poles::Any, Poles::Real].map(|takes| {
            let odd = plan.odd(takes);
            size_of_val(&odd.mask[..]) + size_of_val(&odd.pairs[..])
        });
        let planned = planned + odd[0] + odd[1];
        let needed = problem.bytes() + (swapped + planned + partials * size_of::<f64>()) as u64;
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
        let stream = context.stream("the calculation")?;
        let to = Destination { context, stream: &stream };
        let original = BandArrays::upload(to, problem.reordered(Layout::Original, &plan), None)?;
        let swapped = problem.reordered(Layout::Swapped, &plan);
        let swapped = BandArrays::upload(to, swapped, Some(&original))?;
        let planned = BandArrays::upload(to, planned_arrays, Some(&original))?;
        Ok(OnGpu {
            gpu: self,
            problem,
            wtilde: to.upload("wtilde", &problem.wtilde)?,
            eps: to.upload("eps", &problem.eps)?,
            original,
            swapped,
            planned,
            vcoul_loc: to.upload("vcoul_loc", &problem.vcoul_loc)?,
            odd: OddPoles::upload(to, plan.odd(Poles::Any))?,
            odd_if_real: OddPoles::upload(to, plan.odd(Poles::Real))?,
            partials: context.buffer("partial sums", partials)?,
            sums: context.buffer("sums", nw * VALUES)?,
            begin: context.event()?,
            end: context.event()?,
            stream,
            plan,
        })
    }
}

/// Where uploads go.
#[derive(Clone, Copy)]
struct Destination<'a> {
    context: &'a Context,
    stream: &'a Stream,
}

impl Destination<'_> {
    fn upload<T: Pod>(self, what: &'static str, values: &[T]) -> Result<Buffer<T>> {
        self.context.upload(what, values, self.stream)
    }
}

/// The arrays that depend on the band, in one of the orders; what two orders share is there once.
struct BandArrays {
    aqsn: Arc<Buffer<Complex64>>,
    aqsm_local: Arc<Buffer<Complex64>>,
    wx: Arc<Buffer<f64>>,
    occ: Arc<Buffer<f64>>,
}

impl BandArrays {
    /// Uploads what is not borrowed from the problem, and so in its order, or everything.
    fn upload(
        to: Destination,
        arrays: Reordered,
        original: Option<&BandArrays>,
    ) -> Result<BandArrays> {
        fn upload<T: Pod>(
            to: Destination,
            what: &'static str,
            array: Cow<[T]>,
            original: Option<&Arc<Buffer<T>>>,
        ) -> Result<Arc<Buffer<T>>> {
            match (&array, original) {
                (Cow::Borrowed(_), Some(buffer)) => Ok(buffer.clone()),
                _ => Ok(to.upload(what, &array)?.into()),
            }
        }
        Ok(BandArrays {
            aqsn: upload(to, "aqsn", arrays.aqsn, original.map(|o| &o.aqsn))?,
            aqsm_local: upload(
                to,
                "aqsm_local",
                arrays.aqsm_local,
                original.map(|o| &o.aqsm_local),
            )?,
            wx: upload(to, "wx", arrays.wx, original.map(|o| &o.wx))?,
            occ: upload(to, "occ", arrays.occ, original.map(|o| &o.occ))?,
        })
    }
}

/// The odd poles of one kind of kernels.
struct OddPoles {
    mask: Buffer<u32>,
    pairs: Buffer<u32>,
    count: usize,
}

impl OddPoles {
    fn upload(to: Destination, odd: &Odd) -> Result<OddPoles> {
        Ok(OddPoles {
            mask: to.upload("mask of odd poles", &odd.mask)?,
            pairs: to.upload("odd pairs", &odd.pairs)?,
            count: odd.pairs.len(),
        })
    }
}

struct OnGpu<'a> {
    gpu: &'a Gpu,
    problem: &'a Problem,
    plan: Planned,
    wtilde: Buffer<Complex64>,
    eps: Buffer<Complex64>,
    original: BandArrays,
    swapped: BandArrays,
    planned: BandArrays,
    vcoul_loc: Buffer<f64>,
    odd: OddPoles,
    odd_if_real: OddPoles,
    partials: Buffer<f64>,
    sums: Buffer<f64>,
    stream: Stream,
    begin: Event,
    end: Event,
}

impl OnGpu<'_> {
    /// The parameters of a version's kernel, in its order; `iw` is the first energy of the launch.
    fn arguments(&self, version: &Version, iw: u32) -> Vec<Argument> {
        let bands = match version.layout {
            Layout::Original => &self.original,
            Layout::Swapped => &self.swapped,
            Layout::Planned => &self.planned,
        };
        let Header { nbands, ngpown, ncouls, .. } = self.problem.header;
        let limits = self.problem.limits();
        let count = |n: usize| Argument::Count(n as u32);
        let mut arguments = vec![
            Argument::memory(&self.wtilde),
            Argument::memory(&self.eps),
            Argument::memory(&bands.aqsn),
            Argument::memory(&bands.aqsm_local),
            Argument::memory(&bands.wx),
            Argument::memory(&self.vcoul_loc),
            Argument::memory(&bands.occ),
            Argument::memory(&self.partials),
            count(nbands),
            count(ngpown),
            count(ncouls),
            count(self.problem.nw()),
            Argument::Count(iw),
            Argument::Number(limits.limittwo),
            Argument::Number(limits.limitone),
            Argument::Number(limits.sexcut),
        ];
        if version.layout == Layout::Planned {
            let table = &self.plan.table;
            let odd = match version.takes(self.plan.poles) {
                Poles::Any => &self.odd,
                Poles::Real => &self.odd_if_real,
            };
            arguments.extend([
                count(self.plan.plain),
                count(self.plan.occupied),
                count(self.plan.far),
                Argument::memory(&odd.mask),
                Argument::memory(&odd.pairs),
                count(odd.count),
                Argument::Number(table.half),
                Argument::Number(table.square()),
            ]);
        }
        arguments
    }
}

impl Loaded for OnGpu<'_> {
    fn plan(&self) -> &Planned {
        &self.plan
    }

    fn run(&mut self, version: &Version) -> Result<(Sums, f64)> {
        let version = &self.plan.running(version);
        let module = self.gpu.module_of(version, body(version, self.problem, &self.plan))?;
        let second_stage = self.gpu.module(reduce::SYMBOL)?;
        self.run_of(&module, &second_stage, version, str::to_string)
    }
}

impl OnGpu<'_> {
    /// One calculation by the kernels of `module` and the second stage of another, which have the
    /// entries of ours under the names that `symbol` gives them.
    fn run_of(
        &mut self,
        module: &Module,
        second_stage: &Module,
        version: &Version,
        symbol: fn(&str) -> String,
    ) -> Result<(Sums, f64)> {
        let nw = self.problem.nw();
        let body = body(version, self.problem, &self.plan);
        let function = module.function(&symbol(body.symbol))?;
        let second_stage = second_stage.function(&symbol(reduce::SYMBOL))?;
        let poles = self.plan.poles;
        let threads = version.of(poles).threads;
        let blocks = version.blocks(self.plan.extents(&self.problem.header, version), poles);
        let values = nw * VALUES;
        let stream = &self.stream;
        // What a kernel fails to write is NaN, which no comparison passes.
        self.partials.poison(stream)?;
        self.sums.poison(stream)?;

        if version.beyond.is_some() {
            function.set(TABLE_SYMBOL, &self.plan.table.wx, stream)?;
        }

        self.gpu.modules.finish();
        startup::launched();
        self.begin.record(stream)?;
        for iw in version.launches(nw) {
            // SAFETY: the parameters are those of the entry, whose arrays were uploaded whole in
            // the version's layout; `partials` holds all blocks of the largest grid for all values.
            unsafe {
                let arguments = self.arguments(version, iw);
                function.launch(stream, blocks, threads, &Argument::pointers(&arguments))?;
            }
        }
        let arguments = [
            Argument::memory(&self.partials),
            Argument::Count(blocks),
            Argument::memory(&self.sums),
        ];
        // SAFETY: the second stage's parameters; one block for each value of `sums`.
        unsafe {
            let (blocks, arguments) = (values as u32, Argument::pointers(&arguments));
            second_stage.launch(stream, blocks, reduce::THREADS, &arguments)?;
        }
        self.end.record(stream)?;
        self.gpu.modules.begin();
        let seconds = self.end.seconds_since(&self.begin, version.id)?;
        Ok((Sums::from_values(&self.sums.download(values, stream)?), seconds))
    }
}
