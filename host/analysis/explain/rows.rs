//! The table of a card: what was measured of a version and of the one before.

use std::collections::BTreeSet;

use serde::Serialize;

use super::step::{Side, Step, Told, baseline};
use crate::analysis::levels::Level;
use crate::analysis::peaks::share_of_peak;
use crate::record::profile::Profile;

/// Reasons to wait that a card names.
const STALLS: usize = 5;

/// A quantity before and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What kind of quantity it is.
    pub group: Group,
    /// Its name.
    pub name: String,
    /// Its unit; empty of a count.
    pub unit: &'static str,
    /// Of the version before.
    pub before: Option<f64>,
    /// Of the version.
    pub now: Option<f64>,
    /// `now / before − 1`; null where one of them is, or where there was none before.
    pub change: Option<f64>,
    /// What was published of the same quantity; null where nothing was.
    pub published: Option<Pair>,
}

/// A published quantity, before and now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Of the version before.
    pub before: Option<f64>,
    /// Of the version.
    pub now: f64,
    /// As [`Row::change`].
    pub change: Option<f64>,
}

/// Kinds of quantities, in the order of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Time, clock, cycles, energy.
    Time,
    /// Registers, warps.
    Kernel,
    /// Operations and rates.
    Operations,
    /// Bytes at each level.
    Bytes,
    /// What warps wait for.
    Waits,
}

/// All rows that one of the versions has a value for.
pub fn rows(step: &Step) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |group, name: &str, unit, of: &dyn Fn(&Side) -> Option<f64>, told: ToldOf| {
        let (before, now) = (step.before.as_ref().and_then(of), of(&step.now));
        let published = step.published.as_ref().and_then(|published| {
            let (before, now) = (published.before.as_ref().and_then(told), told(&published.now)?);
            Some(Pair { before, now, change: change(before, Some(now)) })
        });
        if before.or(now).is_some() {
            let change = change(before, now);
            rows.push(Row { group, name: name.into(), unit, before, now, change, published });
        }
    };
    time(&mut row, step);
    kernel(&mut row);
    operations(&mut row, step);
    bytes(&mut row);
    waits(&mut row, step);
    rows
}

/// What was published of a quantity.
type ToldOf<'a> = &'a dyn Fn(&Told) -> Option<f64>;

