//! From flags to the source of a problem, an open session, and where its workers are.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::catalogue::{BackEnd, Version};
use crate::cli::{DeviceArgs, ProblemArgs};
use crate::devices::gpu::driver::missing;
use crate::devices::{Choice, Device};
use crate::error::{Error, Result};
use crate::output::{Progress, note};
use crate::problem::synthesis::{DEFAULT_SEED, Synthesis};
use crate::problem::{self, Even, Header, Slabs, System, input_file};
use crate::ranks::Ranks;
use crate::record::run::{Partition, WorkerPlace};
use crate::session::{MemoryLimits, Session};

#[derive(Clone, Debug)]
pub enum ProblemInput {
    System(&'static System, u64),
    File(PathBuf),
}

#[derive(Clone, Debug)]
pub struct ProblemSource {
    pub input: ProblemInput,
    pub energies: Option<Even>,
    /// Broadening and window in eV of the time-ordered formula, none for BerkeleyGW's.
    pub time_ordered: Option<[f64; 2]>,
}

impl ProblemSource {
    pub fn from_args(args: &ProblemArgs, system: &str) -> Result<ProblemSource> {
        let input = match &args.input {
            Some(path) => ProblemInput::File(path.clone()),
            None => {
                let system = System::find(args.system.as_deref().unwrap_or(system))?;
                ProblemInput::System(system, args.seed.unwrap_or(DEFAULT_SEED))
            }
        };
        Ok(ProblemSource { input, energies: args.energies, time_ordered: args.time_ordered()? })
    }

    /// The flags by which a run of this program has the same problem.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = match &self.input {
            ProblemInput::System(system, seed) => {
                ["--system", &system.name, "--seed", &seed.to_string()].map(Into::into).to_vec()
            }
            ProblemInput::File(path) => vec!["--input".into(), path.into()],
        };
        if let Some(even) = &self.energies {
            flags.extend(["--energies".into(), even.to_string().into()]);
        }
        if let Some([eta, window]) = self.time_ordered.map(|of| of.map(|ev| ev.to_string())) {
            let of = ["--formula", "time-ordered", "--eta", &eta, "--window", &window];
            flags.extend(of.map(Into::into));
        }
        flags
    }

    pub fn open(&self, progress: Progress) -> Result<Box<dyn problem::Source>> {
        let mut source: Box<dyn problem::Source> = match &self.input {
            ProblemInput::System(system, seed) => Box::new(Synthesis::new(system, *seed, progress)),
            ProblemInput::File(path) => Box::new(input_file::InputFile::open(path, progress)?),
        };
        if let Some(even) = self.energies {
            let header = even.apply_to(source.header());
            source.set_header(header);
        }
        if let Some([eta, window]) = self.time_ordered {
            let header = source.header().clone();
            source.set_header(Header { eta: Some(eta), window, ..header });
        }
        Ok(source)
    }
}

/// Opens the devices of a command line to run these versions, within these limits. Collective.
pub fn open<'r>(
    args: &DeviceArgs,
    limits: MemoryLimits,
    versions: &[Version],
    progress: Progress,
    ranks: &'r dyn Ranks,
) -> Result<Session<'r>> {
    let for_cpu = |listed: &Version| listed.back_end() == BackEnd::Cpu;
    let choice = match args.device.parse()? {
        Choice::Auto if !versions.is_empty() && versions.iter().all(for_cpu) => Choice::Cpu,
        choice => choice,
    };
    if !matches!(choice, Choice::Auto | Choice::Cpu) {
        versions.iter().try_for_each(|listed| listed.require_on(BackEnd::Gpu))?;
    }
    let session = Session::open(&choice, limits, ranks).map_err(|error| match error {
        Error::NoGpu { why } => Error::NoGpu { why: why + "; --device cpu runs on the CPU" },
        other => other,
    })?;
    match &session.no_gpu {
        // A driver that fails is reported even with --quiet.
        Some(why) if ranks.is_root() && missing().is_none() => {
            note(format_args!("note: no GPU found: running on the CPU: {why}"));
        }
        Some(_) if ranks.is_root() => {
            progress.say("note: no GPU found: running on the CPU (`gpp info` says why)");
        }
        _ => {}
    }
    Ok(session.with_cpu(args.level(), args.threads.map(usize::from)))
}

/// Where the workers of all ranks are, for rank 0. Collective.
pub fn places(session: &Session) -> Option<Vec<WorkerPlace>> {
    let ranks = session.ranks;
    let place = |device: &dyn Device| WorkerPlace {
        rank: ranks.rank(),
        host: sysinfo::System::host_name().ok(),
        device: device.info().clone(),
    };
    let local: Vec<WorkerPlace> = session.devices().map(place).collect();
    let local = serde_json::to_vec(&local).expect("texts and numbers under names");
    let read = |places: &Vec<u8>| -> Vec<WorkerPlace> {
        serde_json::from_slice(places).expect("the same program wrote it")
    };
    Some(ranks.gather(&local)?.iter().flat_map(read).collect())
}

/// How a problem is divided, for rank 0; none if it is one slab on one device. Collective.
pub fn partition(session: &Session, slabs: Slabs) -> Option<Partition> {
    if session.workers() == 1 && slabs.count() == 1 {
        return None;
    }
    Some(Partition {
        igp: slabs.igp(),
        slabs: slabs.count(),
        in_memory: slabs.problem().is_whole(),
        device_memory: session.limits.device,
        host_memory: session.limits.host,
        ranks: session.ranks.size(),
        workers: places(session)?,
    })
}
