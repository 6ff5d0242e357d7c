//! Why warps wait: a colour for each reason, over all versions.

use maud::{Markup, html};

use super::sheet::named;
use crate::analysis::stalls::{ELIGIBLE, REASONS};
use crate::record::profile::Profile;

/// Reasons that no version has a larger share of stand together.
const TOLD: f64 = 0.01;

/// The stalls of some profiles, and the reasons that stand for themselves in them.
pub(super) struct Stalls<'a> {
    profiles: Vec<&'a Profile>,
    told: Vec<(&'static str, &'static str)>,
}

impl<'a> Stalls<'a> {
    /// Of the profiles that tell of stalls.
    pub(super) fn of(profiles: &'a [Profile]) -> Stalls<'a> {
        let profiles: Vec<&Profile> = profiles.iter().filter(|p| !p.stalls.is_empty()).collect();
        let most = |reason: &str| profiles.iter().map(|p| share(p, reason)).fold(0.0, f64::max);
        let told = REASONS.into_iter().filter(|(reason, _)| most(reason) >= TOLD).collect();
        Stalls { profiles, told }
    }

    /// All of them, with the legend.
    pub(super) fn all(&self) -> Markup {
        html! {
            @if !self.profiles.is_empty() {
                p .note {
                    "Of the cycles between two instructions of a warp, the share that it spent on each "
                    "reason. Grey, apart: it was eligible and waited for nothing."
                }
                ul .legend {
                    @for (reason, what) in self.told.iter().chain(&ELIGIBLE) {
                        li { span .key.(class(reason)) {} b { (spaced(reason)) } " " (what) }
                    }
                    @if self.profiles.iter().any(|profile| self.others(profile) > 0.0) {
                        li { span .key.s-others {} b { "others" } " each below "
                             (format!("{:.0} %", TOLD * 100.0)) }
                    }
                }
                div .stalls { @for profile in &self.profiles { (self.bar(profile)) } }
            }
        }
    }

    /// The bars of some versions.
    pub(super) fn beside<'v>(&self, versions: impl Iterator<Item = &'v str>) -> Markup {
        let of = |id| self.profiles.iter().find(|profile| profile.version == id);
        html! { div .stalls { @for profile in versions.filter_map(of) { (self.bar(profile)) } } }
    }

    fn bar(&self, profile: &Profile) -> Markup {
        let part = |reason: &str, share: f64| {
            html! {
                @if share > 0.0 {
                    span .(class(reason)) style=(format!("width:{:.2}%", share * 100.0))
                        title=(format!("{}: {:.1} %", spaced(reason), share * 100.0)) {}
                }
            }
        };
        let mut most: Vec<(&str, f64)> =
            self.told.iter().map(|(reason, _)| (*reason, share(profile, reason))).collect();
        most.sort_by(|a, b| b.1.total_cmp(&a.1));
        let parts = most.iter().filter(|(_, share)| *share >= TOLD);
        let parts: Vec<String> = parts
            .map(|(reason, share)| format!("{} {:.0} %", spaced(reason), share * 100.0))
            .collect();
        let told = format!("{} waits: {}", profile.version, parts.join(", "));
        html! {
            div .stall data-version=(profile.version) {
                (named(Some(&profile.version), &profile.version))
                div .stack tabindex="0" role="img" aria-label=(told) data-told=(told) {
                    @for (reason, _) in &self.told { (part(reason, share(profile, reason))) }
                    (part("others", self.others(profile)))
                    span .gap {}
                    @for (reason, _) in ELIGIBLE { (part(reason, share(profile, reason))) }
                }
                span .most {
                    @for (reason, share) in most.iter().take(3).filter(|(_, share)| *share >= TOLD) {
                        span { span .key.(class(reason)) {} (spaced(reason))
                               (format!(" {:.0} %", share * 100.0)) }
                    }
                }
            }
        }
    }

    /// The share of what has no colour of its own here.
    fn others(&self, profile: &Profile) -> f64 {
        let told = self.told.iter().chain(&ELIGIBLE);
        let is_told = |reason: &str| told.clone().any(|(known, _)| *known == reason);
        let untold = profile.stalls.iter().filter(|(reason, _)| !is_told(reason));
        untold.map(|(_, share)| share).sum()
    }
}

fn share(profile: &Profile, reason: &str) -> f64 {
    profile.stalls.get(reason).copied().unwrap_or(0.0)
}

fn class(reason: &str) -> String {
    format!("s-{reason}")
}

fn spaced(reason: &str) -> String {
    reason.replace('_', " ")
}
