//! Writing: the file appears whole under its name, or not at all.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use bytemuck::{bytes_of, cast_slice};
use num_complex::Complex64;

use super::MINI_APPS_ENERGIES;
use super::records::{MAX_SUBRECORD, Writer};
use crate::error::{DataError, Result};
use crate::problem::{Problem, Sums, wrong};
use crate::progress::Progress;
use crate::system::output::replace;

/// Writes `problem` with `reference` as `asxtempref` and `achtempref`.
///
/// # Errors
/// [`crate::Error::Problem`] for energies that a file has no place for; [`crate::Error::Write`]. Nothing is
/// left behind then.
pub fn write(
    path: &Path,
    problem: &Problem,
    reference: &Sums,
    progress: impl Into<Progress>,
) -> Result<()> {
    write_with_subrecords(path, problem, reference, progress, MAX_SUBRECORD)
}

/// [`write()`] with subrecords of at most `max_subrecord` bytes.
///
/// # Errors
/// Those of [`write()`].
pub fn write_with_subrecords(
    path: &Path,
    problem: &Problem,
    reference: &Sums,
    progress: impl Into<Progress>,
    max_subrecord: u64,
) -> Result<()> {
    let progress = progress.into();
    if problem.header().energies.is_some() {
        return Err(wrong(problem.name(), DataError::Unspaced));
    }
    replace(path, |file| {
        let mut to = Writer::new(BufWriter::with_capacity(1 << 20, file), max_subrecord);
        records(&mut to, problem, reference, progress)?;
        to.flush()
    })
}

fn records<W: Write>(
    to: &mut Writer<W>,
    problem: &Problem,
    reference: &Sums,
    progress: Progress,
) -> io::Result<()> {
    let h = problem.header();
    let ints = |values: &[usize]| values.iter().map(|&v| v as i32).collect::<Vec<_>>();
    let bar = progress.bar("writing", h.peinf_ntband_max as u64);

    whole(
        to,
        cast_slice(&ints(&[
            h.sig_ntband,
            h.gvec_ng,
            h.ncoul,
            h.epsmpi_ngpown_max,
            h.peinf_ntband_max,
        ])),
    )?;
    whole(to, cast_slice(&[h.nbands as i32, h.ipe, h.ispin, h.ngpown as i32, h.ncouls as i32]))?;
    whole(to, cast_slice(&h.peinf_indext_dist))?;
    whole(to, cast_slice(&h.wfnkq_ekq))?;
    whole(
        to,
        &[
            cast_slice(&[h.nstart as i32, h.nend as i32, h.sig_fdf]),
            cast_slice::<f64, u8>(&[h.sig_dw, h.sig_gamma, h.e_lk]),
        ]
        .concat(),
    )?;
    whole(to, cast_slice(&h.inv_igp_index))?;
    whole(to, &[bytes_of(&(h.gvec_ng as i32)), cast_slice(&h.indinv)].concat())?;

    let columns = (0..h.peinf_ntband_max).map(|n| {
        let mut column = vec![Complex64::ZERO; h.ncouls];
        if n < h.nbands {
            problem.aqsmtemp_column(n, &mut column);
        }
        bar.step();
        Cow::Owned(cast_slice(&column).to_vec())
    });
    to.record(16 * h.ncouls as u64 * h.peinf_ntband_max as u64, columns)?;

    whole(to, &[bytes_of(&h.nvband), cast_slice(&[h.tol, h.efermi])].concat())?;
    whole(to, cast_slice(&h.vcoul))?;
    let limits = problem.limits();
    whole(to, cast_slice(&[limits.sexcut, limits.limittwo, limits.limitone]))?;
    whole(to, cast_slice(problem.wtilde()))?;
    whole(to, cast_slice(problem.eps()))?;
    let unused = vec![0u8; 16 * h.ncouls];
    let aqsn = std::iter::once(Cow::Borrowed(cast_slice(problem.aqsn())))
        .chain((h.nbands..h.peinf_ntband_max).map(|_| Cow::Borrowed(&unused[..])));
    to.record(16 * h.ncouls as u64 * h.peinf_ntband_max as u64, aqsn)?;
    for sums in [problem.start(), reference] {
        for part in [&sums.asx, &sums.ach] {
            let mut all = vec![Complex64::ZERO; h.nend.max(MINI_APPS_ENERGIES)];
            all[h.nstart - 1..h.nend].copy_from_slice(part);
            whole(to, cast_slice(&all))?;
        }
    }
    drop(bar);
    Ok(())
}

fn whole<W: Write>(to: &mut Writer<W>, bytes: &[u8]) -> io::Result<()> {
    to.record(bytes.len() as u64, [Cow::Borrowed(bytes)])
}
