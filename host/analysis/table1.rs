//! The paper's Table I, live: runs on the device at hand beside the published columns.

use serde::Serialize;
use serde_json::Value;

use crate::catalogue::published;
use crate::experiments::measure::Times;
use crate::experiments::profile::Profile;
use crate::record::run::SCHEMA;

/// One version on one system, here and in the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The file that the run was read from; `None` for one made now.
    pub from: Option<String>,
    /// The device's name.
    pub device: String,
    /// The system's name.
    pub system: String,
    /// The version's id.
    pub version: String,
    /// Median time here.
    pub time_s: f64,
    /// Standard deviation of the times here, of at least two.
    pub sigma_s: Option<f64>,
    /// Rate here.
    pub tflops: f64,
    /// v0's time over this one's, here.
    pub over_v0: Option<f64>,
    /// Warps on a multiprocessor, here.
    pub warps_per_sm: Option<u64>,
    /// Registers of a thread, here.
    pub registers: Option<u64>,
    /// The same in the paper, one V100.
    pub paper_time_s: Option<f64>,
    /// The paper's rate.
    pub paper_tflops: Option<f64>,
    /// v0's time over this one's, in the paper.
    pub paper_over_v0: Option<f64>,
    /// The paper's warps.
    pub paper_warps_per_sm: Option<u32>,
    /// The paper's registers.
    pub paper_registers: Option<u32>,
    /// Whether the step from the version before goes the other way than in the paper: faster there
    /// and slower here, or slower there and faster here.
    pub order_differs: bool,
    /// Where the operation count behind the rate comes from.
    pub flops_source: String,
}

/// Versions on one system and device.
#[derive(Clone, Debug)]
pub struct Section {
    /// System, device, and file where there is one.
    pub title: String,
    /// Where the run comes from; null in older records.
    pub provenance: Value,
    /// What passed.
    pub rows: Vec<Row>,
    /// Whether the run came to its end.
    pub complete: bool,
    /// What did not pass, and how it came out.
    pub left_out: Vec<String>,
}

/// A section from the JSON of a run, read `from` a file or made now.
///
/// # Errors
/// What the JSON lacks.
pub fn section(run: &Value, from: Option<&str>) -> Result<Section, String> {
    if !run["results"].is_array() || !run["system"].is_object() {
        return Err("is no record of a run".into());
    }
    if run["schema"] != SCHEMA {
        return Err(format!("needs schema {SCHEMA}, has {}", run["schema"]));
    }
    let mut rows = rows(run)?;
    for row in &mut rows {
        row.from = from.map(str::to_string);
    }
    let text = |value: &Value| value.as_str().unwrap_or("?").to_string();
    let complete = run["complete"] != false;
    let interrupted = (!complete).then(|| "the rest: the run was interrupted".to_string());
    let left_out = run["results"].as_array().into_iter().flatten().filter_map(|result| {
        let outcome = text(&result["verification"]["outcome"]);
        let what = format!("{}: {}", text(&result["version"]), outcome.replace('_', " "));
        (outcome != "passed").then_some(what)
    });
    let [system, id, name] = [&run["system"]["name"], &run["device"]["id"], &run["device"]["name"]];
    let from = from.map_or(String::new(), |from| format!(" ({from})"));
    Ok(Section {
        title: format!("{} on {}: {}{from}", text(system), text(id), text(name)),
        provenance: run["provenance"].clone(),
        rows,
        complete,
        left_out: left_out.chain(interrupted).collect(),
    })
}

/// Rows from the JSON of a run; results that did not pass are left out.
///
/// # Errors
/// What the JSON lacks.
pub fn rows(run: &Value) -> Result<Vec<Row>, String> {
    let text = |value: &Value, what: &str| {
        value.as_str().map(str::to_string).ok_or(format!("the run has no {what}"))
    };
    let system = text(&run["system"]["name"], "system name")?;
    let device = text(&run["device"]["name"], "device name")?;
    let paper = published::paper();
    let of_paper = |version: &str| paper.iter().find(|row| row.version == version);
    let paper_v0 = of_paper("v0").and_then(|row| row.time_s(&system));

    let mut rows = Vec::new();
    let results = run["results"].as_array().filter(|results| !results.is_empty());
    for result in results.ok_or("the run has no results")? {
        if result["verification"]["outcome"] != "passed" {
            continue;
        }
        let version = text(&result["version"], "version")?;
        let time_s = result["time_s"]["median"].as_f64().ok_or("a result has no median time")?;
        // Its registers and warps are of its own systems as well.
        let published = of_paper(&version).filter(|row| row.time_s(&system).is_some());
        let paper_time_s = published.and_then(|row| row.time_s(&system));
        rows.push(Row {
            from: None,
            device: device.clone(),
            time_s,
            sigma_s: sigma(&result["time_s"]["samples"]),
            tflops: result["tflops"].as_f64().ok_or("a result has no tflops")?,
            over_v0: None,
            warps_per_sm: result["warps_per_sm"].as_u64(),
            registers: result["registers"].as_u64(),
            paper_time_s,
            paper_tflops: published.and_then(|row| row.tflops(&system)),
            paper_over_v0: paper_v0.zip(paper_time_s).map(|(v0, time)| v0 / time),
            paper_warps_per_sm: published.map(|row| row.warps_per_sm),
            paper_registers: published.map(|row| row.registers_per_thread),
            order_differs: false,
            flops_source: text(&result["flops_source"], "flops_source")?,
            system: system.clone(),
            version,
        });
    }
    let v0 = rows.iter().find(|row| row.version == "v0").map(|row| row.time_s);
    let faster = |time: fn(&Row) -> Option<f64>, at: usize| {
        Some(time(&rows[at])? < time(&rows[at.checked_sub(1)?])?)
    };
    let differs: Vec<bool> = (0..rows.len())
        .map(|at| {
            let here = faster(|row| Some(row.time_s), at);
            here.zip(faster(|row| row.paper_time_s, at)).is_some_and(|(here, there)| here != there)
        })
        .collect();
    for (row, differs) in rows.iter_mut().zip(differs) {
        row.over_v0 = v0.map(|v0| v0 / row.time_s);
        row.order_differs = differs;
    }
    Ok(rows)
}

