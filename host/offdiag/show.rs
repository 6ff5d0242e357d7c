//! Σ as a matrix, as a table, CSV and NumPy arrays.

use std::io::{self, BufWriter, Write};

use comfy_table::Cell;
use gpp_core::offdiag::Sums;
use npyz::WriterBuilder;
use num_complex::Complex64;

use crate::outcomes::undecided;
use crate::record::offdiag::{Largest, Matrix, OfVersion, Offdiag, Qsgw};
use crate::record::run::State;
use crate::reference::Source;
use crate::sigma::UNIT;
use crate::terminal::{Unit, fit, or_dash, outcome, table, time};
use crate::{offdiag, run};

/// Energies of which a terminal shows all; of more it shows so many from either end.
const SHOWN: usize = 24;
const FROM_EITHER: usize = 8;

const IN_ROW: usize = 4;

/// What it is of, how it came out, and a row for each energy.
pub fn text(to: &mut dyn Write, record: &Offdiag, width: Option<u16>) -> io::Result<()> {
    let device = &record.head.device;
    let [from, last] = record.bands;
    writeln!(to, "{}", run::system(&record.system))?;
    let of = if let [one] = &record.results[..] {
        let by = one.version.as_ref().map(|version| format!(", version {version}"));
        by.unwrap_or_default()
    } else {
        String::new()
    };
    writeln!(to, "on {}: {}{of}", device.id, device.name)?;
    match &record.results[..] {
        [one] => {
            let rate = one.tflops * 1e12;
            let rates = Unit::of_rates([rate]);
            writeln!(to, "bands l, m {from} to {last}: {}", verification(one))?;
            writeln!(
                to,
                "{}: the products, {} {} by 8 operations a complex product; {} in all",
                time(one.time_s.median),
                rates.show(rate),
                rates.name,
                time(one.total_s)
            )?;
        }
        all => {
            writeln!(to, "bands l, m {from} to {last}, version by version:")?;
            writeln!(to, "{}", by_version(all, width))?;
            let verdicts = all.iter().filter_map(|of| of.verification.as_ref());
            for of in verdicts.filter_map(|verdict| verdict.undecided).take(1) {
                writeln!(to, "{}", undecided(of))?;
            }
        }
    }
    writeln!(to, "{}", energies(&record.matrices, width))?;
    if let Some(Qsgw { eigenvalues, .. }) = &record.qsgw {
        writeln!(to, "eigenvalues of the Hermitian part of ½[Σ_lm(E_l) + Σ_lm(E_m)], ascending:")?;
        writeln!(to, "{}", self::eigenvalues(eigenvalues, width))?;
    }
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all in {UNIT}")
}

/// A row for each version: 8 operations a complex product.
fn by_version(all: &[OfVersion], width: Option<u16>) -> String {
    let mut table =
        table(&["version", "time", "TFLOP/s", "× before", "MHz", "W", "J", "error", "outcome"]);
    let mut before = None;
    for of in all {
        let state = of.state.as_ref();
        let faster = before.map(|before: f64| format!("{:.2}", before / of.time_s.median));
        let verdict = of.verification.as_ref();
        let error = verdict.and_then(|verdict| verdict.max_rel_error);
        table.add_row([
            of.version.clone().unwrap_or_default(),
            time(of.time_s.median),
            format!("{:.1}", of.tflops),
            or_dash(faster),
            or_dash(state.and_then(|state| state.sm_mhz).map(|mhz| format!("{:.0}", mhz.median))),
            or_dash(state.and_then(State::watts).map(|watts| format!("{watts:.0}"))),
            or_dash(of.joules().map(|joules| format!("{joules:.0}"))),
            or_dash(error.map(|error| format!("{error:.1e}"))),
            outcome(of.outcome()).into(),
        ]);
        before = Some(of.time_s.median);
    }
    fit(table, width)
}

fn verification(of: &OfVersion) -> String {
    let Some(verdict) = &of.verification else { return outcome(of.outcome()).into() };
    let error = verdict.max_rel_error.map(|error| format!(", error {error:.1e}"));
    let (count, energies) = (verdict.elements, verdict.energies.len());
    let at = if energies == 1 { "energy" } else { "energies" };
    let by = match verdict.reference {
        Some(Source::Golden) => "golden ones",
        _ => "the definition",
    };
    let undecided = verdict.undecided.map(|of| format!("; {}", undecided(of)));
    format!(
        "{}{} of {:.1e}, relative to Σ|terms|{}; {count} elements at {energies} {at}, by {by}",
        outcome(of.outcome()),
        error.unwrap_or_default(),
        verdict.tolerance,
        undecided.unwrap_or_default()
    )
}

