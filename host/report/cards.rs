//! One card a step: why its time changed, in a sentence and in cycles and clock; the rest is folded.

use maud::{Markup, PreEscaped, html};

use crate::catalogue::sources::{ABOUT, NEST, SUM, WORDS};
use crate::catalogue::{journey, order};
use crate::chart::{Chart, Roofline, Sizes};
use crate::explain::difference::{Difference, Hunk, Sign};
use crate::explain::show::{change, number};
use crate::explain::verdict::{ELIGIBLE, REASONS, Rule};
use crate::explain::{Card, Evidence, Group, Row, card};
use crate::offdiag::records::{Folder, Matrices, by_bands, by_version, counters_table};
use crate::record::profile::{Ceilings, Profile};
use crate::report::{Page, Sheet, named};
use crate::roofline::{of_own_ceiling, share_of_peak};
use crate::run;
use crate::terminal::{Cells, or_dash};

/// A counter that changed by this share or more is shown so.
const MOVED: f64 = 0.1;

/// The quantities of a card's bars: time is cycles over clock.
const FACTORS: [&str; 4] = ["time", "cycles", "clock", "energy"];

/// The cards of these versions, each beside the nearest before it.
pub(super) fn cards(page: &Page, steps: &[&str]) -> Markup {
    let stalls = Stalls::of(page.profiles);
    let evidence = Evidence {
        from: "",
        run: Some(page.run),
        profiles: page.profiles,
        ceilings: Some(page.ceilings),
    };
    let of = |id: &str| {
        let before = order::nearest_before(id, steps.iter().copied());
        card(id, before, evidence).or_else(|| card(id, None, evidence))
    };
    html! {
        p .note {
            "A card for each version, beside the one that it builds on: the lines of the nest that it "
            "changes, and why its time is what it is."
        }
        @for id in steps {
            @match of(id) {
                Some(card) => (one(&card, &stalls)),
                None => article .card id=(id) data-version=(id) {
                    h3 { (id) }
                    p .wrong { "It did not pass, or nothing is known of it: see the tables below." }
                },
            }
        }
    }
}

fn one(card: &Card, stalls: &Stalls) -> Markup {
    let (id, before) = (card.version.as_str(), card.before.as_deref());
    let told =
        |rule: Rule| card.verdict.iter().find(|said| said.rule == rule).map(|said| &said.text);
    let first = told(Rule::Why).or(told(Rule::Bound));
    html! {
        article .card id=(id) data-version=(id) {
            h3 { a href=(format!("#{id}")) { (id) } " " (prose(card.idea.title.trim_end_matches('.'))) }
            @if let Some(lines) = &card.idea.lines { (strip(lines)) }
            div .figures {
                div .sides {
                    @if let Some(first) = first { p .verdict { (first) } }
                    (factors(card))
                }
                details .more {
                    summary { "Counters, stalls and what bounds it" }
                    @if told(Rule::Why).is_some() { @if let Some(text) = told(Rule::Bound) { p { (text) } } }
                    @if let Some(text) = told(Rule::Published) { p { (text) } }
                    (counters(card))
                    (stalls.beside(before.into_iter().chain([id])))
                }
            }
            details .more {
                summary { "The idea" @if let Some(changed) = &card.difference { (count(changed)) } }
                @for text in &card.idea.text { p { (prose(text)) } }
                p .note {
                    (card.idea.source)
                    @if let Some(told) = journey(&card.journey) { " · " (told.title) }
                    " · " (card.idea.file)
                }
                @for hunk in card.difference.iter().flat_map(|changed| &changed.hunks) { (lines(hunk)) }
            }
        }
    }
}

fn count(changed: &Difference) -> String {
    let lines = |count: usize| if count == 1 { "line" } else { "lines" };
    format!(
        " and its code: {} {} new, {} gone",
        changed.added,
        lines(changed.added),
        changed.removed
    )
}

