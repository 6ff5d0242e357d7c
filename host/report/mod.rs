//! `gpp report`: one HTML page.

mod cards;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::catalogue::{self, journey_of, order};
use crate::chart::{Chart, Roofline};
use crate::cli::args::{DEFAULT_FOLDER, ReportArgs};
use crate::error::Result;
use crate::offdiag::records::Folder;
use crate::outcomes::{all_reservations, clock_lost, found, reference, words};
use crate::output::{Files, print, replace};
use crate::profile::Records;
use crate::record::Provenance;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Measurement, Run, Span, State};
use crate::reference::verify::Outcome;
use crate::roofline::{FIGURES, Figure, LEVELS, Level, of_offdiag, shared_limits};
use crate::run;
use crate::sigma::Sigma;
use crate::table::show::{is_noise, mark, of_which_system};
use crate::table::{self, Row, Section};
use crate::terminal::{Cells, or_dash};

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    Files::new().writes("--output", &args.output).check()?;
    let matrices = args.offdiag.as_deref().map(offdiag).transpose()?;
    let default = Path::new(DEFAULT_FOLDER);
    if let (Some(matrices), true) = (&matrices, args.is_of_matrices() && !default.exists()) {
        let output = output(args);
        let files = Files::new().reads("--offdiag", matrices.files());
        files.writes("--output", [&output]).check()?;
        return write(&output, &of_matrices(matrices));
    }
    let records = Records::load(args.from.as_deref().unwrap_or(default))?;
    let run = records.run()?;
    let mut sections = table::sections(&run, None);
    for section in &mut sections {
        table::rate_by(&mut section.rows, &records.profiles);
    }
    let output = output(args);
    let files = Files::new().reads("--from", records.files());
    let files = files.reads("--offdiag", matrices.iter().flat_map(Folder::files));
    files.writes("--output", [&output]).check()?;
    let page = Page {
        run: &run,
        sections: &sections,
        profiles: &records.profiles,
        ceilings: &records.ceilings,
        matrices: matrices.as_ref(),
    };
    write(&output, &self::page(&page))
}

fn output(args: &ReportArgs) -> PathBuf {
    args.output.clone().unwrap_or_else(|| "report.html".into())
}

fn write(output: &Path, page: &str) -> anyhow::Result<ExitCode> {
    replace(output, |file| std::io::Write::write_all(file, page.as_bytes()))?;
    print(|to| writeln!(to, "{}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Σ as a matrix; what is wrong with it is said of its flag.
fn offdiag(path: &Path) -> Result<Folder> {
    Folder::load(path).map_err(of_offdiag)
}

// The report: one self-contained page. Everything in it comes from stored records, and all of it is there
// without the script, which adds: a version highlighted wherever it stands, journeys that hide.

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

const MATRICES: &str = "Σ as a matrix";

pub struct Page<'a> {
    pub run: &'a Run,
    pub sections: &'a [Section],
    pub profiles: &'a [Profile],
    pub ceilings: &'a Ceilings,
    pub matrices: Option<&'a Folder>,
}

/// A section and its line in the contents; one without a body vanishes.
struct Part {
    id: &'static str,
    title: &'static str,
    body: Markup,
    folded: bool,
}

pub fn page(page: &Page) -> String {
    let title = format!("GPP on {}: {}", page.ceilings.device, page.run.system.name);
    let steps = steps(page);
    let parts = parts(page, &steps);
    let body = html! {
        a .skip href="#main" { "To the figures" }
        (summary(page, &title))
        div .frame {
            aside { (contents(&parts, &steps)) (controls(page)) }
            main #main {
                @for part in parts.iter().filter(|part| !part.folded) {
                    section id=(part.id) { h2 { (part.title) } (part.body) }
                }
                section #more {
                    h2 { "More" }
                    @for part in parts.iter().filter(|part| part.folded) {
                        details .part id=(part.id) { summary { (part.title) } (part.body) }
                    }
                }
            }
        }
        (kept())
        script { (PreEscaped(SCRIPT)) }
    };
    document(&title, &body)
}

/// The page of Σ as a matrix alone.
pub fn of_matrices(folder: &Folder) -> String {
    let record = folder.of_versions();
    let title = format!("{MATRICES} on {}: {}", record.head.device.name, record.system.name);
    let body = html! {
        header { h1 { (title) } }
        main #matrices { (cards::matrices(folder, None)) }
    };
    document(&title, &body)
}

