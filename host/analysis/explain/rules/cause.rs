//! Which limit's work changed, and whether that fits the time.
//!
//! A limit's work is the time for which it would be busy alone: the share that is used of it, times the
//! time. It fits where it went the way of the time. The one that changed by the longest time weighs most.

use super::time::stays;
use super::{change, is_change, percent};
use crate::analysis::bounds::{Band, uses};
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
    if stays(step) || !is_change(time.1 / time.0) {
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
    let (share, is) = if is_less { (first.share, "was") } else { (first.busy.1 / time.1, "is") };
    let weight = match Band::of(share) {
        Band::Bound => format!(", which {is} the bound"),
        Band::Near => ", near it".to_string(),
        Band::Latency => ", not near it".to_string(),
    };
    let (direction, when) = if is_less { ("less", "before") } else { ("more", "now") };
    Some(format!(
        "What fits best is {direction} work for the {}, {}: {} of that limit {is} used {when}{weight}.",
        first.limit,
        change(first.busy),
        percent(share)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::made::{Made, made, said, times};

    /// A version with this time in milliseconds, share of the FP64 pipe in percent and bytes from HBM.
    fn at(ms: f64, pipe: f64, hbm: f64) -> Made {
        made(|profile, measured| {
            measured.times = times(ms * 1e-3);
            profile.duration_s = ms * 1e-3;
            profile.fp64_pipe_percent = Some(pipe);
            profile.pipes_percent.clear();
            profile.bytes.hbm = hbm;
            (profile.bytes.l2, profile.bytes.l1) = (None, None);
        })
    }

    #[test]
    fn the_work_that_went_the_way_of_the_time_is_named() {
        // 70 ms of the pipe's work become 49; HBM's 50 stay.
        let (more, less) = (at(100.0, 70.0, 2e11), at(75.0, 49.0 / 0.75, 2e11));
        let down = said(cause, &more, &less).unwrap();
        assert_eq!(
            down,
            "What fits best is less work for the FP64 pipe, −30 %: 70 % of that limit was used \
             before, near it."
        );
        let up = said(cause, &less, &more).unwrap();
        let near = "more work for the FP64 pipe, +43 %: 70 % of that limit is used now, near it.";
        assert!(up.ends_with(near), "{up}");
        // HBM's 90 ms become 40: bound before.
        let (more, less) = (at(100.0, 40.0, 3.6e11), at(60.0, 40.0 / 0.6, 1.6e11));
        let bytes = said(cause, &more, &less).unwrap();
        assert!(
            bytes.contains("−56 %: 90 % of that limit was used before, which was the"),
            "{bytes}"
        );
        let (more, less) = (at(100.0, 30.0, 2e11), at(60.0, 50.0, 1e11));
        let little = said(cause, &more, &less).unwrap();
        assert!(little.ends_with("50 % of that limit was used before, not near it."));
    }

    #[test]
    fn work_that_went_the_other_way_is_no_cause() {
        let (before, now) = (at(100.0, 50.0, 1e11), at(80.0, 75.0, 2e11));
        let said = said(cause, &before, &now).unwrap();
        assert!(said.starts_with("The work of no limit went that way: "), "{said}");
        assert!(said.contains("HBM bandwidth × 2.0") && said.contains("FP64 pipe +20 %"), "{said}");
    }

    #[test]
    fn work_may_change_for_nothing() {
        let (before, now) = (at(100.0, 50.0, 2e11), at(100.5, 50.0, 1e11));
        let stays = said(cause, &before, &now).unwrap();
        assert!(
            stays.contains("HBM bandwidth changes, −50 %: 50 % of that limit was used"),
            "{stays}"
        );
        assert_eq!(said(cause, &before, &at(100.5, 50.0, 2.01e11)), None);
    }

    #[test]
    fn without_counters_nothing_is_said() {
        let before = at(100.0, 70.0, 2e11);
        let bare = Made { profile: None, measured: None };
        assert_eq!(said(cause, &before, &bare), None);
        assert_eq!(said(cause, &bare, &before), None);
        let broken = at(f64::NAN, 70.0, 2e11);
        assert_eq!(said(cause, &before, &broken), None);
    }
}