/// Time, cycles, clock and energy as bars, over those of the version before.
fn factors(card: &Card) -> Markup {
    let row = |name: &&str| card.rows.iter().find(|row| row.name == **name);
    html! {
        div .factors { @for row in FACTORS.iter().filter_map(row) {
            @if let Some(now) = row.now {
                @let most = now.max(row.before.unwrap_or(now));
                @let width = |value: f64| format!("width:{:.1}%", 100.0 * value / most);
                div .factor {
                    span { (row.name) }
                    span .both {
                        @if let Some(before) = row.before { span .there style=(width(before)) {} }
                        span .here style=(width(now)) {}
                    }
                    span { (number(Some(now))) @if row.unit.starts_with("10") { " ·" } @else { " " } (row.unit) }
                    b { @if row.change.is_some() { (change(row.change)) } }
                }
            }
        } }
    }
}

/// All rows, beside the version before and what was published.
fn counters(card: &Card) -> Markup {
    let groups = [Group::Time, Group::Kernel, Group::Operations, Group::Bytes, Group::Waits];
    let rows: Vec<&Row> = card.rows.iter().filter(|row| groups.contains(&row.group)).collect();
    let has_published = rows.iter().any(|row| row.published.is_some());
    let by = card.published_by.as_deref().unwrap_or("published");
    html! {
        @if !rows.is_empty() { div .scroll { table .counters {
            thead { tr {
                th scope="col" {}
                @if let Some(before) = &card.before { th scope="col" { (before) } }
                th scope="col" { (card.version) }
                @if card.before.is_some() { th scope="col" { "change" } }
                @if has_published { th scope="col" { (by) } }
            } }
            tbody { @for row in &rows {
                tr .moved[row.change.is_some_and(|change| change.abs() >= MOVED)] {
                    th scope="row" { (row.name) @if !row.unit.is_empty() { " [" (row.unit) "]" } }
                    @if card.before.is_some() { td { (number(row.before)) } }
                    td { (number(row.now)) }
                    @if card.before.is_some() { td .change { (change(row.change)) } }
                    @if has_published { td .published { @if let Some(pair) = &row.published {
                        @if let Some(before) = pair.before { (number(Some(before))) " → " }
                        (number(Some(pair.now)))
                    } } }
                }
            } }
        } } }
    }
}

fn lines(hunk: &Hunk) -> Markup {
    html! {
        pre .diff { span .file { (hunk.place()) } @for line in &hunk.lines {
            @let class = match line.sign {
                Sign::Added => "added", Sign::Removed => "removed", Sign::Kept => "same",
            };
            span .(class) { (line.sign.sign()) " " (line.text) }
        } }
    }
}

/// A comment's text: what stands between backticks is code, of a link its last name, between stars it is
/// stressed.
fn prose(text: &str) -> Markup {
    let plain = text.replace("[`", "`").replace("`]", "`");
    html! {
        @for (at, part) in plain.split('`').enumerate() {
            @if at % 2 == 1 {
                code { (part.rsplit("::").next().unwrap_or(part)) }
            } @else {
                @for (at, part) in part.split('*').enumerate() {
                    @if at % 2 == 1 { em { (part) } } @else { (part) }
                }
            }
        }
    }
}

// Operations and instructions.

pub(super) fn counts(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    let per_term = |value: f64, profile: &Profile| format!("{:.2}", value / profile.terms as f64);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut hardware = Sheet::new(&[
        "version",
        "add",
        "mul",
        "FMA",
        "FLOP",
        "FLOP/byte HBM",
        "FMA share",
        "share of peak",
        "of own ceiling",
        "sustained",
    ]);
    for p in profiles {
        let own = of_own_ceiling(p, ceilings);
        let cells = vec![
            p.version.clone(),
            per_term(p.dadd, p),
            per_term(p.dmul, p),
            per_term(p.dfma, p),
            per_term(p.flops(), p),
            format!("{:.1}", p.flops() / p.bytes.hbm),
            percent(p.fma_ratio()),
            percent(share_of_peak(p.fma_ratio())),
            percent(own.burst),
            or_dash(own.sustained.map(percent)),
        ];
        hardware.push(Some(&p.version), cells);
    }
    html! {
        (hardware.markup())
        p .note {
            "For each term (n, igp, ig, iw), counted by "
            "the hardware ("
            @if let Some(p) = profiles.first() { (p.source) }
            "). “Share of peak” is what a kernel of this share of FMA can reach of the FP64 peak; “of "
            "own ceiling” is how much of that it does, by the measured peak of a burst and by the "
            "sustained one (the paper’s v8: 70 % on a V100)."
        }
    }
}