fn document(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    markup.into_string()
}

/// All sections that have something to show.
fn parts(page: &Page, steps: &[&str]) -> Vec<Part> {
    let Page { run, sections, profiles, ceilings, .. } = *page;
    let none = || html! {};
    let part = |id, title, body| Part { id, title, body, folded: false };
    let folded = |id, title, body| Part { id, title, body, folded: true };
    let matrices = page.matrices.map(|folder| cards::matrices(folder, Some(ceilings)));
    let mut parts = vec![
        part("results", "All versions", results(sections)),
        part("kernel", "The kernel in a minute", cards::kernel()),
        part("steps", "Step by step", cards::cards(page, steps)),
        part("sigma", "Σ(ω)", sigma(run)),
        part("rooflines", "Roofline", rooflines(profiles, ceilings)),
        part("stalls", "Why warps wait", cards::Stalls::of(profiles).all()),
        folded("measured", "Clock, power and error of the runs", measured(run)),
        folded(
            "operations",
            "Operations and instructions",
            html! {
                (cards::counts(profiles, ceilings))
            },
        ),
        folded("matrices", MATRICES, matrices.unwrap_or_else(none)),
        folded("device", "Device, system and ceilings", device(run, ceilings)),
        folded("reproduce", "How to reproduce it", reproduce(&run.system.name)),
    ];
    parts.retain(|part| !part.body.0.is_empty());
    parts
}

/// The rooflines of whole journeys by HBM; by other levels, and as the paper has them, folded.
fn rooflines(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    let whole = |figure: &&Figure| figure.is_whole();
    let (stories, papers): (Vec<&Figure>, Vec<&Figure>) =
        FIGURES.iter().filter(|figure| figure.paper.is_some() || whole(figure)).partition(whole);
    let drawn = |figures: &[&Figure], levels: &dyn Fn(&Figure) -> Vec<Level>| {
        let mut all = Vec::new();
        for figure in figures {
            let shown = figure.of(profiles);
            for level in levels(figure) {
                if shown.iter().any(|own| level.bytes(own).is_some()) {
                    let chart = Roofline::of(&figure.title(&shown), &shown, ceilings, &[level]);
                    all.push((level, chart.inline()));
                }
            }
        }
        all
    };
    let by_hbm = drawn(&stories, &|_| vec![Level::Hbm]);
    let others = drawn(&stories, &|_| LEVELS.into_iter().skip(1).collect());
    let papers = drawn(&papers, &|_| vec![Level::Hbm]);
    let charts = |charts: &[(Level, String)]| {
        html! { div .charts { @for (level, svg) in charts {
            figure { figcaption { "by " (level.name()) } (PreEscaped(svg)) }
        } } }
    };
    html! {
        @if !by_hbm.is_empty() {
            p .note {
                "Rate against operations for each byte moved. Operations are those that were counted, a "
                "fused one being two."
            }
            (charts(&by_hbm))
            @if !others.is_empty() {
                details .more { summary { "By the other levels of memory" } (charts(&others)) }
            }
            @if !papers.is_empty() {
                details .more { summary { "The steps of the paper’s Figures 1, 3, 5 and 6" } (charts(&papers)) }
            }
        }
    }
}

fn reproduce(name: &str) -> Markup {
    html! {
        pre { "scripts/setup\ncargo build --release\n"
              "./target/release/gpp profile --system " (name) "\n"
              "./target/release/gpp roofline\n./target/release/gpp report\n" }
        p .note {
            "With an NVIDIA GPU, its driver and Nsight Compute, from the repository’s root, so that "
            "the profiler finds the Rust sources."
        }
    }
}

// What stands around the sections: contents, and what only the script uses.

/// The contents, a link to each section and to each version's card.
fn contents(parts: &[Part], steps: &[&str]) -> Markup {
    html! {
        nav aria-label="Contents" {
            details #contents open {
                summary { "Contents" }
                ul { @for part in parts { li { a href=(format!("#{}", part.id)) { (part.title) } } } }
                ul .steps { @for id in steps {
                    li data-version=(id) { a href=(format!("#{id}")) { (id) } }
                } }
            }
        }
    }
}

