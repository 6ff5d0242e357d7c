//! `gpp sigma`: Σ(ω) of one version.

use std::io::{self, Write};
use std::process::ExitCode;

use comfy_table::Cell;

use crate::catalogue::{BackEnd, single};
use crate::chart::Picture;
use crate::cli::{OutputArgs, SigmaArgs};
use crate::error::{Result, invalid};
use crate::output::{document, is_stdout, note};
use crate::ranks::Ranks;
use crate::record::run::{Row, Sigma, StaticCh, UNIT};
use crate::reference::{Outcome, Verification};
use crate::run::{self, code, exit_code, measured, reference, reservations};
use crate::terminal::{fit, outcome, table, terminal};

pub fn sigma(args: &SigmaArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.check_files(ranks)?;
    let pictures = args.plot.iter().map(|path| Picture::of(path)).collect::<Result<Vec<_>>>()?;
    let run_args = args.run();
    if let Some(name) = &run_args.version {
        single("--version", name, BackEnd::Gpu)?;
    }
    let run = measured(&run_args, ranks, |output, run| {
        let sigma = Sigma::of(run).map_err(|what| invalid(&run.system.name, what))?;
        let prints = args.csv.as_deref().is_some_and(is_stdout);
        let output = OutputArgs { quiet: output.quiet || prints, ..output.clone() };
        let shown = output.show(run, |to, _| text(to, &sigma, terminal()));
        // The files are written even if printing fails.
        if let Some(path) = &args.csv {
            document(path, |to| csv(to, &sigma))?;
        }
        for (path, picture) in args.plot.iter().zip(&pictures) {
            picture.write(path, &sigma)?;
        }
        shown
    })?;
    let ended = exit_code(&run.results, run_args.no_verify);
    let is_incorrect = |found: &StaticCh| found.verification.outcome == Outcome::Incorrect;
    let Some(found) = run.static_ch.filter(is_incorrect) else { return Ok(ended) };
    let error = found.verification.max_rel_error.unwrap_or(f64::NAN);
    note(format_args!("static CH: incorrect, error {error:.1e}"));
    Ok(code(false))
}

/// Energies of which a terminal shows all; of more it shows so many from either end.
const SHOWN: usize = 24;
const FROM_EITHER: usize = 8;

/// The system, the verdict, and a row for each energy; on a terminal of many only those at both ends.
pub fn text(to: &mut dyn Write, sigma: &Sigma, width: Option<u16>) -> io::Result<()> {
    let Sigma { run, result, rows } = sigma;
    let (device, verification) = (&run.head.device, &result.verification);
    writeln!(to, "{}", run::system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(
        to,
        "{}: {}{}; reference: {}",
        result.version,
        verdict(verification),
        reservations(verification),
        reference(verification.reference)
    )?;
    let what = match (&result.work, result.times.samples.len()) {
        (Some(_), _) => "one calculation, including generating, reading and uploading data",
        (None, 1) => "one calculation with the data in place",
        (None, _) => "median of several calculations with the data in place",
    };
    writeln!(to, "{:.3} ms: {what}", result.times.median * 1e3)?;
    writeln!(to, "{}", energies(rows, run.system.energy(), width))?;
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all three in {UNIT}")?;
    if let Some(found) = &run.static_ch {
        let (sum, ms) = (found.value(), 1e3 * found.seconds);
        let verdict = verdict(&found.verification);
        writeln!(
            to,
            "static CH: {:+.6e} {:+.6e} i {UNIT} ({verdict}), {ms:.3} ms",
            sum.re, sum.im
        )?;
    }
    let broken = sigma.broken();
    if !broken.is_empty() {
        let (count, all, first) = (broken.len(), rows.len(), broken[0]);
        writeln!(to, "no number at {count} of {all} energies, the first at {first:+} eV")?;
    }
    Ok(())
}

fn verdict(of: &Verification) -> String {
    let error = of.max_rel_error.map(|error| format!(", error {error:.1e}"));
    format!("{}{}", outcome(of.outcome), error.unwrap_or_default())
}

fn energies(rows: &[Row], energy: &str, width: Option<u16>) -> String {
    let is_short = width.is_none() || rows.len() <= SHOWN;
    let ends = if is_short { rows.len() } else { FROM_EITHER };
    let headings = [energy, "Re Σ", "Im Σ", "Re SX", "Im SX", "Re CH", "Im CH"];
    let mut table = table(&headings);
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    let cells = |row: &Row| {
        let [sx_re, sx_im, ch_re, ch_im, re, im] = row.parts();
        let parts =
            [re, im, sx_re, sx_im, ch_re, ch_im].map(|part| Cell::new(format!("{part:+.6e}")));
        [Cell::new(format!("{:+.6}", row.shown_ev))].into_iter().chain(parts)
    };
    for row in &rows[..ends] {
        table.add_row(cells(row));
    }
    if !is_short {
        table.add_row(vec!["⋮"; headings.len()]);
        for row in &rows[rows.len() - ends..] {
            table.add_row(cells(row));
        }
    }
    let mut text = fit(table, width);
    if !is_short {
        let (left_out, all) = (rows.len() - 2 * ends, rows.len());
        text += &format!("\n{left_out} of {all} energies are not shown: --csv has all");
    }
    text
}

/// A row for each energy, every number to the last bit.
pub fn csv(to: &mut dyn Write, sigma: &Sigma) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let headings = "omega_above_ev omega_ev re_sx im_sx re_ch im_ch re_sigma im_sigma";
    csv.write_record(headings.split(' '))?;
    let above = |row: &Row| sigma.run.system.state_ev.map(|_| row.shown_ev);
    for row in &sigma.rows {
        csv.serialize((above(row), row.omega_ev, row.parts()))?;
    }
    csv.flush()
}
