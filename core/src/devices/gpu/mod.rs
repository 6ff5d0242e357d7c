//! A GPU, through its driver.

pub mod ceilings;
pub mod driver;
pub(crate) mod modules;
#[cfg(feature = "nvml")]
pub mod nvml;
pub mod resident;
mod uploads;
mod worker;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Instant;

use gpp_kernels::arguments::{Arguments, PaperArguments};
use gpp_kernels::intrinsics::WARP;
use gpp_kernels::kernel::{Entry, Kernel};
use gpp_kernels::versions;
use miniz_oxide::inflate::decompress_to_vec;
use twox_hash::XxHash64;

use crate::catalogue;
#[cfg(feature = "nvml")]
use crate::devices::gauge::Gauge;
use crate::devices::gpu::driver::{Context, DeviceAttribute, FunctionAttribute, driver_version};
use crate::devices::gpu::modules::{Loaded, Modules};
use crate::devices::gpu::uploads::{BandBuffers, PairsCache, Ring};
use crate::devices::gpu::worker::{OnGpu, SlabPointers, StreamSlot};
use crate::devices::{Device, DeviceInfo, HostWorkspace, KernelInfo, Worker, of_layouts};
use crate::error::{Error, Result};
use crate::problem::{Batch, Extents, Outline, Problem};
use crate::system::output;

/// What the kernels' PTX has in common, and the kernels by their symbols, packed; none if the build found
/// no compiler for them.
const PACKED: (&str, &[(&str, &[u8])]) = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// Why there are no kernels in this build, where there are none.
pub const NO_KERNELS: Option<&str> = option_env!("GPP_NO_KERNELS");

/// The compiler that built the kernels in the program: `rustc 1.96.0, LLVM 22.1.8`.
pub const KERNELS_BY: Option<&str> = option_env!("GPP_KERNELS_BY");

pub fn own() -> Ptx {
    Ptx::packed(PACKED.0, PACKED.1)
}

/// The kernels to load: those in the program, or those of the file that `GPP_PTX` names.
pub fn kernels() -> Result<Ptx> {
    let Some(path) = std::env::var_os("GPP_PTX") else { return Ok(own()) };
    let text = output::text(path.as_ref()).map_err(|e| Error::Input {
        origin: path.to_string_lossy().into_owned(),
        what: format!("named by GPP_PTX, cannot be read: {e}"),
    })?;
    Ok(Ptx::new(text))
}

/// What tells the code of a kernel from others', of those that [`kernels`] has: see [`Ptx::hash`].
pub fn hash(symbol: &str) -> Option<String> {
    static KERNELS: LazyLock<Option<Ptx>> = LazyLock::new(|| kernels().ok());
    KERNELS.as_ref()?.hash(symbol)
}

/// A GPU, which loads each kernel when it is first asked for. Threads may share it.
pub struct Gpu {
    pub(crate) modules: Modules,
    info: DeviceInfo,
    pub(crate) context: Context,
    /// Looked for when it is first wanted.
    #[cfg(feature = "nvml")]
    gauge: OnceLock<Option<Arc<nvml::OfNvml>>>,
}

const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<Gpu>();
    any_thread::<OnGpu>();
};

impl Gpu {
    pub fn open(index: usize) -> Result<Gpu> {
        Gpu::limited(index, None)
    }

    /// Opens GPU `index`, of whose memory no more than `most` bytes are taken for arrays.
    pub fn limited(index: usize, most: Option<u64>) -> Result<Gpu> {
        Gpu::with_kernels(index, most, kernels()?)
    }

