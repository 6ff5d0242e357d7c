//! `gpp sigma`: Σ(ω) of one version.

use std::io::{self, Write};

use crate::catalogue::{BackEnd, single};
use crate::chart::write_svg;
use crate::cli::{OutputArgs, SigmaArgs};
use crate::engine::Sample;
use crate::output::{check_outputs, document, is_stdout};
use crate::ranks::Ranks;
use crate::record::run::{Sigma, SigmaRow, UNIT};
use crate::reference::Verification;
use crate::run::{measured, reported};
use crate::summary::{reference, reservations, sigma_table, system};
use crate::terminal::{ms, outcome};

pub fn sigma(args: &SigmaArgs, ranks: &dyn Ranks) -> anyhow::Result<bool> {
    let run_args = args.run();
    let outputs = run_args.output.json.iter().chain(&args.csv).chain(&args.plot);
    check_outputs(outputs.filter(|_| ranks.is_root()), &run_args.problem.input)?;
    if let Some(name) = &run_args.version {
        single("--version", name, BackEnd::Gpu)?;
    }
    let run = measured(&run_args, ranks, |output, run| {
        let sigma = Sigma::from_run(run).expect("a run shows results");
        let prints = args.csv.as_deref().is_some_and(is_stdout);
        let output = OutputArgs { quiet: output.quiet || prints, ..output.clone() };
        let shown = output.show(run, |to, _| text(to, &sigma));
        // The files are written even if printing fails.
        if let Some(path) = &args.csv {
            document(path, |to| csv(to, &sigma))?;
        }
        args.plot.iter().try_for_each(|path| write_svg(path, &sigma))?;
        shown
    })?;
    Ok(reported(&run.results, run_args.no_verify))
}

/// The system, the outcome, and a row for each energy.
pub fn text(to: &mut dyn Write, sigma: &Sigma) -> io::Result<()> {
    let Sigma { run, result, .. } = sigma;
    let (device, verification) = (&run.head.device, &result.verification);
    writeln!(to, "{}", system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(
        to,
        "{}: {}{}; reference: {}",
        result.version,
        compared(verification),
        reservations(verification),
        reference(verification.reference)
    )?;
    let what = match (&result.load_balance, result.times.samples.len()) {
        (Some(_), _) => "one calculation, including generating, reading and uploading data",
        (None, 1) => "one calculation with the data in place",
        (None, _) => "median of several calculations with the data in place",
    };
    writeln!(to, "{} ms: {what}", ms(result.times.median))?;
    sigma_table(sigma).print(to)?;
    match result.is_sigma_alone() {
        true => writeln!(to, "Σ alone, without bare exchange (SX−X+CH), in {UNIT}")?,
        false => {
            writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all three in {UNIT}")?
        }
    }
    if let Some(bound) = result.error_bound {
        writeln!(to, "single precision: Σ is off by at most {bound:.1e} {UNIT}")?;
    }
    if let Some(Sample { igp: [igp, all], lost, .. }) = result.sample {
        writeln!(
            to,
            "in a sample: the sums of {igp} of {all} columns are off by {lost:.1e} {UNIT}"
        )?;
    }
    Ok(())
}

fn compared(verification: &Verification) -> String {
    let error = verification.max_rel_error.map(|error| format!(", error {error:.1e}"));
    format!("{}{}", outcome(verification.outcome), error.unwrap_or_default())
}

/// A row for each energy, every number to the last bit; of Σ alone without its parts.
pub fn csv(to: &mut dyn Write, sigma: &Sigma) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let parts = ["re_sx", "im_sx", "re_ch", "im_ch", "re_sigma", "im_sigma"];
    let first = if sigma.result.is_sigma_alone() { 4 } else { 0 };
    let rates = sigma.result.derivative.iter().flat_map(|_| &["re_derivative", "im_derivative"]);
    let head = ["omega_above_ev", "omega_ev"].iter().chain(&parts[first..]);
    csv.write_record(head.chain(rates))?;
    let above = |row: &SigmaRow| sigma.run.system.state_ev.map(|_| row.shown_ev);
    for row in &sigma.rows {
        let rate = row.derivative.iter().flat_map(|z| [z.re, z.im]);
        let parts: Vec<f64> = row.parts()[first..].iter().copied().chain(rate).collect();
        csv.serialize((above(row), row.omega_ev, parts))?;
    }
    csv.flush()
}
