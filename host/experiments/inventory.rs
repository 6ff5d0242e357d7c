//! What there is: a device and its kernels, versions and systems.

use gpp_core::offdiag::versions;
use gpp_cpu::level::Level;
use gpp_cpu::pool::{Threads, VARIABLE, of_environment};
use gpp_kernels::kernel;

use crate::catalogue::{self, BackEnd, Best, JOURNEYS, Journey, best, best_of_all};
use crate::devices::Device;
use crate::devices::gpu::{self, Gpu, NO_KERNELS};
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::problem::systems::SYSTEMS;
use crate::record::info::{
    Info, Kernel, Listed, ListedBest, ListedJourney, ListedMatrix, ListedSystem, Listing,
    Processor, SCHEMA,
};
use crate::record::provenance::{PROGRAM, Provenance};
use crate::record::system::Poles;

/// A device and every version's kernels on it.
///
/// # Errors
/// [`crate::Error::Driver`].
pub fn info(device: &dyn Device) -> Result<Info> {
    let mut kernels = Vec::new();
    for gpu in catalogue::for_gpus() {
        let entries = |kernel: &'static kernel::Kernel| {
            kernel.entries.iter().map(move |entry| (kernel, entry))
        };
        for (launch, entry) in gpu.kernels.iter().flat_map(entries) {
            let kernel = device.kernel(launch, entry)?;
            kernels.push(Kernel {
                version: gpu.id().into(),
                change: gpu.version.change.into(),
                hash: gpu::hash(&kernel.symbol),
                symbol: kernel.symbol,
                energies: entry.energies,
                threads_per_block: launch.threads,
                registers: kernel.registers,
                local_bytes: kernel.local_bytes,
                shared_bytes: kernel.shared_bytes,
                warps_per_sm: kernel.warps_per_sm,
            });
        }
    }
    Ok(Info {
        schema: SCHEMA,
        program: PROGRAM.into(),
        provenance: Provenance::now(device.info()),
        device: device.info().clone(),
        no_gpu: match Gpu::count() {
            Err(Error::NoGpu { why }) => Some(why),
            _ => None,
        },
        no_kernels: NO_KERNELS.map(str::to_string),
        processor: device.host().map(processor),
        kernels,
    })
}

fn processor(host: &Host) -> Processor {
    Processor {
        cores: host.team().count(Threads::Cores),
        threads: host.team().count(Threads::All),
        threads_by: threads_by(host).map(str::to_string),
        levels: Level::available().into_iter().map(|level| level.to_string()).collect(),
        level: host.level().to_string(),
    }
}

/// What says how many threads there are, where it is not the machine.
fn threads_by(host: &Host) -> Option<&'static str> {
    match host.team().is_set() {
        true => Some("--threads"),
        false => of_environment().map(|_| VARIABLE),
    }
}

/// All versions, journeys and built-in systems.
pub fn listing() -> Listing {
    let versions = catalogue::versions().map(|listed| Listed {
        id: listed.id().into(),
        change: listed.version.change.into(),
        source: listed.version.source.into(),
        best: listed.id() == best(BackEnd::Gpu).id(),
    });
    let systems = SYSTEMS.iter().map(|system| ListedSystem {
        name: system.name.clone(),
        nbands: system.nbands,
        nvband: system.nvband,
        ngpown: system.ngpown,
        ncouls: system.ncouls,
        nstart: system.nstart,
        nend: system.nend,
        poles: if system.complex_modes { Poles::Complex } else { Poles::Real },
        bytes: system.bytes(),
        note: system.note.clone(),
    });
    let matrix = versions::ALL.into_iter().map(|version| ListedMatrix {
        id: version.id.into(),
        change: version.change.into(),
        capability: version.capability,
        file: super::offdiag::source(Some(version.id)),
    });
    Listing {
        schema: SCHEMA,
        versions: versions.collect(),
        journeys: JOURNEYS.iter().map(journey).collect(),
        best: [BackEnd::Gpu, BackEnd::Cpu].map(|on| listed_best(best_of_all(on))).into(),
        matrix: matrix.collect(),
        systems: systems.collect(),
    }
}

fn journey(journey: &Journey) -> ListedJourney {
    ListedJourney {
        id: journey.id.into(),
        title: journey.title.into(),
        source: journey.source.into(),
        versions: journey.ids().into_iter().map(str::to_string).collect(),
        baseline: journey.baseline.into(),
        continues: journey.continues.map(str::to_string),
        best: journey.best.iter().map(listed_best).collect(),
    }
}

fn listed_best(best: &Best) -> ListedBest {
    ListedBest {
        back_end: best.back_end,
        version: best.version.into(),
        condition: best.condition.into(),
    }
}
