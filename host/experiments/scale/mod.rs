//! A version's time over more and more devices, ranks or cores: strong scaling, of the system as it is, and
//! weak scaling, of a part of its `igp` for each member.

mod all;
mod judge;
mod point;
mod teams;

pub use self::all::All;
use self::teams::Teams;
use super::parting::{Crew, Limits};
use super::setting::places;
use crate::catalogue::tuned::{Overrides, shaped};
use crate::catalogue::{BackEnd, Listed};
use crate::error::{Error, Result};
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
/// [`Error::Memory`]; [`Error::Data`] where ranks have devices of different kinds; those of the devices.
pub fn scale(
    all: All,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Scale),
) -> Result<Scale> {
    let Options { version, system, seed, repetition, .. } = options;
    let info = all.devices[0].info();
    let frame = Frame::of(&Synthesis::new(system, *seed, progress))?;
    let kernel = shaped(version.kernel, &info.name, frame.poles(), Overrides::default())?;
    let groups = frame.batches_for(kernel)[0].plan().igp_of_group(kernel);
    let mut scale = Scale {
        head: Head::new(info, Provenance::now(info).of(frame.origin(), *repetition)),
        version: version.id().into(),
        system: SystemInfo::of(&frame),
        complex_modes: system.complex_modes,
        over: all.over,
        group: groups.unwrap_or(1),
        places: places(Crew { devices: all.devices, ranks: all.ranks }).unwrap_or_default(),
        measured: Vec::new(),
        model: None,
    };
    drop(frame);
    require_one_kind(&scale, version.kernel.back_end())?;

    let counts = all.counts(options.quick);
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

/// Fails where the kernels of some ranks run on another kind of device.
fn require_one_kind(scale: &Scale, back_end: BackEnd) -> Result<()> {
    let other = scale.places.iter().find(|place| place.device.back_end() != back_end);
    other.map_or(Ok(()), |place| {
        let (rank, id) = (place.rank, &place.device.id);
        let what = format!("needs a GPU for every rank or for none, rank {rank} has {id}");
        Err(Error::Data { origin: scale.version.clone(), what })
    })
}