/// What is shown: hidden where no script makes it work.
fn controls(page: &Page) -> Markup {
    let mut journeys: Vec<(&str, Vec<String>)> = Vec::new();
    let ids = page.run.results.iter().map(|result| result.version.as_str());
    for id in ids.chain(page.profiles.iter().map(|profile| profile.version.as_str())) {
        let of = journey_of(id).map_or("others", |journey| journey.id);
        match journeys.iter_mut().find(|(journey, _)| *journey == of) {
            Some((_, ids)) if ids.iter().any(|known| known == id) => {}
            Some((_, ids)) => ids.push(id.into()),
            None => journeys.push((of, vec![id.into()])),
        }
    }
    html! {
        div #controls hidden {
            @if journeys.len() > 1 {
                fieldset { legend { "Journeys" }
                    @for (journey, ids) in &journeys { label {
                        input type="checkbox" checked data-versions=(ids.join(" "));
                        (journey)
                    } }
                }
            }
            p .note { "Point at a version to find it everywhere; click to keep it, Esc to let go." }
        }
    }
}

/// Where the script tells of what is pointed at, and which version is kept.
fn kept() -> Markup {
    html! {
        div #kept role="status" hidden {
            b {} " " span {} " " a href="#steps" { "its card" }
            button type="button" aria-label="let go" { "×" }
        }
    }
}

/// The versions that have a card: of the run and of its profiles, in their order.
fn steps<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let of_run = page.run.results.iter().map(|result| result.version.as_str());
    let of_profiles = page.profiles.iter().map(|profile| profile.version.as_str());
    let mut ids: Vec<&str> = of_run.chain(of_profiles).collect();
    ids.sort_by_key(|id| order::place(id).unwrap_or(usize::MAX));
    ids.dedup();
    ids
}

// Tables of the page.

/// A table whose rows may be of versions: these lead to the version's card and are highlighted with it.
struct Sheet<'a> {
    headings: Vec<String>,
    rows: Vec<(Option<&'a str>, Vec<String>)>,
    words: Vec<usize>,
}

/// Columns that a phone has room for, and a desk; rows of more are told in lines there.
const NARROW: usize = 4;
const WIDE: usize = 8;

/// What a cell without a value holds.
const NONE: &str = "–";

impl<'a> Sheet<'a> {
    /// A table without rows.
    fn new(headings: &[impl ToString]) -> Sheet<'a> {
        let headings = headings.iter().map(ToString::to_string).collect();
        Sheet { headings, rows: Vec::new(), words: Vec::new() }
    }

    /// The table that a terminal shows as well, its rows of versions where `version` says so.
    fn of(cells: &'a Cells, version: impl Fn(&'a [String]) -> Option<&'a str>) -> Sheet<'a> {
        let mut sheet = Sheet::new(&cells.headings);
        for row in &cells.rows {
            sheet.push(version(row), row.clone());
        }
        sheet
    }

    /// Has these columns wrap, as words do.
    fn words(mut self, columns: impl IntoIterator<Item = usize>) -> Sheet<'a> {
        self.words.extend(columns);
        self
    }

    /// Takes a row in, of a version where it is of one.
    fn push(&mut self, version: Option<&'a str>, cells: Vec<String>) {
        self.rows.push((version, cells));
    }

    /// The table without the columns in which no row has a value; nothing where it has no rows.
    fn markup(&self) -> Markup {
        let filled = |at: usize| self.rows.iter().any(|(_, cells)| cells[at] != NONE);
        let columns: Vec<usize> = (0..self.headings.len()).filter(|&at| filled(at)).collect();
        let width = match columns.len() {
            few if few <= NARROW => "narrow",
            some if some <= WIDE => "wide",
            _ => "widest",
        };
        html! {
            @if !self.rows.is_empty() {
                div .scroll { table .(width) {
                    thead { tr { @for &at in &columns {
                        th scope="col" .left[self.words.contains(&at)] { (self.headings[at]) }
                    } } }
                    tbody { @for (version, cells) in &self.rows {
                        tr data-version=[version] { @for (place, &at) in columns.iter().enumerate() {
                            @if place == 0 {
                                th scope="row" { (named(*version, &cells[at])) }
                            } @else {
                                td .wrap[self.words.contains(&at)] data-of=(self.headings[at]) { (cells[at]) }
                            }
                        } }
                    } }
                } }
            }
        }
    }
}