/// All of them, or those from either end.
fn eigenvalues(all: &[f64], width: Option<u16>) -> String {
    let is_short = width.is_none() || all.len() <= SHOWN;
    let row = |some: &[f64]| {
        let texts = some.iter().map(|value| format!("  {value:+.6e}"));
        texts.collect::<String>()
    };
    let rows = |some: &[f64]| some.chunks(IN_ROW).map(row).collect::<Vec<_>>().join("\n");
    if is_short {
        return rows(all);
    }
    let [first, last] = [&all[..FROM_EITHER], &all[all.len() - FROM_EITHER..]].map(rows);
    format!("{first}\n  ⋮\n{last}")
}

fn energies(rows: &[Matrix], width: Option<u16>) -> String {
    let headings = [
        "ω − E [eV]",
        "Re tr SX",
        "Im tr SX",
        "Re tr CH",
        "Im tr CH",
        "largest |Σ_ll|",
        "l",
        "largest |Σ_lm|",
        "l, m",
    ];
    let mut table = table(&headings);
    let largest = |largest: Option<Largest>| match largest {
        Some(Largest { bands: [l, m], size }) if l == m => [format!("{size:.6e}"), l.to_string()],
        Some(Largest { bands: [l, m], size }) => [format!("{size:.6e}"), format!("{l}, {m}")],
        None => ["–".into(), "–".into()],
    };
    let cells = |(at, row): (usize, &Matrix)| {
        let parts = row.trace_sx.into_iter().chain(row.trace_ch);
        let parts = parts.map(|part| format!("{part:+.6e}"));
        let both = [largest(Some(row.largest_diagonal)), largest(row.largest_off_diagonal)];
        let all = parts.chain(both.into_iter().flatten());
        let first = row.above_state_ev.map(|above| format!("{above:+.6}"));
        let first = Cell::new(first.unwrap_or_else(|| ["E_l", "E_m"][at].into()));
        [first].into_iter().chain(all.map(Cell::new)).collect::<Vec<_>>()
    };
    let is_short = width.is_none() || rows.len() <= SHOWN;
    let ends = if is_short { rows.len() } else { FROM_EITHER };
    for row in rows.iter().enumerate().take(ends) {
        table.add_row(cells(row));
    }
    if !is_short {
        table.add_row(vec!["⋮"; headings.len()]);
        for row in rows.iter().enumerate().skip(rows.len() - ends) {
            table.add_row(cells(row));
        }
    }
    fit(table, width)
}

/// A row for each element, every number to the last bit; bands count from 1.
pub fn csv(to: &mut dyn Write, record: &Offdiag, sums: &Sums) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let first = record.bands[0];
    let elements = || (0..sums.bands).flat_map(|l| (0..sums.bands).map(move |m| (l, m)));
    let parts = |l, m, plane| {
        let at = sums.at(l, m, plane);
        let (sx, ch) = (sums.sx[at], sums.ch[at]);
        [sx.re, sx.im, ch.re, ch.im]
    };
    if record.qsgw.is_some() {
        let of =
            |of: &str| ["re_sx_", "im_sx_", "re_ch_", "im_ch_"].map(|part| format!("{part}{of}"));
        let heads = [["l", "m"].map(String::from).to_vec(), of("at_l").into(), of("at_m").into()];
        let qsgw = ["re_qsgw", "im_qsgw"].map(String::from);
        csv.write_record(heads.into_iter().flatten().chain(qsgw))?;
        let matrix = offdiag::hermitian(sums);
        for (l, m) in elements() {
            let qsgw = matrix[l + sums.bands * m];
            let both = (parts(l, m, 0), parts(l, m, 1));
            csv.serialize((first + l, first + m, both, qsgw.re, qsgw.im))?;
        }
        return csv.flush();
    }
    csv.write_record(["iw", "omega_above_ev", "l", "m", "re_sx", "im_sx", "re_ch", "im_ch"])?;
    for (iw, matrix) in record.matrices.iter().enumerate() {
        for (l, m) in elements() {
            csv.serialize((iw, matrix.above_state_ev, first + l, first + m, parts(l, m, iw)))?;
        }
    }
    csv.flush()
}

/// One of the sums as a NumPy array `[iw, l, m]`.
pub fn npy(to: &mut dyn Write, sums: &Sums, of: &[Complex64]) -> io::Result<()> {
    let (nw, bands) = (sums.nw(), sums.bands);
    let mut to = BufWriter::new(to);
    let mut array = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[nw as u64, bands as u64, bands as u64])
        .writer(&mut to)
        .begin_nd()?;
    for iw in 0..nw {
        for (l, m) in (0..bands).flat_map(|l| (0..bands).map(move |m| (l, m))) {
            array.push(&of[sums.at(l, m, iw)])?;
        }
    }
    array.finish()?;
    to.flush()
}

/// One matrix as a NumPy array `[l, m]`; element (l, m) is at `l + bands · m`.
pub fn npy_of_one(to: &mut dyn Write, bands: usize, of: &[Complex64]) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    let mut array = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[bands as u64; 2])
        .writer(&mut to)
        .begin_nd()?;
    for (l, m) in (0..bands).flat_map(|l| (0..bands).map(move |m| (l, m))) {
        array.push(&of[l + bands * m])?;
    }
    array.finish()?;
    to.flush()
}
