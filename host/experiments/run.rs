//! Versions on one problem and device: timed, verified, recorded.

use bytesize::ByteSize;

use super::measure::measure;
use super::measure::timed::Telling;
use super::room::of_sorted;
use super::setting::Setting;
use super::static_ch::static_ch;
use crate::catalogue::{self, BackEnd, Kernel, Listed};
use crate::devices::entry;
use crate::devices::{Device, Watch};
use crate::engine::Engine;
use crate::error::Result;
use crate::process::interrupt::Deferred;
use crate::process::progress::Progress;
use crate::record::run::Run;
use crate::record::times::Repetition;
use crate::reference::{self, Reference, Source};

/// What runs, and how often.
#[derive(Clone)]
pub struct Options {
    /// In the order in which they run.
    pub versions: Vec<Listed>,
    /// How often each version runs.
    pub repetition: Repetition,
    /// How often each emulated version runs.
    pub emulated: Repetition,
    /// Whether sums are compared with others.
    pub compares: bool,
    /// Whether the static CH is summed after the versions.
    pub static_ch: bool,
}

impl Options {
    /// These versions, compared.
    pub fn new(versions: &[Listed], repetition: Repetition) -> Options {
        Options {
            versions: versions.to_vec(),
            repetition,
            emulated: repetition,
            compares: true,
            static_ch: false,
        }
    }

    /// Runs each version once, unless the user asks for more: for what takes long.
    pub fn once(&mut self, repeat: Option<usize>, warmup: Option<usize>) {
        let times = Repetition::exactly(warmup.unwrap_or(0), repeat.unwrap_or(1));
        (self.repetition, self.emulated) = (times, times);
    }

    /// The kernels of the versions.
    pub fn kernels(&self) -> Vec<Kernel> {
        self.versions.iter().map(|listed| listed.kernel).collect()
    }

    /// Fails where the device cannot run a version.
    ///
    /// # Errors
    /// [`crate::Error::Data`] that names the version.
    pub fn require_effect_on(&self, device: &dyn Device) -> Result<()> {
        let back_end = device.back_end();
        self.versions.iter().try_for_each(|listed| listed.kernel.require_on(back_end))
    }
}

