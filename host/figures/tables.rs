//! Tables by name, as Markdown.

use super::archive::{Archive, System};
use super::energies;
use super::quantities::{self, of_version, text};
use crate::analysis::found;
use crate::analysis::levels::Level;
use crate::analysis::roofline::{Timing, points};
use crate::analysis::table1::{self, Row};
use crate::catalogue::{self, BackEnd, order};
use crate::error::{Error, FigureError};
use crate::experiments::profile::folder::Records;
use crate::record::run::{Measurement, Run};
use crate::reference::Source;
use crate::reference::verify::{RelativeTo, Verification};
use crate::render::nest;
use crate::render::table::or_dash;

type Found<T> = std::result::Result<T, FigureError>;

/// A table: `versions`, `profiles @SYSTEM V,V-,…` (`v8-` is v8 and all after it), `journeys NAME,…`, `clock`,
/// `kernel PICTURE`, `nest V,V-,…`, `found`, `energies` or `energies-roofline`.
///
/// # Errors
/// What it lacks.
pub fn table(archive: &Archive, name: &str) -> Found<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    match words[..] {
        ["versions"] => Ok(versions(archive.system("si214")?)),
        ["profiles", system, chosen] if system.starts_with('@') => {
            profiles(archive, &system[1..], chosen)
        }
        ["journeys", chosen] => journeys(archive, chosen),
        ["clock"] => clock(archive),
        ["kernel", picture] => Ok(nest::markdown(picture)),
        ["nest", chosen] => Ok(nest::marks(&versions_of(chosen)?)),
        ["found"] => found(archive),
        ["energies"] => by_number(archive),
        ["energies-roofline"] => on_the_roofline(archive),
        _ => Err(FigureError::Unknown("table")),
    }
}

/// What the run comes down to, a paragraph each.
fn found(archive: &Archive) -> Found<String> {
    let run = &archive.system("si214")?.run;
    let sections = table1::sections(run, None);
    let section = sections.first().ok_or_else(|| FigureError::missing("the run", "versions"))?;
    let comparison = archive.record("compare", "compare.json")?;
    let said = found::found(run, section, Some(&comparison));
    Ok(said.iter().map(|text| format!("- {text}\n")).collect())
}

/// Rows under headings, numbers to the right.
pub fn markdown(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let headings: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let is_number = |cell: &String| cell == "–" || cell.starts_with(|c: char| c.is_ascii_digit());
    let rule = |at: usize| if rows.iter().all(|row| is_number(&row[at])) { "---:" } else { "---" };
    let rules: Vec<String> = (0..headings.len()).map(|at| rule(at).to_string()).collect();
    [headings, rules].iter().chain(&rows).map(|row| line(row)).collect()
}

/// Every version of the paper and past it beside the paper's figures, with links to the sources; times before the
/// limit of power lowers the clock stand first, where the record has them.
fn versions(system: &System) -> String {
    let mut rated = table1::rows(&system.run);
    rated.retain(|row| row.journey == "paper");
    let baseline = rated.first().map_or("", |row| &row.baseline);
    let in_both = rated.iter().any(|row| row.before_cap_s.is_some());
    let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}")));
    let ms = |seconds: f64| text("time", seconds * 1e3, None);
    let cells = |row: &Row| {
        let id = &row.version;
        let change = catalogue::find(id).map(|listed| listed.version.change);
        let mut cells =
            vec![format!("[{id}](kernels/src/versions/{id}.rs)"), change.unwrap_or("").to_string()];
        if in_both {
            cells.push(or_dash(row.before_cap_s.map(ms)));
        }
        cells.extend([
            ms(row.time_s),
            ratio(row.over_baseline),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.energy_j.map(|joules| text("joules", joules, None))),
            ratio(row.paper_over_baseline),
        ]);
        cells
    };
    let mut headings = vec!["version", "what it changes"];
    headings.extend(if in_both {
        &["before the cap [ms]", "sustained [ms]"][..]
    } else {
        &["H200, si214 [ms]"]
    });
    let (over, there) = (format!("over {baseline}"), format!("V100 over {baseline}"));
    headings.extend([&*over, "SM clock [MHz]", "energy [J]", &there]);
    markdown(&headings, rated.iter().map(cells))
}

