//! Which limit's work changed, and whether that fits the time.
//!
//! A limit's work is the time for which it would be busy alone: the share that is used of it, times the
//! time. It fits where it went the way of the time. The one that changed by the longest time weighs most.

use super::{change, is_change, percent};
use crate::analysis::bounds::{BOUND, NEAR, uses};
use crate::analysis::explain::step::{Side, Step};

/// The work of a limit, before and now.
struct Work {
    limit: &'static str,
    /// Share that was used of it before.
    share: f64,
    /// Seconds, before and now.
    busy: (f64, f64),
}

/// The limit whose work weighs most in the change of the time.
pub fn cause(step: &Step) -> Option<String> {
    let time = step.both(|side| Some(side.profile?.duration_s))?;
    let works = works(step)?;
    if !is_change(time.1 / time.0) {
        return unmoved(&works);
    }
    let is_less = time.1 < time.0;
    let fits = |work: &&Work| {
        let (before, now) = work.busy;
        is_change(now / before) && (now < before) == is_less
    };
    let by = |work: &Work| (work.busy.1 - work.busy.0).abs();
    let Some(first) = works.iter().filter(fits).max_by(|a, b| by(a).total_cmp(&by(b))) else {
        let all: Vec<String> = works.iter().map(told).collect();
        return Some(format!("The work of no limit went that way: {}.", all.join(", ")));
    };
    // More work counts where the limit is near with it, less where it was near without.
    let after = first.busy.1 / time.1;
    let (share, when) = if is_less { (first.share, "before") } else { (after, "with it") };
    let weight = match share {
        _ if share >= BOUND => format!("which bounds it {when}, {} used", percent(share)),
        _ if share >= NEAR => format!("which is near {when}, {} used", percent(share)),
        _ => format!("though no more than {} of that limit is used {when}", percent(share)),
    };
    let direction = if is_less { "less" } else { "more" };
    Some(format!(
        "What fits best is {direction} work for the {}, {}, {weight}.",
        first.limit,
        change(first.busy)
    ))
}

/// Work that changed much while the time did not.
fn unmoved(works: &[Work]) -> Option<String> {
    let by = |work: &&Work| (work.busy.1 / work.busy.0).ln().abs();
    let is_much = |work: &&Work| by(work) >= 0.1_f64.ln_1p();
    let moved = works.iter().filter(is_much).max_by(|a, b| by(a).total_cmp(&by(b)))?;
    Some(format!(
        "The time stays though the work for the {} changes, {}: {} of that limit was used.",
        moved.limit,
        change(moved.busy),
        percent(moved.share)
    ))
}

fn told(work: &Work) -> String {
    format!("{} {}", work.limit, change(work.busy))
}

/// The work of each limit that both versions were seen to use.
fn works(step: &Step) -> Option<Vec<Work>> {
    let of = |side: &Side| Some(uses(side.profile?, step.ceilings?, None));
    let (before, now) = (of(step.before.as_ref()?)?, of(&step.now)?);
    let time = step.both(|side| Some(side.profile?.duration_s))?;
    let works: Vec<Work> = before
        .iter()
        .filter_map(|own| {
            let same = now.iter().find(|other| other.limit == own.limit)?;
            let busy = (own.share * time.0, same.share * time.1);
            let is_known = busy.0 > 0.0 && busy.1.is_finite();
            is_known.then_some(Work { limit: own.limit, share: own.share, busy })
        })
        .collect();
    (!works.is_empty()).then_some(works)
}