    /// The same with other kernels of the same names and parameters.
    pub fn with_kernels(index: usize, most: Option<u64>, kernels: Ptx) -> Result<Gpu> {
        let count = Gpu::count()?;
        if index >= count {
            let last = count - 1;
            return Err(Error::NoGpu {
                why: format!("gpu:{index} was asked for, the last one is gpu:{last}"),
            });
        }
        let context = Context::open(index)?;
        let context = most.map_or(context.clone(), |most| context.limited(most));
        let major = context.attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = context.attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        let info = DeviceInfo {
            id: format!("gpu:{index}"),
            name: context.name()?,
            driver: Some(format!("CUDA {}", driver_version()?)),
            compute_capability: Some(format!("{major}.{minor}")),
            multiprocessors: context.attribute(DeviceAttribute::MultiprocessorCount)?,
            uuid: Some(context.uuid()?),
            clock_mhz: Some(context.attribute(DeviceAttribute::ClockRate)? / 1000),
            memory_bytes: context.memory()?.1,
        };
        let modules = Modules::new(kernels, context.clone());
        Ok(Gpu {
            modules,
            info,
            context,
            #[cfg(feature = "nvml")]
            gauge: OnceLock::new(),
        })
    }

    /// The same for one of so many processes that share the device: an equal part of the memory that is free when
    /// all have opened it.
    pub fn shared(self, processes: usize) -> Result<Gpu> {
        if processes < 2 {
            return Ok(self);
        }
        let (free, _) = self.context.memory()?;
        let context = self.context.clone().limited(free / processes as u64);
        Ok(Gpu { context, ..self })
    }

    pub fn count() -> Result<usize> {
        let count = driver::devices()?;
        match NO_KERNELS {
            Some(why) => Err(Error::NoGpu { why: why.into() }),
            None => Ok(count),
        }
    }

    pub fn stream(&self, what: &'static str) -> Result<driver::Stream> {
        self.context.stream(what)
    }

    fn module(&self, symbol: &str) -> Result<Arc<Loaded>> {
        if let Some((gpu, ..)) = versions::find(symbol)
            && !self.info.runs(gpu)
        {
            let has = self.info.compute_capability.as_deref().unwrap_or_default();
            let what =
                format!("has compute capability {has}, {} needs {:.1}", gpu.id(), gpu.capability);
            return Err(Error::Input { origin: self.info.id.clone(), what });
        }
        self.modules.get(symbol)
    }
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        let module = self.module(entry.symbol)?;
        let function = module.module.function(entry.symbol)?;
        let threads = kernel.threads;
        let attribute = |attribute| function.attribute(attribute).map(Some);
        let blocks = function.blocks_per_multiprocessor(threads)?;
        Ok(KernelInfo {
            symbol: entry.symbol.into(),
            registers: attribute(FunctionAttribute::NumRegisters)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            warps_per_sm: Some(blocks * threads / WARP),
        })
    }

    fn free_memory(&self) -> Result<Option<u64>> {
        Ok(Some(self.context.memory()?.0))
    }

    fn workspace(
        &self,
        problem: Outline,
        versions: &[catalogue::Kernel],
        slab: Extents,
    ) -> HostWorkspace {
        // What is laid out goes when it is uploaded. Fallback pairs stay, those of all slabs.
        let laid =
            of_layouts(problem, versions, slab).fold(HostWorkspace::default(), HostWorkspace::or);
        let bands = PairsCache::most(problem, versions) + Ring::MOST;
        laid + HostWorkspace { bands, slab: 0 }
    }

    #[cfg(feature = "nvml")]
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        let gauge =
            self.gauge.get_or_init(|| nvml::OfNvml::of(self.info.uuid.as_deref()?).map(Arc::new));
        gauge.clone().map(|gauge| gauge as Arc<dyn Gauge>)
    }

    fn prepare(&self, entry: &Entry) {
        self.modules.want(entry.symbol);
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(OnGpu::new(self, problem, StreamSlot::new(&self.context)?)))
    }
}

// PTX in parts: a module for each kernel, so that the driver compiles no more than what runs.

const ENTRY: &str = ".visible .entry ";

const SPACES: [&str; 4] = [".shared ", ".const ", ".global ", ".extern .shared "];

