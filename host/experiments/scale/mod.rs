//! A version's time over more and more devices, ranks or cores: strong scaling, of the system as it is, and
//! weak scaling, of a part of its `igp` for each member. Or its time over the extents of a problem.

mod all;
pub mod extents;
mod judge;
mod point;
mod teams;

pub use self::all::All;
use self::teams::Teams;
use super::estimate::Estimate;
use super::parting::{Crew, Limits};
use super::setting::{places, require_one_kind};
use crate::catalogue::Listed;
use crate::catalogue::sources;
use crate::catalogue::tuned::{Overrides, shaped};
use crate::error::Result;
use crate::problem::synthesis::Synthesis;
use crate::problem::{Frame, System};
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::provenance::Provenance;
use crate::record::scale::{Line, Over, Point, Scale};
use crate::record::system::SystemInfo;
use crate::record::times::Repetition;

/// What is measured.
#[derive(Clone)]
pub struct Options {
    /// The version, made for the devices.
    pub version: Listed,
    /// The system; of extents that of [`extents::middle`].
    pub system: System,
    /// Its seed.
    pub seed: u64,
    /// Over members [`Line::Strong`], [`Line::Weak`] or both, in this order; over extents any of
    /// [`Line::EXTENTS`].
    pub lines: Vec<Line>,
    /// One, two and all members only; of extents the smallest.
    pub quick: bool,
    /// How often each point runs.
    pub repetition: Repetition,
    /// What was said of memory.
    pub limits: Limits,
}

/// Measures the points; `each` is called when those of a team, or one of extents, are done. Of several processes
/// rank 0 has the record.
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
    let mut scale = Scale {
        head: Head::new(info, Provenance::now(info).of(frame.origin(), *repetition)),
        version: version.id().into(),
        source_hash: sources::hash(version.id()),
        system: SystemInfo::of(&frame),
        complex_modes: system.complex_modes,
        over: all.over,
        group: 1,
        places: places(Crew { devices: all.devices, ranks: all.ranks }).unwrap_or_default(),
        points: Vec::new(),
        model: None,
    };
    if all.over == Over::Extents {
        drop(frame);
        extents::measured(all, options, progress, |point| {
            scale.points.push(point);
            each(&scale);
        })?;
    } else {
        over_members(all, options, frame, progress, &mut scale, each)?;
    }
    scale.head.complete = true;
    Ok(scale)
}

/// Measures teams of more and more members.
fn over_members(
    all: All,
    options: &Options,
    frame: Frame,
    progress: Progress,
    scale: &mut Scale,
    mut each: impl FnMut(&Scale),
) -> Result<()> {
    let Options { version, system, repetition, .. } = options;
    let name = &all.devices[0].info().name;
    let kernel = shaped(version.kernel, name, frame.poles(), Overrides::default())?;
    let groups = frame.batches_for(kernel).first().plan().igp_of_group(kernel);
    scale.group = groups.unwrap_or(1);
    let counts = all.counts(options.quick);
    // A team of a part of all takes as much longer, and the data is put in place once more.
    let turns = |line: &Line| match line {
        Line::Strong => counts.iter().map(|members| all.most.div_ceil(*members)).sum(),
        _ => counts.len(),
    };
    let mut estimate = Estimate::on(all.devices[0], &frame);
    let turns: usize = options.lines.iter().map(turns).sum();
    estimate.runs(kernel, turns * (repetition.runs() + 1));
    estimate.say("--quick runs once, --system demo is small", progress);
    drop(frame);

    let bar = progress.bar("scaling", (options.lines.len() * counts.len()) as u64);
    for (at, &line) in options.lines.iter().enumerate() {
        let teams = Teams { all, options, kernel, groups, line, calibrates: at == 0 };
        let mut done = |scale: &mut Scale, found: Vec<Point>| {
            scale.points.extend(found);
            bar.inc(1);
            each(scale);
        };
        if line == Line::Strong {
            teams.measure(system, &counts, |found| done(scale, found))?;
            continue;
        }
        for &members in &counts {
            let whole = part(system, scale.group, members, all.most);
            if at == 0 || members < all.most {
                teams.measure(&whole, &[members], |found| done(scale, found))?;
                continue;
            }
            // Of all members the points of the strong line are those of the weak one as well.
            let is_known = |point: &&Point| point.line == Line::Strong && point.members == members;
            let known = scale.points.iter().filter(is_known);
            let known = known.map(|point| Point { line, ..point.clone() }).collect();
            done(scale, known);
        }
    }
    bar.finish_and_clear();
    Ok(())
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
