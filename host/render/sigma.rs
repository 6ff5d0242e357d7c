//! Σ(ω) as a table, CSV and pictures.

use std::io::{self, Write};
use std::path::Path;

use comfy_table::Cell;

use super::chart::sigma as chart;
use super::table::{fit, outcome, table};
use super::{charts, results};
use crate::analysis::outcomes::{reference, reservations};
use crate::analysis::sigma::{Row, Sigma, UNIT};
use crate::error::{Error, Result};
use crate::process::output::replace;

/// Energies of which a terminal shows all; of more it shows so many from either end.
const SHOWN: usize = 24;
const FROM_EITHER: usize = 8;

/// Energies without a number that are named.
const NAMED: usize = 5;

/// What the run was of, how it came out, and a row for each energy; on a terminal of some width those at both
/// ends, where there are many.
///
/// # Errors
/// Those of `to`.
pub fn text(to: &mut dyn Write, sigma: &Sigma, width: Option<u16>) -> io::Result<()> {
    let Sigma { run, result, rows } = sigma;
    let (device, verification) = (&run.head.device, &result.verification);
    writeln!(to, "{}", results::system(&run.system))?;
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

/// Columns that a narrow terminal goes without, the first of them first: imaginary parts, then SX and CH.
const SPARE: &[usize] = &[2, 4, 6, 1, 3];

/// The table of the energies.
fn energies(rows: &[Row], width: Option<u16>) -> String {
    let is_short = width.is_none() || rows.len() <= SHOWN;
    let ends = if is_short { rows.len() } else { FROM_EITHER };
    let names = rows.iter().take(1).flat_map(Row::parts).map(|(name, _)| name);
    let headings: Vec<&str> = ["ω − E [eV]"].into_iter().chain(names).collect();
    let mut table = table(&headings);
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    let cells = |row: &Row| {
        let parts = row.parts().map(|(_, part)| Cell::new(format!("{part:+.6e}")));
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
    let mut text = fit(table, SPARE, width);
    if !is_short {
        let (left_out, all) = (rows.len() - 2 * ends, rows.len());
        text += &format!("\n{left_out} of {all} energies are not shown: --csv has all");
    }
    text
}

/// A row for each energy, every number to the last bit.
///
/// # Errors
/// Those of `to`.
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
        csv.serialize((row.above_ev, row.omega_ev, row.parts().map(|(_, part)| part)))?;
    }
    csv.flush()
}

/// Forms of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Scalable.
    Svg,
    /// Of pixels.
    Png,
}

impl Picture {
    /// That of a file, by its name's ending.
    ///
    /// # Errors
    /// [`Error::Write`] for another ending.
    pub fn of(path: &Path) -> Result<Picture> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "svg" => Ok(Picture::Svg),
            "png" => Ok(Picture::Png),
            _ => {
                let reason = "a plot's name ends in .svg or .png".into();
                Err(Error::Write { path: path.into(), reason })
            }
        }
    }

    /// Writes a plot, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Write`], also for one that cannot be drawn.
    pub fn write(self, path: &Path, sigma: &Sigma) -> Result<()> {
        match self {
            Picture::Svg => replace(path, |file| file.write_all(chart::svg(sigma).as_bytes())),
            Picture::Png => charts::png(path, |to| chart::png(to, sigma)),
        }
    }
}