/// Instructions that need more than the target of the build: if a module has one, its version and target.
const NEEDED: [(&str, [&str; 2]); 4] = [
    ("cp.async.bulk.", [".version 8.0\n", ".target sm_90\n"]),
    ("mma.sync.aligned.m16n8k", [".version 8.0\n", ".target sm_90\n"]),
    ("cp.async.cg.", [".version 7.0\n", ".target sm_80\n"]),
    ("mma.sync.aligned.m8n8k4.", [".version 7.0\n", ".target sm_80\n"]),
];

/// The text of many kernels, which can be had one by one.
pub struct Ptx {
    /// What every module begins with: version, target, source files.
    head: String,
    /// Variables by name, with their declarations.
    variables: Vec<(String, String)>,
    entries: BTreeMap<String, PtxEntry>,
}

enum PtxEntry {
    Plain(String),
    Packed(&'static [u8]),
}

impl PtxEntry {
    fn text(&self) -> Cow<'_, str> {
        match self {
            PtxEntry::Plain(text) => text.into(),
            PtxEntry::Packed(packed) => {
                let text = decompress_to_vec(packed).expect("the build packed it");
                String::from_utf8(text).expect("the build packed text").into()
            }
        }
    }
}

impl Ptx {
    pub fn new(text: impl AsRef<str>) -> Ptx {
        let text = text.as_ref();
        let (mut head, mut variables, mut entries) = (String::new(), Vec::new(), BTreeMap::new());
        let mut entry: Option<(String, usize)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let lines = at..at + line.len();
            at = lines.end;
            if let Some((name, begin)) = &entry {
                if line.trim_end() == "}" {
                    entries.insert(name.clone(), PtxEntry::Plain(text[*begin..lines.end].into()));
                    entry = None;
                }
            } else if let Some(rest) = line.strip_prefix(ENTRY) {
                entry = Some((name_at_start(rest).to_string(), lines.start));
            } else if SPACES.iter().any(|space| line.starts_with(space)) {
                let name = line.split('[').next().and_then(|l| l.split_whitespace().last());
                variables.push((name.unwrap_or_default().to_string(), line.to_string()));
            } else if !line.trim_start().starts_with("//") && !line.trim().is_empty() {
                head += line;
            }
        }
        Ptx { head, variables, entries }
    }

    /// Kernels that are unpacked when they are asked for, and the text that stands outside of them.
    pub fn packed(shared: &str, kernels: &[(&str, &'static [u8])]) -> Ptx {
        let entries =
            kernels.iter().map(|&(symbol, text)| (symbol.to_string(), PtxEntry::Packed(text)));
        Ptx { entries: entries.collect(), ..Ptx::new(shared) }
    }

    /// The kernels' symbols, in alphabetical order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn module(&self, symbol: &str) -> Option<String> {
        self.entries.contains_key(symbol).then(|| self.of([symbol]))
    }

    /// 16 hexadecimal digits that tell the code of a kernel from others', of whatever name, by
    /// whichever build of the same compiler: the same for the same code only.
    pub fn hash(&self, symbol: &str) -> Option<String> {
        Some(code_hash(&self.module(symbol)?, symbol))
    }

    /// One module of some kernels, with the variables that they use.
    pub fn of<'s>(&self, symbols: impl IntoIterator<Item = &'s str>) -> String {
        let entries = symbols.into_iter().filter_map(|symbol| self.entries.get(symbol));
        let entries: Vec<Cow<str>> = entries.map(PtxEntry::text).collect();
        let needed = |needs: &&(&str, _)| entries.iter().any(|entry| entry.contains(needs.0));
        let mut module = match NEEDED.iter().find(needed) {
            Some((_, target)) => for_target(&self.head, target),
            None => self.head.clone(),
        };
        for (name, declaration) in &self.variables {
            if entries.iter().any(|entry| entry.contains(name.as_str())) {
                module += declaration;
            }
        }
        module + &entries.concat()
    }
}

