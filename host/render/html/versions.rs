//! Version by version: what bounds it and what changed.

use maud::{Markup, html};

use crate::analysis::bounds::{BOUND, NEAR, verdict};
use crate::analysis::changes::changed_before;
use crate::catalogue;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::render::table::or_dash;

pub(super) fn versions(profiles: &[Profile], ceilings: &Ceilings, run: &Run) -> Markup {
    html! {
        h2 { "Version by version" }
        div .scroll { table {
            tr { th { "version" } th .left { "what it changes" } th { "time [ms]" }
                 th .left { "what bounds it" } th .left { "what changed from the one before" } }
            @for profile in profiles {
                tr {
                    td { (profile.version) }
                    td .wrap {
                        @if let Some(listed) = catalogue::find(&profile.version) { (listed.version.change) }
                    }
                    td { (format!("{:.1}", profile.seconds() * 1e3)) }
                    td .wrap { (verdict(profile, ceilings, run.passed_result(&profile.version)).to_string()) }
                    td .wrap { (or_dash(changed_before(profile, profiles))) }
                }
            }
        } }
        p .note {
            "A limit used to " (format!("{:.0} %", BOUND * 100.0)) " or more is called what bounds "
            "a version, one used to " (format!("{:.0} %", NEAR * 100.0)) " or more is near; below, "
            "latency bounds it. Bandwidths are relative to the ceilings, over the profiler’s own time."
        }
    }
}