fn sigma(samples: &Value) -> Option<f64> {
    let samples: Vec<f64> = samples.as_array()?.iter().filter_map(Value::as_f64).collect();
    if samples.is_empty() { None } else { Times::of(samples).sigma() }
}

/// Has the rates follow the operations that the profiler counted, so that one page has one rate.
pub fn rate_by(rows: &mut [Row], profiles: &[Profile]) {
    for row in rows {
        if let Some(profile) = profiles.iter().find(|profile| profile.version == row.version) {
            row.tflops = profile.flops() / row.time_s / 1e12;
            row.flops_source = format!("of the profiles below: {}", profile.source);
        }
    }
}

/// Headings of the table, the same in every form.
pub const HEADINGS: [&str; 13] = [
    "system",
    "version",
    "median [ms]",
    "σ",
    "TFLOP/s",
    "over v0",
    "warps/SM",
    "registers",
    "V100 time [ms]",
    "V100 TFLOP/s",
    "V100 over v0",
    "V100 warps/SM",
    "V100 registers",
];

impl Row {
    /// Its cells under [`HEADINGS`]; a version whose step goes the other way than in the paper has
    /// a mark.
    pub fn cells(&self) -> [String; 13] {
        fn cell<T: ToString>(value: Option<T>) -> String {
            value.map_or("–".into(), |value| value.to_string())
        }
        let mark = if self.order_differs { "*" } else { "" };
        let times = |ratio: f64| format!("{ratio:.2}×");
        [
            self.system.clone(),
            format!("{}{mark}", self.version),
            digits(self.time_s * 1e3, 1),
            cell(self.sigma_s.map(|sigma| format!("{:.1} %", 100.0 * sigma / self.time_s))),
            digits(self.tflops, 2),
            cell(self.over_v0.map(times)),
            cell(self.warps_per_sm),
            cell(self.registers),
            cell(self.paper_time_s.map(|time| format!("{:.0}", time * 1e3))),
            cell(self.paper_tflops.map(|rate| format!("{rate:.2}"))),
            cell(self.paper_over_v0.map(times)),
            cell(self.paper_warps_per_sm),
            cell(self.paper_registers),
        ]
    }
}

/// A number with so many decimals, or with those that three digits take.
fn digits(value: f64, decimals: usize) -> String {
    let first = value.abs().log10().floor();
    let needed = if first.is_finite() { (2.0 - first).clamp(0.0, 15.0) as usize } else { 0 };
    format!("{value:.*}", needed.max(decimals))
}

/// What the mark means.
pub const MARK: &str =
    "* against the version before: faster here and slower in the paper, or the other way round";

/// The tables in Markdown, with the talk's table and the blog's steps below where they apply.
pub fn markdown(sections: &[Section]) -> String {
    fn line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
        let cells: Vec<_> = cells.into_iter().collect();
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        format!("| {} |\n", cells.join(" | "))
    }
    let rule = |columns: usize| line(vec!["---"; columns]);
    let mut text = String::new();
    for section in sections {
        let own: String = section.rows.iter().map(|row| line(row.cells())).collect();
        let left_out: String =
            section.left_out.iter().map(|what| format!("- left out: {what}\n")).collect();
        let table = format!("{}{}{own}", line(HEADINGS), rule(HEADINGS.len()));
        text += &format!("{}:\n\n{table}\n", section.title);
        if !left_out.is_empty() {
            text += &format!("{left_out}\n");
        }
    }
    text += &format!("{MARK}\n");
    if published::belong_to(sections.iter().flat_map(|section| &section.rows)) {
        for table in published::beside() {
            let published: String = table.rows.iter().map(line).collect();
            let (title, columns) = (table.title, table.headings.len());
            text += &format!("\n{title}:\n\n{}{}{published}", line(table.headings), rule(columns));
        }
    }
    text
}
