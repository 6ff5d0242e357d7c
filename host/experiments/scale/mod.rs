//! A version's time over more and more devices, ranks or cores: strong scaling, of the system as it is, and
//! weak scaling, of a part of its `igp` for each member.

mod all;
mod judge;
mod point;
mod teams;

pub use self::all::All;
use self::teams::Teams;
use super::estimate::Estimate;
use super::parting::{Crew, Limits};
use super::setting::{places, require_one_kind};
use crate::catalogue::Listed;
use crate::catalogue::tuned::{Overrides, shaped};
use crate::catalogue::{BackEnd, Kernel, sources};
use crate::devices::gpu;
use crate::devices::launch::entry;
use crate::error::Result;
use crate::problem::synthesis::Synthesis;
use crate::problem::{Frame, System};
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::provenance::Provenance;
use crate::record::scale::{Law, Measured, Scale};
use crate::record::system::SystemInfo;
use crate::record::times::Repetition;

/// What is measured.
#[derive(Clone)]
pub struct Options {
    /// The version, made for the devices.
    pub version: Listed,
    /// The system.
    pub system: &'static System,
    /// Its seed.
    pub seed: u64,
    /// [`Law::Strong`], [`Law::Weak`] or both, in this order.
    pub laws: Vec<Law>,
    /// One, two and all members only.
    pub quick: bool,
    /// How often each point runs.
    pub repetition: Repetition,
    /// What was said of memory.
    pub limits: Limits,
}

/// Measures the points; `each` is called when those of a team are done. Of several processes rank 0 has
/// the record.
///
/// # Errors
/// [`crate::Error::Memory`]; [`crate::Error::Data`] where ranks have devices of different kinds; those of the devices.
pub fn scale(
    all: All,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Scale),
) -> Result<Scale> {
    let Options { version, system, seed, repetition, .. } = options;
    let info = all.devices[0].info();
    require_one_kind(Crew { devices: all.devices, ranks: all.ranks })?;
    let frame = Frame::of(&Synthesis::new(system, *seed, progress), all.ranks)?;
    let kernel = shaped(version.kernel, &info.name, frame.poles(), Overrides::default())?;
    let batch = frame.batches_for(kernel).first();
    let groups = batch.plan().igp_of_group(kernel);
    let symbol = match (kernel, all.devices[0].back_end()) {
        (Kernel::Gpu(gpu), BackEnd::Gpu) => {
            Some(entry(batch.plan().kernel(gpu), batch.nw()).symbol)
        }
        _ => None,
    };
    let mut scale = Scale {
        head: Head::new(info, Provenance::now(info).of(frame.origin(), *repetition)),
        version: version.id().into(),
        source_hash: sources::hash(version.id()),
        kernel: symbol.map(String::from),
        kernel_hash: symbol.and_then(gpu::hash),
        system: SystemInfo::of(&frame),
        complex_modes: system.complex_modes,
        over: all.over,
        group: groups.unwrap_or(1),
        places: places(Crew { devices: all.devices, ranks: all.ranks }).unwrap_or_default(),
        measured: Vec::new(),
        model: None,
    };
    let counts = all.counts(options.quick);
    // A team of a part of all takes as much longer, and the data is put in place once more.
    let turns = |law: &Law| match law {
        Law::Weak => counts.len(),
        Law::Strong | Law::Slabs => counts.iter().map(|members| all.most.div_ceil(*members)).sum(),
    };
    let mut estimate = Estimate::on(all.devices[0], &frame);
    let turns: usize = options.laws.iter().map(turns).sum();
    estimate.runs(kernel, turns * (repetition.runs() + 1));
    estimate.say("--quick runs once, --system demo is small", progress);
    drop(frame);

    let bar = progress.bar("scaling", (options.laws.len() * counts.len()) as u64);
    for (at, &law) in options.laws.iter().enumerate() {
        let teams = Teams { all, options, kernel, groups, law, calibrates: at == 0 };
        let mut done = |scale: &mut Scale, found: Vec<Measured>| {
            scale.measured.extend(found);
            bar.inc(1);
            each(scale);
        };
        if law == Law::Strong {
            teams.measure(system, &counts, |found| done(&mut scale, found))?;
            continue;
        }
        for &members in &counts {
            let whole = part(system, scale.group, members, all.most);
            if at == 0 || members < all.most {
                teams.measure(&whole, &[members], |found| done(&mut scale, found))?;
                continue;
            }
            // Of all members the strong law's points are the weak one's as well.
            let is_known = |point: &&Measured| point.law == Law::Strong && point.members == members;
            let known = scale.measured.iter().filter(is_known);
            let known = known.map(|point| Measured { law, ..point.clone() }).collect();
            done(&mut scale, known);
        }
    }
    bar.finish_and_clear();
    scale.head.complete = true;
    Ok(scale)
}

/// The system with a part of its `igp`, in whole groups, for so many members of `most`.
fn part(system: &System, group: usize, members: usize, most: usize) -> System {
    let groups = system.ngpown.div_ceil(group);
    let ngpown = (groups * members).div_ceil(most) * group;
    if ngpown >= system.ngpown {
        return system.clone();
    }
    System { name: format!("{}, {ngpown} G′", system.name), ngpown, ..system.clone() }
}
