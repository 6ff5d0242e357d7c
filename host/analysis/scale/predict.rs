//! What the model says of numbers of members and systems that were not measured.

use super::task::{Kind, Task, extents};
use crate::experiments::sizes::Share;
use crate::problem::memory::{Extents, Of};
use crate::problem::systems::{SYSTEMS, System};
use crate::record::scale::{Constants, Data, Over, Predicted, Prediction, Scale};

/// Members at most.
const MOST: usize = 4096;

/// Systems beside the one that was measured: the real ones, by how their names begin.
const REAL: &str = "si";

/// Of this system and of the real ones with the same kind of poles, data in place and, where members have a
/// memory of their own, from the host's.
pub fn predictions(scale: &Scale, constants: &Constants) -> Vec<Prediction> {
    let own = (scale.system.name.as_str(), extents(&scale.system));
    let is_other = |system: &&System| {
        system.name.starts_with(REAL)
            && system.name != scale.system.name
            && system.complex_modes == scale.complex_modes
    };
    let others = SYSTEMS.iter().filter(is_other).map(|s| (s.name.as_str(), s.extents()));
    let datas = [Data::Place, Data::Host];
    let datas = &datas[..if constants.bandwidth.is_some() { 2 } else { 1 }];
    let all = std::iter::once(own).chain(others);
    all.flat_map(|(name, extents)| {
        datas.iter().map(move |&data| prediction(scale, constants, name, extents, data))
    })
    .collect()
}

fn prediction(
    scale: &Scale,
    constants: &Constants,
    name: &str,
    extents: Extents,
    data: Data,
) -> Prediction {
    let kind = Kind::of_system(scale, extents);
    let groups = extents.ngpown.div_ceil(kind.group);
    let task = |members: usize| team(&kind, extents.ngpown, members, data);
    let one = task(1).seconds(constants);
    let predicted = |members: usize| {
        let task = task(members);
        let seconds = task.seconds(constants);
        let speed_up = one / seconds;
        let efficiency = speed_up / members as f64;
        Predicted { members, igp: task.igp, seconds, speed_up, efficiency }
    };
    let teams = counts(groups).into_iter().map(predicted).collect();
    Prediction { system: name.into(), groups, data, teams }
}

/// The calculation of a team in slabs as the program makes them where memory sets no bound, wherever
/// their blocks leave places empty.
pub fn team(kind: &Kind, ngpown: usize, members: usize, data: Data) -> Task<'_> {
    let is_whole = kind.over == Over::Cores || (members == 1 && data == Data::Place);
    let (groups, terms) = (ngpown.div_ceil(kind.group), kind.terms * kind.group as f64);
    let share = Share { groups, terms, workers: members, waves: None };
    let slab = share.unbounded() * kind.group;
    let igp = if is_whole { ngpown } else { slab.min(ngpown) };
    Task { kind, members, ngpown, igp, data }
}

/// 1, 2, 4, … members, no more than groups, and as many as these.
fn counts(groups: usize) -> Vec<usize> {
    let most = groups.min(MOST);
    let powers = (0..).map(|power| 1 << power).take_while(|&count| count < most);
    powers.chain([most]).collect()
}

/// What predictions take for granted.
pub fn assumptions(scale: &Scale, constants: &Constants) -> Vec<String> {
    let (members, device) = (scale.over.name(), &scale.head.device.name);
    let system = &scale.system.name;
    let mut texts = vec![match scale.over {
        Over::Cores => format!(
            "cores are those of {device}, with caches and bandwidth of memory in proportion to them"
        ),
        _ => format!("all {members} are as the one that was measured, {device}"),
    }];
    if let Some(bandwidth) = constants.bandwidth {
        let bands = extents(&scale.system).bytes_of(Of::Bands) as f64 / bandwidth;
        texts.push(format!(
            "each has a link of its own to the host's memory, {:.1} GB/s, and slabs in place find \
             room",
            bandwidth / 1e9
        ));
        texts.push(format!(
            "the bands are in place on all of them: their upload, {:.1} ms for {system}, is part of \
             no time",
            bands * 1e3
        ));
    }
    let group = scale.group;
    texts.push(match scale.over {
        Over::Cores => "cores share all of a slab evenly".into(),
        _ => format!(
            "slabs are of whole groups, {group} G′ each: a prediction ends where there is a group \
             for each of the {members}"
        ),
    });
    texts.push(match (scale.over, constants.gather_s, constants.gather_byte_s) {
        (Over::Cores, ..) => "no sums are gathered".into(),
        (_, 0.0, 0.0) => {
            format!("the gather of the sums takes no time: none was fitted on {members}")
        }
        (_, doubling, byte) => format!(
            "the gather of the sums takes {:.1} µs for each doubling of the {members} and {:.3} ns \
             for each byte, as between two of them on this host",
            doubling * 1e6,
            byte * 1e9
        ),
    });
    texts.push(format!("terms of other systems take as long as those of {system}"));
    texts
}
