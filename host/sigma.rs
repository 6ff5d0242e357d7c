//! `gpp sigma`: Σ(ω) of one version.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::Cell;

use crate::catalogue::BackEnd;
use crate::catalogue::names::single;
use crate::chart::Picture;
use crate::cli::{OutputArgs, SigmaArgs};
use crate::error::{Result, invalid};
use crate::outcomes::{reference, reservations};
use crate::output::{document, is_stdout, note};
use crate::ranks::Ranks;
use crate::record::run::{Row, Run, Sigma, UNIT};
use crate::run::{self, code, exit_code_of, measured};
use crate::terminal::{fit, outcome, table, terminal};

pub fn sigma(args: &SigmaArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.files(ranks.is_root()).check()?;
    // Rank 0 alone shows and writes.
    let files = if ranks.is_root() { Written::of(args)? } else { Written::default() };
    if let Some(name) = &args.version {
        single("--version", name, BackEnd::Gpu)?;
    }
    let run = measured(&args.run(), ranks, move |output, run| {
        let sigma = Sigma::of(run).map_err(|what| invalid(&run.system.name, what))?;
        let output = OutputArgs { quiet: output.quiet || files.prints(), ..output.clone() };
        let shown = output.show(run, |to, _| text(to, &sigma, terminal()));
        // The files are written even if printing fails.
        files.write(&sigma)?;
        shown
    })?;
    let ended = exit_code_of(&run.results, args.no_verify);
    Ok(if is_incorrect(&run) { code(false) } else { ended })
}

/// Whether a run's static CH differs from its reference, which is reported on standard error.
fn is_incorrect(run: &Run) -> bool {
    let wrong = run.static_ch.as_ref().filter(|found| found.is_incorrect());
    if let Some(found) = wrong {
        let error = found.verification.max_rel_error.unwrap_or(f64::NAN);
        note(format_args!("static CH: incorrect, error {error:.1e}"));
    }
    wrong.is_some()
}

/// The files to write besides the record.
#[derive(Default)]
struct Written {
    csv: Option<PathBuf>,
    plots: Vec<(PathBuf, Picture)>,
}

impl Written {
    /// Fails if a plot has another ending than .svg and .png.
    fn of(args: &SigmaArgs) -> Result<Written> {
        let picture = |path: &PathBuf| Picture::of(path).map(|picture| (path.clone(), picture));
        let plots = args.plot.iter().map(picture).collect::<Result<_>>()?;
        Ok(Written { csv: args.csv.clone(), plots })
    }

    /// Whether CSV goes to standard output, and nothing else there.
    fn prints(&self) -> bool {
        self.csv.as_deref().is_some_and(is_stdout)
    }

    fn write(&self, sigma: &Sigma) -> Result<()> {
        if let Some(path) = &self.csv {
            document(path, |to| csv(to, sigma))?;
        }
        self.plots.iter().try_for_each(|(path, picture)| picture.write(path, sigma))
    }
}

// Σ(ω) as a table and CSV.

/// Energies of which a terminal shows all; of more it shows so many from either end.
const SHOWN: usize = 24;
const FROM_EITHER: usize = 8;

/// Energies without a number that are named.
const NAMED: usize = 5;

/// What the run was of, how it came out, and a row for each energy; on a terminal of some width those at both
/// ends, where there are many.
pub fn text(to: &mut dyn Write, sigma: &Sigma, width: Option<u16>) -> io::Result<()> {
    let Sigma { run, result, rows } = sigma;
    let (device, verification) = (&run.head.device, &result.verification);
    writeln!(to, "{}", run::system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    let error = verification.max_rel_error.map(|error| format!(", error {error:.1e}"));
    writeln!(
        to,
        "{}: {}{}{}; reference: {}",
        result.version,
        outcome(verification.outcome),
        error.unwrap_or_default(),
        reservations(verification),
        reference(verification.reference)
    )?;
    let what = match (&result.work, result.times.samples.len()) {
        (Some(_), _) => "one calculation, with what had to be made, read and uploaded meanwhile",
        (None, 1) => "one calculation, its data in place",
        (None, _) => "the median of several calculations, their data in place",
    };
    writeln!(to, "{:.3} ms: {what}", result.times.median * 1e3)?;
    writeln!(to, "{}", energies(rows, width))?;
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all three in {UNIT}")?;
    if let Some(found) = &run.static_ch {
        let (sum, verification) = (found.value(), &found.verification);
        let error = verification.max_rel_error.map(|error| format!(", error {error:.1e}"));
        writeln!(
            to,
            "static CH: {:+.6e} {:+.6e} i {UNIT} ({}{}), {:.3} ms",
            sum.re,
            sum.im,
            outcome(verification.outcome),
            error.unwrap_or_default(),
            found.seconds * 1e3
        )?;
    }
    let broken = sigma.broken();
    if !broken.is_empty() {
        let named: Vec<String> =
            broken.iter().take(NAMED).map(|above| format!("{above:+}")).collect();
        let more = if broken.len() > NAMED { ", …" } else { "" };
        let (count, all) = (broken.len(), rows.len());
        writeln!(to, "no number at {count} of {all} energies: {}{more} eV", named.join(", "))?;
    }
    Ok(())
}

fn energies(rows: &[Row], width: Option<u16>) -> String {
    let is_short = width.is_none() || rows.len() <= SHOWN;
    let ends = if is_short { rows.len() } else { FROM_EITHER };
    let headings = ["ω − E [eV]", "Re SX", "Im SX", "Re CH", "Im CH", "Re Σ", "Im Σ"];
    let mut table = table(&headings);
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    let cells = |row: &Row| {
        let parts = row.parts().map(|part| Cell::new(format!("{part:+.6e}")));
        [Cell::new(format!("{:+.6}", row.above_ev))].into_iter().chain(parts)
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
    csv.write_record([
        "omega_above_ev",
        "omega_ev",
        "re_sx",
        "im_sx",
        "re_ch",
        "im_ch",
        "re_sigma",
        "im_sigma",
    ])?;
    for row in &sigma.rows {
        csv.serialize((row.above_ev, row.omega_ev, row.parts()))?;
    }
    csv.flush()
}