/// What the profiles say of the chosen versions.
fn profiles(archive: &Archive, system: &str, chosen: &str) -> Found<String> {
    let mut rows = Vec::new();
    for id in versions_of(chosen)? {
        let profile = archive.system(system)?.profile(id)?;
        let cell = |what: &str| -> Found<String> {
            Ok(text(what, of_version(archive, system, what, id)?, None))
        };
        let stall = profile.main_stall().map(|(why, share)| {
            let why = why.replace('_', " ");
            format!("{why} {:.0} %", share * 100.0)
        });
        rows.push(vec![
            id.to_string(),
            cell("time")?,
            cell("cycles")?,
            cell("flop")?,
            cell("tflops")?,
            format!("{} %", cell("pipe")?),
            cell("intensity")?,
            cell("hbm")?,
            or_dash(stall),
        ]);
    }
    let headings = [
        system,
        "time [ms]",
        "cycles [10⁶]",
        "FLOP/term",
        "TFLOP/s",
        "FP64 pipe busy",
        "FLOP/byte HBM",
        "HBM [GB]",
        "warps wait for",
    ];
    Ok(markdown(&headings, rows))
}

/// Versions by a list of ids, `v8-` standing for v8 and all that are told after it.
fn versions_of(chosen: &str) -> Found<Vec<&'static str>> {
    let mut found = Vec::new();
    for word in chosen.split(',') {
        let id = word.trim_end_matches('-');
        let none = || FigureError::NoName { what: "version", name: id.into(), of: "" };
        let told = order::story(id).map_or(Vec::new(), |story| order::told(story.id));
        let first = told.iter().position(|own| *own == id).ok_or_else(none)?;
        let last = if word.ends_with('-') { told.len() } else { first + 1 };
        found.extend(&told[first..last]);
    }
    Ok(found)
}

/// What the runs and the profiles of journeys say of their versions, on si214.
fn journeys(archive: &Archive, chosen: &str) -> Found<String> {
    let wrong = |error: Error| FigureError::Record(error.to_string());
    let records = Records::load(&archive.path("si214-journeys")).map_err(wrong)?;
    let run = records.run().map_err(wrong)?;
    let listed = catalogue::names::versions(chosen, BackEnd::Gpu).map_err(wrong)?;
    let mut rows = Vec::new();
    for id in listed.iter().map(|listed| listed.id()) {
        let none = || FigureError::missing("si214-journeys", id);
        let result = run.passed_result(id).ok_or_else(none)?;
        let profile = records.profiles.iter().find(|p| p.version == id).ok_or_else(none)?;
        let number = |of: Option<u32>| or_dash(of.map(|of| of.to_string()));
        rows.push(vec![
            id.to_string(),
            format!("{:.0}", result.times.median * 1e3),
            format!("{:.2}", profile.flops() / 1e12),
            format!("{:.2}", profile.flops() / result.times.median / 1e12),
            text("intensity", profile.flops() / profile.bytes.hbm, None),
            number(result.registers),
            number(result.warps_per_sm),
        ]);
    }
    let headings =
        ["version", "time [ms]", "TFLOP", "TFLOP/s", "FLOP/byte", "registers", "warps on an SM"];
    Ok(markdown(&headings, rows))
}

/// Clock, power and energy of sustained runs.
fn clock(archive: &Archive) -> Found<String> {
    let run = &archive.system("si214")?.run;
    let passed = run.results.iter().filter(|result| result.passed());
    let rows = passed.filter_map(quantities::seen).map(|row| {
        let time = format!("{:.1}", row.time_ms);
        let [mhz, watts] = [row.sm_mhz, row.power_w].map(|value| format!("{value:.0}"));
        let joules = text("joules", row.energy_j, None);
        vec![row.version, time, mhz, watts, joules, row.throttle]
    });
    let headings =
        ["version", "time [ms]", "SM clock [MHz]", "power [W]", "energy [J]", "clock lost"];
    Ok(markdown(&headings, rows))
}