/// Runs the versions of `options`; `each` is called when the run begins and after each version. Of several
/// processes rank 0 measures, the others take part in its calculations.
///
/// # Errors
/// Those of the devices.
///
/// # Panics
/// Where there is no device.
pub fn run(
    setting: &Setting,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Run),
) -> Result<Run> {
    let Options { repetition, emulated, .. } = options;
    let Setting { crew, slabs, .. } = *setting;
    let (device, problem) = (crew.devices[0], slabs.frame());
    let versions = options.kernels();
    let back_end = device.back_end();
    // All processes run as often, however long it takes each.
    let within = |times: Repetition| match setting.is_plain() {
        true => times,
        false => Repetition::exactly(times.warmup, times.repeat),
    };
    let [repetition, emulated] = [*repetition, *emulated].map(within);
    let times = |kernel: &Kernel| if kernel.back_end() == back_end { repetition } else { emulated };

    // What is under way in several slabs ends by itself.
    let deferred = || (!setting.is_plain()).then(|| Deferred::new("the slabs at hand"));
    let all: Vec<Repetition> = versions.iter().map(times).collect();
    let alike = all.first().copied().filter(|first| all.iter().all(|other| other == first));
    let mut run = Run::new(device.info(), problem, alike.unwrap_or(repetition));
    if let (None, Some(provenance)) = (alike, &mut run.head.provenance) {
        (provenance.warmup, provenance.repeat) = (None, None);
    }
    run.parting = setting.parting();
    let of_static_ch = options.static_ch.then(|| catalogue::static_ch(back_end));
    let is_judged = options.compares && reference::source_of(slabs).is_none();
    let judge = is_judged.then(|| judge(back_end, &versions)).flatten();
    if !crew.ranks.is_root() {
        let _deferred = deferred();
        let mut engine = setting.engine(&versions)?;
        judge.map_or(Ok(()), |judge| judged(&mut engine, judge, progress).map(drop))?;
        for version in &versions {
            (0..times(version).runs()).try_for_each(|_| engine.run(*version).map(drop))?;
        }
        of_static_ch.map_or(Ok(()), |kernel| engine.static_ch(kernel, Watch::none()).map(drop))?;
        return Ok(run);
    }
    each(&run);
    let known = if options.compares { reference::of(slabs, progress)? } else { None };
    let _deferred = deferred();
    let mut engine = setting.engine(&versions)?;
    let room = engine.kept();
    let again =
        of_sorted(slabs, &versions, crew).filter(|needed| engine.streams() && *needed > room);
    if let Some(needed) = again {
        progress.say(format_args!(
            "note: the slabs' sorted pairs take {} of the host's memory, for which {} are free: what finds no \
             room is sorted again in each calculation",
            ByteSize(needed).display().iec(),
            ByteSize(room).display().iec()
        ));
    }
    let all = versions.iter().map(|kernel| times(kernel).runs()).sum::<usize>();
    let parts = |version: &Kernel| slabs.count() * problem.batches_for(*version).count();
    let judged = judge.map(|judge| judged(&mut engine, judge, progress)).transpose()?;
    // A bar of slabs and batches tells more than one of a single run.
    let steps = if all == 1 { versions.iter().map(parts).sum() } else { all };
    let bar = progress.fine_bar("running", steps as u64);
    let scale = if all == 1 { steps as f64 } else { 1.0 };
    let reference = known.or(judged);
    let mut ran = 0;
    for (at, &version) in versions.iter().enumerate() {
        let done = |calculations: f64| bar.set((ran as f64 + calculations) * scale);
        // Loads of kernels go beside a last run, never between timed ones or their batches.
        let next = versions.get(at + 1).and_then(|next| next.gpu()).map(|next| {
            let batch = problem.batches_for(Kernel::Gpu(next)).first();
            entry(batch.plan().kernel(next), batch.nw())
        });
        let is_one = problem.batches_for(version).count() == 1;
        let prepare = || {
            let Some(entry) = next.filter(|_| is_one) else { return };
            for device in crew.devices {
                device.prepare(entry);
            }
        };
        let telling = Telling { done: &done, last: &prepare };
        done(0.0);
        bar.set_message(format!("{} on {}", version.id(), device.info().id));
        let reference = reference.as_ref();
        let mut result =
            measure(version, device, &mut engine, reference, times(&version), &telling)?;
        result.task = Some(setting.task(version)?);
        ran += times(&version).runs();
        run.push(result);
        each(&run);
    }
    bar.finish_and_clear();
    if let Some(kernel) = of_static_ch {
        run.static_ch = Some(static_ch(&mut engine, kernel, options.compares, progress)?);
    }
    run.head.complete = true;
    Ok(run)
}

/// What a version finds, to compare others with: of many energies at some.
fn judged(engine: &mut Engine, judge: Kernel, progress: Progress) -> Result<Reference> {
    let problem = engine.problem();
    let chosen = reference::chosen(problem.nw());
    let batches = chosen.map_or_else(|| problem.batches_for(judge).count(), |chosen| chosen.len());
    let parts = (engine.slabs().count() * batches) as u64;
    let bar = progress.fine_bar(&format!("{}, to compare with", judge.id()), parts);
    let done = |part: f64| bar.set(part * parts as f64);
    let found = match chosen {
        Some(energies) => {
            let sums = engine.run_at(&energies, judge, Watch::of(&done))?.sums;
            Reference::at(&energies, problem, &sums, Source::Device, progress)
        }
        None => {
            let sums = problem.start().plus(&engine.run_telling(judge, Watch::of(&done))?.sums);
            Reference::new(sums, Source::Device, progress)
        }
    };
    bar.finish_and_clear();
    Ok(found)
}

/// The version that judges others where a problem has no reference: none of those that run, made for the back
/// end, with terms as the definition writes them.
fn judge(back_end: BackEnd, versions: &[Kernel]) -> Option<Kernel> {
    let ids = match back_end {
        BackEnd::Gpu => ["v3", "v8", "v0"],
        BackEnd::Cpu => ["cpu:blocked", "cpu:simd", "cpu:threads"],
    };
    let runs = |id: &&str| versions.iter().any(|version| version.id() == *id);
    let judge = ids.iter().find(|id| !runs(id))?;
    catalogue::find(judge).map(|listed| listed.kernel)
}
