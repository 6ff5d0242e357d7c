//! The picture of a terminal after a run.

use std::fmt::Write;

use serde_json::Value;

use crate::analysis::table1;
use crate::experiments::measure::Times;
use crate::render::table::{or_dash, sigma, table};

/// Pixels of a letter, of a line, and around both.
const LETTER: f64 = 8.43;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// What stands in green.
const PASSED: &str = "passed";

/// An archived run as `gpp` prints it, as SVG.
///
/// # Errors
/// What the run lacks.
pub fn svg(run: &Value) -> Result<String, String> {
    let name = run["system"]["name"].as_str().ok_or("the run has no system")?;
    let command = format!("gpp --version all --system {name}");
    let lines = lines(run, &command)?;
    let letters = |line: &String| line.chars().count();
    let widest = lines.iter().map(letters).max().unwrap_or(0) as f64 * LETTER;
    let width = widest.ceil() as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{command}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#15181d\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" \
         font-size=\"14\" fill=\"#d8dee6\">\n"
    );
    for (at, line) in lines.iter().enumerate() {
        let y = MARGIN + LINE * at + 12;
        let length = letters(line) as f64 * LETTER;
        let green = format!("<tspan fill=\"#6fcf6f\">{PASSED}</tspan>");
        // Viewers collapse other spaces.
        let line = line.replace(' ', "\u{a0}").replace(PASSED, &green);
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{length:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\">{line}</text>"
        );
    }
    Ok(svg + "</g></svg>\n")
}

fn lines(run: &Value, command: &str) -> Result<Vec<String>, String> {
    let system = |key: &str| run["system"][key].as_u64().ok_or(format!("the run has no {key}"));
    let [bands, occupied, igp, ig] = ["nbands", "nvband", "ngpown", "ncouls"].map(system);
    let (bands, igp, ig) = (bands?, igp?, ig?);
    let (first, last) = (system("nstart")?, system("nend")?);
    let terms = (bands * igp * ig * (last + 1 - first)) as f64;
    let device = |key: &str| run["device"][key].as_str().unwrap_or("–");
    let mut table = table(&[
        "version",
        "median [ms]",
        "σ",
        "over v0",
        "TFLOP/s",
        "registers",
        "warps/SM",
        "rel. error",
        "outcome",
    ]);
    for row in table1::rows(run)? {
        let result = run["results"]
            .as_array()
            .and_then(|all| all.iter().find(|result| result["version"] == row.version.as_str()));
        let samples = result.and_then(|r| r["time_s"]["samples"].as_array());
        let times = samples.map(|all| all.iter().filter_map(Value::as_f64).collect::<Vec<_>>());
        let spread = times.filter(|times| !times.is_empty()).map(|times| sigma(&Times::of(times)));
        let error = result.and_then(|r| r["verification"]["max_rel_error"].as_f64());
        table.add_row([
            row.version,
            format!("{:.3}", row.time_s * 1e3),
            or_dash(spread),
            or_dash(row.over_v0.map(|ratio| format!("{ratio:.2}×"))),
            format!("{:.4}", row.tflops),
            or_dash(row.registers),
            or_dash(row.warps_per_sm),
            or_dash(error.map(|error| format!("{error:.1e}"))),
            PASSED.into(),
        ]);
    }
    let mut lines = vec![
        format!("$ {command}"),
        format!(
            "{}: {bands} bands ({} occupied), {igp} G′, {ig} G, energies {first}–{last}; \
             {terms:.3e} terms",
            run["system"]["name"].as_str().unwrap_or("–"),
            occupied?,
        ),
        format!("on {}: {}", device("id"), device("name")),
    ];
    lines.extend(table.to_string().lines().map(str::to_string));
    Ok(lines)
}