/// Of many energies: the version that has moments, and the one that it is set against.
const MOMENTS: &str = "sigma:blocks";
const TERMS: &str = "v13";

/// What both take, by the number of energies.
fn by_number(archive: &Archive) -> Found<String> {
    let runs = energies::runs(archive)?;
    let time = |result: &Measurement| result.times.median;
    let at_two = runs.get(&2).and_then(|run| run.passed_result(TERMS));
    let none = || FigureError::missing("energies", format!("{TERMS} that passed at two"));
    let unit = time(at_two.ok_or_else(none)?);
    let ms = |result: &Measurement| text("time", time(result) * 1e3, None);
    let row = |(nw, run): (&usize, &Run)| {
        let [terms, moments] = [TERMS, MOMENTS].map(|version| run.passed_result(version));
        let over = moments.map(|result| time(result) / unit);
        let error = moments.and_then(|result| result.verification.max_rel_error);
        let joules = moments.and_then(|result| result.energy_j);
        vec![
            nw.to_string(),
            or_dash(terms.map(ms)),
            or_dash(moments.map(ms)),
            or_dash(over.map(|over| text("ratio", over, None))),
            or_dash(over.map(|over| text("ratio", *nw as f64 / 2.0 / over, None))),
            or_dash(joules.map(|joules| text("joules", joules, None))),
            or_dash(error.map(|error| text("error", error, None))),
            or_dash(moments.and_then(|result| compared_with(&result.verification))),
        ]
    };
    let headings = [
        "energies",
        &format!("{TERMS} [ms]"),
        &format!("{MOMENTS} [ms]"),
        &format!("over {TERMS} at two"),
        &format!("terms a second over {TERMS}'s at two"),
        "energy [J]",
        "largest error",
        "compared with",
    ];
    Ok(markdown(&headings, runs.iter().map(row)))
}

/// A reference in few words.
pub fn compared_with(verification: &Verification) -> Option<String> {
    let source = match verification.reference? {
        Source::File => "the file's sums",
        Source::Golden => "golden sums",
        Source::Serial => "all terms on the host",
        Source::Device => "the definition on the device",
    };
    let relative = match verification.relative_to {
        RelativeTo::Sum => "",
        RelativeTo::Terms => ", over Σ\\|terms\\|",
    };
    let energies =
        verification.energies.as_ref().map(|some| format!(", at {} energies", some.len()));
    Some(format!("{source}{relative}{}", energies.unwrap_or_default()))
}

/// Where versions are on the roofline, by the number of energies.
fn on_the_roofline(archive: &Archive) -> Found<String> {
    let profiled = energies::profiled(archive)?;
    let mut rows = Vec::new();
    for version in energies::versions(&profiled) {
        let timing = Timing::of(&version.profiles);
        for profile in &version.profiles {
            let none = || FigureError::missing(&version.version, "ceilings beside its profile");
            let at = profile.nw.and_then(|nw| profiled.get_key_value(&nw));
            let (nw, Records { ceilings, .. }) = at.ok_or_else(none)?;
            let rate = profile.flops() / timing.seconds(profile);
            let percent = |share: f64| format!("{:.0} %", 100.0 * share);
            let points = points(profile, timing);
            let intensity = |level| {
                let point = points.iter().find(|point| point.level == level);
                or_dash(point.map(|point| text("intensity", point.intensity, None)))
            };
            let [hbm, l2, l1] = [Level::Hbm, Level::L2, Level::L1].map(intensity);
            rows.push(vec![
                version.version.clone(),
                nw.to_string(),
                text("tflops", rate / 1e12, None),
                percent(rate / ceilings.fp64),
                percent(profile.fma_ratio()),
                hbm,
                l2,
                l1,
            ]);
        }
    }
    let headings = [
        "version",
        "energies",
        "TFLOP/s",
        "of the measured FP64 peak",
        "FMA share",
        "FLOP/byte HBM",
        "L2",
        "L1",
    ];
    Ok(markdown(&headings, rows))
}