/// A version's name, leading to its card; a text that names none as it is.
fn named(version: Option<&str>, text: &str) -> Markup {
    html! {
        @match version {
            Some(version) => a href=(format!("#{version}")) { (text) },
            None => (text),
        }
    }
}

// The head of the page: what it is of, and what was found.

fn summary(page: &Page, title: &str) -> Markup {
    let section = page.sections.first();
    let said = section.map(|section| found(page.run, section));
    html! {
        header {
            h1 { (title) }
            p .lead {
                "BerkeleyGW’s General Plasmon Pole kernel in Rust, version by version: what each "
                "changes, what that costs and gains, and why."
            }
            div .found {
                div {
                    h2 { "What was found" }
                    ol { @for text in said.iter().flatten() { li { (text) } } }
                    p .note { (verified(page)) }
                    p .note { (provenance(page)) }
                    @if !page.run.head.complete { p .wrong { "The run was interrupted: versions are missing." } }
                }
                @if let Some(section) = section { (bars(section)) }
            }
        }
    }
}

/// Where the records come from, in a line.
fn provenance(page: &Page) -> String {
    let (device, from) = (&page.run.head.device, page.run.head.provenance.as_ref());
    let clock = device.clock_mhz.map(|clock| format!("up to {clock} MHz"));
    let repeat =
        from.and_then(|from| from.repeat).map(|runs| format!("{runs} timed runs or more each"));
    let date = from.map(|from| format!("measured {}", from.date));
    let commit =
        from.and_then(|from| from.commit.as_ref()).map(|commit| format!("commit {commit}"));
    let system = Some(run::system(&page.run.system));
    let all = [Some(device.name.clone()), clock, system, date, repeat, commit];
    all.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// How many versions passed, and the worst of them.
fn verified(page: &Page) -> String {
    let results = &page.run.results;
    let passed = results.iter().filter(|result| result.outcome() == Outcome::Passed).count();
    let errors = results.iter().filter_map(|result| result.verification.max_rel_error);
    let worst = errors.reduce(f64::max);
    let worst =
        worst.map_or(String::new(), |worst| format!("; largest relative error {worst:.1e}"));
    format!("{passed} of {} versions agree with the reference sums{worst}.", results.len())
}

// What the page is of: device, system, ceilings.

fn device(run: &Run, ceilings: &Ceilings) -> Markup {
    let (device, system) = (&run.head.device, &run.system);
    let of = |field: fn(&Provenance) -> Option<&String>| {
        or_dash(run.head.provenance.as_ref().and_then(field))
    };
    let tera = |value: f64, unit: &str| format!("{:.2} {unit}", value / 1e12);
    let promised = |value: Option<f64>| or_dash(value.map(|value| tera(value, "TB/s")));
    let memory = Level::Hbm.name();
    let theory = &ceilings.theoretical;
    html! {
        div .scroll { table {
            tr { th { "device" } td .left { (device.name) } }
            tr { th { "driver" } td .left { (or_dash(device.driver.as_ref())) } }
            tr { th { "compute capability" } td .left { (or_dash(device.compute_capability.as_ref())) } }
            tr { th { "multiprocessors" } td .left { (device.multiprocessors) } }
            tr { th { "kernels by" } td .left { (of(|p| p.kernels_by.as_ref())) } }
            tr { th { "program by" } td .left {
                (of(|p| p.program_by.as_ref())) ", commit " (of(|p| p.commit.as_ref()))
            } }
            tr { th { "measured" } td .left { (of(|p| Some(&p.date))) } }
            tr { th { "system" } td .left {
                (system.name) ": " (system.nbands) " bands, "
                (system.ngpown) " G′, " (system.ncouls) " G, energies "
                (system.nstart) "–" (system.nend)
            } }
        } }
        h3 { "Ceilings" }
        div .scroll { table {
            tr { th { "" } th { "measured" } th { "theoretical" } }
            tr { td { "FP64, all fused" } td { (tera(ceilings.fp64, "TFLOP/s")) }
                 td { (or_dash(theory.fp64.map(|v| tera(v, "TFLOP/s")))) } }
            @if let Some(sustained) = ceilings.fp64_sustained {
                tr { td { "FP64, sustained" } td { (tera(sustained, "TFLOP/s")) } td { "–" } }
            }
            tr { td { (memory) } td { (tera(ceilings.hbm, "TB/s")) } td { (promised(theory.hbm)) } }
            tr { td { "L2" } td { (tera(ceilings.l2, "TB/s")) } td { "–" } }
            tr { td { "L1" } td { (tera(ceilings.l1, "TB/s")) } td { (promised(theory.l1)) } }
            @if theory.shared.is_some() {
                tr { td { "shared memory" } td { "–" } td { (promised(theory.shared)) } }
            }
        } }
        @if ceilings.fp64_sustained.is_some() {
            p .note {
                "The FP64 peak is that of a burst of a twentieth of a second, at the highest clock; "
                "sustained for seconds it is what the board’s power limit leaves."
            }
        }
        @if let Some(shared) = theory.shared {
            p .note {
                "Shared memory moves " (tera(shared, "TB/s")) " by the rule of thumb "
                "(multiprocessors × 4 B × 32 lanes × clock): with one FP64 access for every 2, 1 and ½ "
                "operations it would allow "
                (shared_limits(shared).map(|rate| format!("{:.1}", rate / 1e12)).join(", "))
                " TFLOP/s."
            }
        }
    }
}

// What the machine did while it was timed, and how right the sums are.

const HEADINGS: [&str; 12] = [
    "version",
    "median [ms]",
    "95 % interval [ms]",
    "σ",
    "clock lost",
    "clock [MHz]",
    "power [W]",
    "temperature [°C]",
    "energy [J]",
    "cycles [10⁶]",
    "rel. error",
    "outcome",
];

fn measured(run: &Run) -> Markup {
    let mut sheet = Sheet::new(&HEADINGS).words([4]);
    for result in &run.results {
        sheet.push(Some(&result.version), cells(result, run.passed()));
    }
    let limits = run.results.iter().filter_map(|result| result.state.as_ref()?.power_limit_w);
    let limit = limits.reduce(f64::max);
    let references: Vec<_> = run.results.iter().map(|r| r.verification.reference).collect();
    let compared = references.first().filter(|first| references.iter().all(|r| r == *first));
    html! {
        (sheet.markup())
        p .note {
            "Medians of the timed runs. Errors are the largest of all sums"
            @if let Some(source) = compared { ", against " (reference(*source)) }
            @if run.passed() { "; all passed" }
            "."
            @for (said, versions) in all_reservations(&run.results) {
                " " (versions.join(", ")) ": passed" (said) "."
            }
            @if run.results.iter().any(|result| result.state.is_some()) {
                " Clock, power and temperature: median (lowest–highest) of what was seen during "
                "these runs. "
                @if let Some(limit) = limit { "The board is limited to " (format!("{limit:.0}")) " W. " }
                "Clock lost: what that took of the highest clock at which the version was seen. "
            } @else {
                " This record holds no clock, power or energy."
            }
        }
    }
}

fn cells(result: &Measurement, all_passed: bool) -> Vec<String> {
    let of = |field: fn(&State) -> Option<Span>| {
        or_dash(result.state.as_ref().and_then(field).map(range))
    };
    let times = &result.times;
    let interval = result.spread.and_then(|spread| spread.interval_s);
    vec![
        result.version.clone(),
        format!("{:.2}", times.median * 1e3),
        or_dash(interval.map(|[low, high]| format!("{:.2}–{:.2}", low * 1e3, high * 1e3))),
        or_dash(times.relative_sigma().map(|sigma| format!("{:.1} %", sigma * 100.0))),
        or_dash(result.state.as_ref().and_then(clock_lost)),
        of(|state| state.sm_mhz),
        of(|state| state.power_w),
        of(|state| state.temperature_c),
        or_dash(result.energy_j.map(|joules| format!("{joules:.1}"))),
        or_dash(result.cycles.map(|cycles| format!("{:.1}", cycles / 1e6))),
        or_dash(result.verification.max_rel_error.map(|error| format!("{error:.1e}"))),
        if all_passed { "–".into() } else { words(result.outcome()).into() },
    ]
}

fn range(Span { median, min, max }: Span) -> String {
    if max - min < 1.0 {
        format!("{median:.0}")
    } else {
        format!("{median:.0} ({min:.0}–{max:.0})")
    }
}

// Times, speed-ups and what is behind them, beside what was published.

/// A table for each section: what a version takes, and over its journey's first.
fn results(sections: &[Section]) -> Markup {
    html! { @for section in sections {
        @if sections.len() > 1 { h3 { "The " (section.journey) "’s versions" } }
        (table(section))
        p .note {
            "Medians of runs on data in place, second stage included. Cycles are time × SM clock. "
            @if let Some(said) = mark(section) { (said) ". " }
            @if let Some(said) = of_which_system(section) { (said) "." }
        }
    } }
}

fn table(section: &Section) -> Markup {
    let over = format!("over {}", section.baseline);
    let there = format!("V100, {over}");
    let headings = [
        "version",
        "what it changes",
        "time [ms]",
        &over,
        "cycles [10⁶]",
        "SM clock [MHz]",
        "energy [J]",
        &there,
    ];
    let mut sheet = Sheet::new(&headings).words([1]);
    for row in &section.rows {
        let change = catalogue::find(&row.version).map(|listed| listed.version.change);
        let differs = if row.order_differs && !is_noise(row) { " *" } else { "" };
        let cells = vec![
            row.version.clone(),
            or_dash(change),
            format!("{:.1}{}", row.time_s * 1e3, if is_noise(row) { " ≈" } else { "" }),
            or_dash(row.over_baseline.map(|over| format!("{over:.2}"))),
            or_dash(row.cycles.map(|cycles| format!("{:.0}", cycles / 1e6))),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.energy_j.map(|joules| format!("{joules:.0}"))),
            or_dash(published(row).map(|over| format!("{over:.2}{differs}"))),
        ];
        sheet.push(Some(&row.version), cells);
    }
    sheet.markup()
}

