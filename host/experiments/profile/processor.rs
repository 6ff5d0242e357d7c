//! Profiles on a processor: times from runs, operations by running the source with a counting number,
//! bytes by the arithmetic of how the work is shared out; no profiler.

use std::collections::BTreeMap;
use std::path::Path;

use gpp_cpu::ceilings::Effort;
use gpp_cpu::version::Cpu;
use num_complex::Complex64;

use super::Profiled;
use super::folder::{self, CEILINGS, RUN};
use crate::catalogue::{Kernel, Listed, sources};
use crate::devices::Device;
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::experiments::ceilings::of_processor;
use crate::experiments::counting;
use crate::experiments::run::{self, run};
use crate::experiments::setting::Setting;
use crate::experiments::source::Source;
use crate::problem::{Extents, Problem};
use crate::process::output::write_text;
use crate::process::progress::Progress;
use crate::record::profile::{Bytes, PerTerm, Profile};
use crate::record::run::Run;
use crate::record::times::Repetition;
use crate::record::{SCHEMA, text};

/// Where the figures of such a profile come from.
const SOURCE: &str = "operations by running the source with a counting number, bytes by the pieces of \
                      work, each array read once for each";

/// Times the versions, measures the ceilings, counts, and stores profiles in a folder; `each` is called
/// when the run begins and after each version.
///
/// # Errors
/// [`Error::Data`] for a version that is made for GPUs, and for a folder of another system's profiles;
/// those of the device, of [`Source::load`] and of writing.
pub fn profile(
    host: &Host,
    source: &Source,
    versions: &[Listed],
    folder: &Path,
    repeat: usize,
    progress: Progress,
    each: impl FnMut(&Run),
) -> Result<Profiled> {
    let made_for: Vec<&'static Cpu> = versions
        .iter()
        .map(|listed| match listed.kernel {
            Kernel::Cpu(cpu) => Ok(cpu),
            Kernel::Gpu(_) => Err(Error::Data {
                origin: format!("--version {}", listed.id()),
                what: "is made for GPUs: a processor profiles those of --version cpu".into(),
            }),
        })
        .collect::<Result<_>>()?;
    if source.file().is_none() {
        folder::require_room(folder, &source.name(), source.nw())?;
    }
    let ceilings = of_processor(host, &Effort::FULL)?;
    let problem = source.load(progress)?;
    folder::require_room(folder, problem.name(), Some(problem.nw()))?;
    let repetition = Repetition::exactly(1, repeat);
    let timed = run::Options::new(versions, repetition);
    let device: &dyn Device = host;
    let run = run(&Setting::whole(&device, &problem), &timed, progress, each)?;
    if !run.passed() {
        return Ok(Profiled::NotVerified(Box::new(run)));
    }
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Write { path: folder.into(), reason: e.to_string() })?;
    write_text(&folder.join(RUN), &text(&run))?;
    write_text(&folder.join(CEILINGS), &text(&ceilings))?;
    let bar = progress.bar("counting", versions.len() as u64);
    let mut profiles = Vec::new();
    for (cpu, result) in made_for.iter().zip(&run.results) {
        let counted = counting::count(Kernel::Cpu(cpu), &problem)?;
        let made = of(&problem, cpu, counted, result.times.median, &host.info().name);
        let (provenance, identity) = (ceilings.provenance.clone(), result.identity.clone());
        let made = Profile { provenance, identity, ..made };
        folder::store(folder, &made)?;
        profiles.push(made);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Profiled::Profiles(profiles))
}

/// The profile of a version whose operations were counted and that takes so many seconds.
fn of(problem: &Problem, cpu: &Cpu, counted: PerTerm, seconds: f64, device: &str) -> Profile {
    let terms = problem.terms() as f64;
    Profile {
        schema: SCHEMA,
        version: cpu.id().into(),
        system: problem.name().into(),
        terms: problem.terms(),
        nw: Some(problem.nw() as u32),
        device: device.into(),
        source: SOURCE.into(),
        provenance: None,
        kernels_by: None,
        time_s: Some(seconds),
        duration_s: seconds,
        dadd: counted.add * terms,
        dmul: (counted.mul + counted.div + counted.rcp + counted.sqrt) * terms,
        dfma: counted.fma * terms,
        bytes: Bytes {
            hbm: memory(cpu, problem.extents()),
            l2: None,
            l2_fabric: None,
            l1: None,
            shared: None,
        },
        l1_hit_percent: None,
        l2_hit_percent: None,
        fp64_pipe_percent: None,
        pipes_percent: BTreeMap::new(),
        cycles: None,
        kernel_hash: None,
        source_hash: sources::hash(cpu.id()),
        identity: None,
        registers: None,
        warps_per_sm: None,
        stalls: BTreeMap::new(),
        lines: Vec::new(),
        counted: Some(counted),
        launches: Vec::new(),
        disassembly: None,
    }
}

/// Bytes that pieces of work read, each array once for each piece, as if a core's caches kept nothing
/// from one piece to the next: ω̃ and eps of its pairs, `aqsn` of its `ig`, `aqsm_local` of its `igp`.
fn memory(cpu: &Cpu, extents: Extents) -> f64 {
    let Extents { nbands, ngpown, ncouls, .. } = extents;
    let pieces = cpu.pieces.of(ngpown, ncouls);
    let elements = pieces.iter().map(|piece| {
        let (igp, ig) = (piece.igp.len(), piece.ig.len());
        (2 * igp * ig + (igp + ig) * nbands) as f64
    });
    size_of::<Complex64>() as f64 * elements.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{synthesis, systems};
    use gpp_cpu::versions::CPU;

    #[test]
    fn figures_are_those_that_were_counted() {
        let system = systems::find("tiny").unwrap();
        let problem = synthesis::synthesise(system, 11, Progress { shown: false }).unwrap();
        let Extents { nbands, ngpown, ncouls, .. } = problem.extents();
        for cpu in CPU {
            let counted = counting::count(Kernel::Cpu(cpu), &problem).unwrap();
            let made = of(&problem, cpu, counted, 0.5, "a processor");
            let off = made.flops_per_term() / counted.flops() - 1.0;
            assert!(off.abs() <= 1e-12, "{}", cpu.id());
            assert!((made.rate() * 0.5 / made.flops() - 1.0).abs() <= 1e-12);
            // Every pair once, and the bands at least once.
            let least = 16.0 * (2 * ngpown * ncouls + (ngpown + ncouls) * nbands) as f64;
            let most = 16.0 * (ngpown * ncouls * (2 + 2 * nbands)) as f64;
            assert!(least <= made.bytes.hbm && made.bytes.hbm <= most, "{}", cpu.id());
        }
        // All ig for each igp.
        let threads = CPU.iter().find(|cpu| cpu.id() == "cpu:threads").unwrap();
        let pairs = ngpown * ncouls;
        let elements = 2 * pairs + nbands * (ngpown + pairs);
        assert_eq!(memory(threads, problem.extents()), 16.0 * elements as f64);
    }
}
