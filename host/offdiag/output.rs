//! What `gpp offdiag` prints and writes.

use std::io::{self, Write};

use gpp_core::offdiag::MatrixSums;
use gpp_core::offdiag::gpu::find;
use num_complex::Complex64;

use super::npy;
use crate::cli::OffdiagArgs;
use crate::output::replace;
use crate::record::ClockAndPower;
use crate::record::run::{MatrixSummary, Offdiag, OffdiagResult, UNIT};
use crate::reference::matrix::MatrixVerification;
use crate::summary::{system, undecided};
use crate::terminal::{TextTable, digits, ms, or_dash, outcome};

/// The traces of the matrices.
pub fn matrices(sums: &MatrixSums, above: impl Fn(usize) -> Option<f64>) -> Vec<MatrixSummary> {
    let summary = |iw: usize| {
        let trace = |matrix: &[Complex64]| {
            let trace: Complex64 = (0..sums.bands).map(|l| matrix[sums.at(l, l, iw)]).sum();
            [trace.re, trace.im]
        };
        let [trace_sx, trace_ch] = [&sums.sx, &sums.ch].map(|matrix| trace(matrix));
        MatrixSummary { above_state_ev: above(iw), trace_sx, trace_ch }
    };
    (0..sums.nw()).map(summary).collect()
}

/// All l and m, m fastest.
fn pairs(bands: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bands).flat_map(move |l| (0..bands).map(move |m| (l, m)))
}

fn sigma(sums: &MatrixSums, l: usize, m: usize, iw: usize) -> Complex64 {
    let index = sums.at(l, m, iw);
    sums.sx[index] + sums.ch[index]
}

/// The Hermitian part `½(M + M†)` of `M_lm = ½[Σ_lm(E_l) + Σ_lm(E_m)]`, element (l, m) at `l + bands · m`.
fn hermitian(sums: &MatrixSums) -> Vec<Complex64> {
    let mean = |l, m| 0.5 * (sigma(sums, l, m, 0) + sigma(sums, l, m, 1));
    // l is the faster index.
    pairs(sums.bands).map(|(m, l)| 0.5 * (mean(l, m) + mean(m, l).conj())).collect()
}

/// Prints and writes all that was asked for; files are written even if printing fails.
pub fn write(args: &OffdiagArgs, record: &Offdiag, sums: &MatrixSums) -> anyhow::Result<()> {
    let shown = args.output.show(record, text);
    let shape = [sums.nw(), sums.bands, sums.bands];
    let qsgw = if args.qsgw { hermitian(sums) } else { Vec::new() };
    let written = [&sums.sx, &sums.ch].into_iter().skip(usize::from(args.sigma_alone));
    let written = args.parts().iter().zip(written).map(|(name, sums)| (*name, &shape[..], sums));
    for (name, shape, matrices) in written.chain([("qsgw", &shape[1..], &qsgw)]) {
        if let Some(path) = args.array(name).filter(|_| !matrices.is_empty()) {
            replace(&path, |file| npy::write(file, shape, matrices))?;
        }
    }
    shown
}

fn text(to: &mut dyn Write, record: &Offdiag) -> io::Result<()> {
    let device = &record.head.device;
    let [from, last] = record.bands;
    writeln!(to, "{}", system(&record.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(
        to,
        "bands l, m {from} to {last}; TFLOP/s count 8 operations for a complex multiply-add"
    )?;
    results(record).print(to)?;
    let mut verified = record.results.iter().filter_map(|result| result.verification.as_ref());
    if let Some(verified) = verified.next() {
        writeln!(to, "{}", verification(verified, record.sigma_alone))?;
    }
    energies(record).print(to)?;
    if record.sigma_alone {
        return writeln!(to, "Σ is without bare exchange (SX−X + CH); all in {UNIT}");
    }
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all in {UNIT}")
}

fn results(record: &Offdiag) -> TextTable {
    // How much faster than the version before it.
    let before = |result: &OffdiagResult| {
        let from = find(result.version.as_ref()?)?.from;
        let before = record.results.iter().find(|other| other.version.as_deref() == from)?;
        Some(format!("{:.2}", before.time_s.median / result.time_s.median))
    };
    let gpu = |result: &OffdiagResult| result.clock_and_power.clone();
    let clock = |result: &OffdiagResult| Some(gpu(result)?.sm_mhz?.median);
    let error = |result: &OffdiagResult| result.verification.as_ref()?.max_rel_error;
    let rounded = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.0}")));
    TextTable::new(
        &[
            ("version", &|result: &&OffdiagResult| or_dash(result.version.as_ref())),
            ("time [ms]", &|result| ms(result.time_s.median)),
            ("with input [ms]", &|result| ms(result.first_s)),
            ("TFLOP/s", &|result| digits(result.tflops)),
            ("× before", &|result| or_dash(before(result))),
            ("clock [MHz]", &|result| rounded(clock(result))),
            ("power [W]", &|result| rounded(gpu(result).as_ref().and_then(ClockAndPower::watts))),
            ("energy [J]", &|result| rounded(result.joules())),
            ("error", &|result| or_dash(error(result).map(|error| format!("{error:.1e}")))),
            ("result", &|result| outcome(result.outcome()).into()),
        ],
        &record.results,
    )
    .filled()
}

fn verification(verified: &MatrixVerification, is_alone: bool) -> String {
    let MatrixVerification { elements, energies, tolerance, .. } = verified;
    let noun = if energies.len() == 1 { "energy" } else { "energies" };
    let undecided =
        verified.undecided.map_or(String::new(), |found| format!("; {}", undecided(found)));
    let of = if is_alone { "of Σ" } else { "each of SX and CH" };
    format!(
        "{elements} values {of}, at {} {noun}, compared with the definition: errors are relative to \
         Σ|terms|, tolerance {tolerance:.1e}{undecided}",
        energies.len()
    )
}

fn energies(record: &Offdiag) -> TextTable {
    let complex = |[re, im]: [f64; 2]| format!("{re:+.6e} {im:+.6e}i");
    let is_alone = record.sigma_alone;
    TextTable::new(
        &[
            (record.system.energy(), &|(plane, row): &(usize, &MatrixSummary)| {
                let of_bands = || ["E_l", "E_m"][*plane].into();
                row.above_state_ev.map_or_else(of_bands, |above| format!("{above:+.6}"))
            }),
            ("tr SX", &|(_, row)| or_dash((!is_alone).then(|| complex(row.trace_sx)))),
            (if is_alone { "tr Σ" } else { "tr CH" }, &|(_, row)| complex(row.trace_ch)),
        ],
        record.matrices.iter().enumerate(),
    )
    .filled()
}