// The kernel in a minute, and the lines of it that a version changes.

pub(super) fn kernel() -> Markup {
    html! {
        p { (ABOUT) }
        pre .sum { (SUM.join("\n")) }
        ol .nest { @for line in &NEST {
            li style=(format!("--depth:{}", line.depth)) { code { (line.code) } " " span { (line.why) } }
        } }
        dl .words { @for (word, meaning) in WORDS { div { dt { (word) } dd { (meaning) } } } }
    }
}

/// Which lines a version changes, as a strip of all ten.
pub(super) fn strip(lines: &[usize]) -> Markup {
    let said = match lines {
        [] => "changes the launch".to_string(),
        [line] => format!("changes line {line}"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("changes lines {} and {last}", most.join(", "))
        }
    };
    html! {
        a .strip href="#kernel" aria-label=(format!("{said} of the kernel")) {
            span { @if lines.is_empty() { "launch" } @else { "lines" } }
            @for line in 1..=NEST.len() { i .on[lines.contains(&line)] { (line) } }
        }
    }
}

// Σ as a matrix: its versions, the time of more and more bands, and a picture.

/// With the roofline where the device's ceilings are known and the folder's counters tell of it.
pub(super) fn matrices(folder: &Folder, ceilings: Option<&Ceilings>) -> Markup {
    let record = folder.of_versions();
    let sheet = |cells: &Cells| Sheet::of(cells, |_| None).words([2]).markup();
    let counters = counters_table(folder);
    let is_counted = counters.rows.iter().any(|row| row[1..].iter().any(|cell| cell != "–"));
    let points = ceilings.and_then(|ceilings| Matrices::of(folder, ceilings).ok());
    html! {
        p {
            "All elements Σ_lm between " (record.count()) " bands, on " (record.head.device.name) ": "
            (run::system(&record.system)) "."
        }
        @if record.results.len() > 1 {
            (sheet(&by_version(folder, &record.system.name, record.count())))
        }
        @if is_counted {
            h3 {
                "Counters of the first product of CH: " (record.system.name) ", " (record.count()) " bands"
            }
            (Sheet::of(&counters, |_| None).markup())
        }
        @if let Some(points) = points {
            figure { (PreEscaped(Roofline::of_matrices(&points).inline())) }
        }
        h3 { "Over numbers of bands" }
        (sheet(&by_bands(folder)))
        p .note {
            "Medians of the products’ time; 8 operations a complex product. Each row is of the fastest version in its "
            "record; errors are relative to Σ|terms|."
        }
        @if let Some(sizes) = matrix_picture(folder) {
            figure { (PreEscaped(sizes.inline())) }
        }
    }
}

/// That of the record with most versions or, where it has none, of another.
fn matrix_picture(folder: &Folder) -> Option<Sizes<'_>> {
    let first = std::iter::once(folder.of_versions());
    first.chain(&folder.records).find_map(Sizes::recorded)
}

// Why warps wait: a colour for each reason, over all versions.

/// Reasons that no version has a larger share of stand together.
const TOLD: f64 = 0.01;

/// The stalls of some profiles, and the reasons that stand for themselves in them.
pub(super) struct Stalls<'a> {
    profiles: Vec<&'a Profile>,
    told: Vec<(&'static str, &'static str)>,
}

impl<'a> Stalls<'a> {
    pub(super) fn of(profiles: &'a [Profile]) -> Stalls<'a> {
        let profiles: Vec<&Profile> = profiles.iter().filter(|p| !p.stalls.is_empty()).collect();
        let most = |reason: &str| profiles.iter().map(|p| share(p, reason)).fold(0.0, f64::max);
        let told = REASONS.into_iter().filter(|(reason, _)| most(reason) >= TOLD).collect();
        Stalls { profiles, told }
    }

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
