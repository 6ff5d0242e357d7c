//! The picture of a terminal after a run.

use std::fmt::Write;

use crate::record::run::Run;
use crate::render::results::{SPARE, results_table, system};
use crate::render::table::fit;

/// Pixels of a letter, of a line, and around both.
const LETTER: f64 = 8.43;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// Letters of a line.
const COLUMNS: u16 = 120;

/// What stands in green.
const PASSED: &str = "passed";

/// An archived run as `gpp` prints it, as SVG.
pub fn svg(run: &Run) -> String {
    let command = format!("gpp --system {}", run.system.name);
    let lines = lines(run, &command);
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
    svg + "</g></svg>\n"
}

fn lines(run: &Run, command: &str) -> Vec<String> {
    let device = &run.head.device;
    let table = fit(results_table(&run.results), SPARE, Some(COLUMNS));
    let mut lines = vec![
        format!("$ {command}"),
        system(&run.system),
        format!("on {}: {}", device.id, device.name),
    ];
    lines.extend(table.lines().map(str::to_string));
    lines
}