/// A head with another version and target.
fn for_target(head: &str, target: &[&str; 2]) -> String {
    let lines = head.split_inclusive('\n').map(|line| {
        let key = line.split_whitespace().next().unwrap_or_default();
        target
            .iter()
            .find(|other| other.starts_with(key) && !key.is_empty())
            .copied()
            .unwrap_or(line)
    });
    lines.collect()
}

/// The identifier that `text` begins with.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    &text[..end.unwrap_or(text.len())]
}

// What tells a kernel's code from another's.

/// Lines that say where code comes from.
const LINE_TABLE: [&str; 2] = [".loc", ".file"];

const MARKS: [&str; 2] = ["$L__tmp", "$L__func_"];

/// Beginnings of names that the compiler gives: labels, mangled paths, constants without a name.
const GIVEN: [&str; 5] = ["$", "_ZN", "_R", "anon_", "__unnamed_"];

/// 16 hexadecimal digits for the module of one kernel: its instructions and registers, its bounds,
/// the memory and the functions that it uses, the PTX's version and target.
///
/// Left out is what depends on where it was built and on what else is built with it: line table, comments,
/// the kernel's name and names that the compiler gives.
pub fn code_hash(module: &str, symbol: &str) -> String {
    let mut names = HashMap::new();
    let mut code = String::with_capacity(module.len());
    for line in module.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let begins = |with: &[&str]| with.iter().any(|start| line.starts_with(start));
        if !(line.is_empty() || begins(&LINE_TABLE) || begins(&MARKS) && line.ends_with(':')) {
            for word in words(line) {
                code += &neutral(word, symbol, &mut names);
            }
            code.push('\n');
        }
    }
    format!("{:016x}", XxHash64::oneshot(0, code.as_bytes()))
}

/// The names of a line, and what stands between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = is_name(rest.chars().next()?);
        let end = rest.find(|c| is_name(c) != first).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// A word without what has no part in the hash: given names become numbers, in the order in which
/// they come.
fn neutral<'a>(word: &'a str, symbol: &str, names: &mut HashMap<&'a str, usize>) -> String {
    if let Some(rest) = word.strip_prefix(symbol)
        && (rest.is_empty() || rest.starts_with("_param_"))
    {
        return format!("entry{rest}");
    }
    if GIVEN.iter().any(|start| word.starts_with(start)) {
        let next = names.len();
        return format!("name{}", names.entry(word).or_insert(next));
    }
    word.into()
}

// What kernels are given of a problem and of the slab that a slot has in place.

/// The arguments of a kernel, at the slab and the batch in place, from energy `iw` on.
pub fn kernel_arguments(
    kernel: &Kernel,
    iw: u32,
    (problem, batch, bands, slot): (&Problem, &Batch, &BandBuffers, &StreamSlot),
) -> Box<dyn Arguments> {
    let bands = bands.in_layout(kernel.layout);
    let SlabPointers { igp, wtilde, eps, vcoul_loc, aqsm_local } = slot.slab.pointers(kernel);
    let (header, limits) = (problem.header(), problem.limits());
    let common = PaperArguments {
        wtilde,
        eps,
        aqsn: bands.aqsn(),
        aqsm_local,
        wx: bands.energies(),
        vcoul_loc,
        occ: bands.occ(),
        partials: slot.partials(),
        nbands: header.nbands as u32,
        ngpown: igp as u32,
        ncouls: header.ncouls as u32,
        nw: batch.nw() as u32,
        iw,
        limittwo: limits.limittwo,
        limitone: limits.limitone,
        sexcut: limits.sexcut,
    };
    let pairs = slot.slab.pairs(kernel);
    pairs.made().arguments(common, (batch, kernel), &pairs.pointers())
}

// When this process launched its first calculation.

static FIRST: OnceLock<Instant> = OnceLock::new();

/// A calculation is about to be launched; only the first counts.
fn now() {
    FIRST.get_or_init(Instant::now);
}

/// When it was, kernels compiled and data in place; none before.
pub fn first_launch() -> Option<Instant> {
    FIRST.get().copied()
}