fn published(row: &Row) -> Option<f64> {
    row.paper_over_baseline.or(row.published_over_baseline)
}

/// Bars of the time of each version over its baseline's, here and where it was published.
fn bars(section: &Section) -> Markup {
    let rows = &section.rows;
    let there = |row: &Row| published(row).map(f64::recip);
    let shares = rows.iter().flat_map(|row| [row.over_baseline.map(f64::recip), there(row)]);
    let most = shares.flatten().fold(1.0, f64::max);
    let bar = |share: Option<f64>, class: &str, told: String| {
        html! {
            @if let Some(share) = share {
                span .track {
                    span .fill.(class) style=(format!("width:{:.2}%", 100.0 * share / most)) {}
                    span { (told) }
                }
            }
        }
    };
    let here = |row: &Row| format!("{:.1} ms", row.time_s * 1e3);
    html! {
        div .bars {
            p .note {
                "Time, as a part of that of " (section.baseline) ": " span .key.here {} "here"
                @if rows.iter().any(|row| there(row).is_some()) {
                    " " span .key.there {} "the " (section.journey) "’s V100"
                }
            }
            @for row in rows {
                div .bar data-version=(row.version) {
                    (named(Some(&row.version), &row.version))
                    div {
                        (bar(row.over_baseline.map(f64::recip), "here", here(row)))
                        (bar(there(row), "there", or_dash(published(row).map(|over| format!("{over:.2} ×")))))
                    }
                }
            }
        }
    }
}

// Σ(ω), where the run was of more energies than the paper's.

/// Energies of which a plot tells no more than a line of numbers.
const FEW: usize = 3;

/// The plot of the fastest version that passed.
fn sigma(run: &Run) -> Markup {
    let Some(sigma) = Sigma::of_fastest(run).filter(|sigma| sigma.rows.len() > FEW) else {
        return html! {};
    };
    let broken = sigma.broken().len();
    html! {
        p .note {
            "Screened exchange, Coulomb hole and their sum Σ at " (sigma.rows.len()) " energies, by "
            (sigma.result.version) ": a vertex an energy, nothing between. Energies are above the "
            "state’s."
            @if broken > 0 { " At " (broken) " of them a sum is no number: lines end there." }
        }
        figure { (PreEscaped(sigma.inline())) }
    }
}
