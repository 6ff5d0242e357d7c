//! Why warps wait.

use maud::{Markup, html};

use crate::record::profile::Profile;

/// Colours of the stall reasons, most frequent first.
const COLORS: [&str; 7] =
    ["#1f5fbf", "#c96a00", "#1f8a4c", "#a01e3c", "#6b4fa0", "#0e8a94", "#8a8f98"];

pub(super) fn stalls(profiles: &[Profile]) -> Markup {
    let named: Vec<&Profile> = profiles.iter().filter(|p| !p.stalls.is_empty()).collect();
    html! {
        @if !named.is_empty() {
            h2 { "Why warps wait" }
            div .scroll { table {
                tr { th { "version" } th .left { "share of the cycles between two instructions" }
                     th .left { "reasons" } }
                @for profile in named {
                    @let reasons = ordered_stalls(profile);
                    tr {
                        td { (profile.version) }
                        td .left { div .stack {
                            @for (at, (reason, share)) in reasons.iter().enumerate() {
                                span title=(format!("{reason}: {:.1} %", share * 100.0))
                                    style=(format!("width:{:.2}%;background:{}", share * 100.0,
                                                   COLORS[at.min(COLORS.len() - 1)])) {}
                            }
                        } }
                        td .wrap {
                            @for (at, (reason, share)) in reasons.iter().take(4).enumerate() {
                                span style=(format!("color:{}", COLORS[at])) {
                                    (reason.replace('_', " "))
                                }
                                (format!(" {:.0} % ", share * 100.0))
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn ordered_stalls(profile: &Profile) -> Vec<(&str, f64)> {
    let mut reasons: Vec<(&str, f64)> =
        profile.stalls.iter().map(|(reason, share)| (reason.as_str(), *share)).collect();
    reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
    reasons
}