/// Takes a row in: group, name, unit, the value of a version, what was published.
type Take<'a> = &'a mut dyn FnMut(Group, &str, &'static str, &dyn Fn(&Side) -> Option<f64>, ToldOf);

fn nothing(_: &Told) -> Option<f64> {
    None
}

fn time(row: Take, step: &Step) {
    let told: ToldOf = &|told| Some(told.time_s? * 1e3);
    row(Group::Time, "time", "ms", &|side| Some(side.seconds()? * 1e3), told);
    let over = format!("over {}", baseline(step.now.id).unwrap_or("the baseline"));
    row(Group::Time, &over, "×", &|side| side.over_baseline, &|told| told.over_baseline);
    row(Group::Time, "cycles", "10⁶", &|side| Some(side.cycles()? / 1e6), &nothing);
    let counted = |side: &Side| Some(side.profile?.cycles? / 1e6);
    if step.now.cycles().is_none() {
        row(Group::Time, "cycles under the profiler", "10⁶", &counted, &nothing);
    }
    row(Group::Time, "clock", "MHz", &|side| side.clock_mhz(), &nothing);
    row(Group::Time, "power", "W", &|side| side.watts(), &nothing);
    row(Group::Time, "energy", "J", &|side| side.measured?.energy_j, &nothing);
}

fn kernel(row: Take) {
    let told: ToldOf = &|told| told.registers.map(f64::from);
    row(Group::Kernel, "registers", "", &|side| side.registers().map(f64::from), told);
    let fit = |side: &Side| side.measured?.warps_per_sm.map(f64::from);
    row(Group::Kernel, "warps that fit", "", &fit, &|told| told.warps.map(f64::from));
    row(Group::Kernel, "warps active", "", &|side| side.profile?.warps_per_sm, &nothing);
    let local = |side: &Side| side.measured?.local_bytes.map(f64::from);
    row(Group::Kernel, "local memory of a thread", "B", &local, &nothing);
}

fn operations(row: Take, step: &Step) {
    let profile = |of: fn(&Profile) -> f64| move |side: &Side| side.profile.map(of);
    row(Group::Operations, "FLOP a term", "", &profile(|own| own.flops_per_term()), &nothing);
    let fused = profile(|own| own.fma_ratio() * 100.0);
    row(Group::Operations, "fused, of the arithmetic", "%", &fused, &nothing);
    let rate = |side: &Side| {
        side.profile.map(|own| own.flops() / side.seconds().unwrap_or(own.duration_s))
    };
    row(Group::Operations, "rate", "TFLOP/s", &|side| Some(rate(side)? / 1e12), &|told| {
        told.tflops
    });
    let own = |side: &Side| {
        let reachable = step.ceilings?.fp64 * share_of_peak(side.profile?.fma_ratio());
        Some(rate(side)? / reachable * 100.0)
    };
    row(Group::Operations, "of what its fused share can reach", "%", &own, &nothing);
    let pipe = |side: &Side| side.profile?.fp64_pipe_percent;
    row(Group::Operations, "FP64 pipe busy", "%", &pipe, &nothing);
    let instructions = |side: &Side| Some(side.instructions()? / 1e6);
    row(Group::Operations, "instructions of a multiprocessor", "10⁶", &instructions, &nothing);
}

fn bytes(row: Take) {
    let of = |level: Level| move |side: &Side| Some(level.bytes(side.profile?)? / 1e9);
    row(Group::Bytes, Level::Hbm.name(), "GB", &of(Level::Hbm), &nothing);
    row(Group::Bytes, "L2, its fabric included", "GB", &of(Level::L2AndFabric), &nothing);
    row(Group::Bytes, "L2, from L1", "GB", &of(Level::L2), &nothing);
    let fabric = |side: &Side| Some(side.profile?.bytes.l2_fabric? / 1e9);
    row(Group::Bytes, "L2, its fabric", "GB", &fabric, &nothing);
    row(Group::Bytes, "L1", "GB", &of(Level::L1), &nothing);
    row(Group::Bytes, "shared memory", "GB", &of(Level::Shared), &nothing);
    let intensity = |side: &Side| side.profile.map(|own| own.flops() / own.bytes.hbm);
    row(Group::Bytes, "operations a byte of memory", "FLOP/B", &intensity, &|told| told.intensity);
}

fn waits(row: Take, step: &Step) {
    let between = |side: &Side| side.cycles_an_instruction();
    row(Group::Waits, "cycles between two instructions of a warp", "", &between, &nothing);
    for reason in leading(step) {
        let share = |side: &Side| Some(side.profile?.stalls.get(reason)? * 100.0);
        row(Group::Waits, &reason.replace('_', " "), "%", &share, &nothing);
    }
}

/// The reasons that warps of one version or the other wait for most, the leading one first.
fn leading<'a>(step: &Step<'a>) -> Vec<&'a str> {
    let sides = step.before.iter().chain([&step.now]);
    let profiles: Vec<_> = sides.filter_map(|side| side.profile).collect();
    let all: BTreeSet<&str> =
        profiles.iter().flat_map(|own| own.stalls.keys()).map(String::as_str).collect();
    let largest = |reason: &str| {
        profiles.iter().filter_map(|own| own.stalls.get(reason)).fold(0.0_f64, |a, &b| a.max(b))
    };
    let issues = ["selected", "not_selected"];
    let mut reasons: Vec<&str> = all
        .into_iter()
        .filter(|reason| !issues.contains(reason) && largest(reason) > 0.0)
        .collect();
    reasons.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    reasons.truncate(STALLS);
    reasons
}

/// The change of a quantity, where both are known.
pub fn change(before: Option<f64>, now: Option<f64>) -> Option<f64> {
    let (before, now) = before.zip(now)?;
    let change = now / before - 1.0;
    change.is_finite().then_some(change)
}
