//! The records by their contents.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use num_complex::Complex64;

use super::MINI_APPS_ENERGIES;
use super::records::{MatrixAt, Reader};
use crate::error::{DataError, Fault, FileError};
use crate::problem::header::{Header, at_most, in_range};
use crate::problem::sums::Sums;

type Read<T> = std::result::Result<T, FileError>;

/// What a file holds beside its large arrays, and where these are.
pub struct Contents {
    pub header: Arc<Header>,
    pub start: Sums,
    pub stored: Sums,
    /// `aqsmtemp(ncouls, peinf_ntband_max)`.
    pub aqsmtemp: MatrixAt,
    /// `wtilde_array(ncouls, ngpown)`.
    pub wtilde: MatrixAt,
    /// `I_eps_array(ncouls, ngpown)`.
    pub eps: MatrixAt,
    /// `aqsntemp(ncouls, peinf_ntband_max)`.
    pub aqsn: MatrixAt,
}

/// Reads all records, passing over the large ones: every marker is looked at.
pub fn contents(file: &mut Reader) -> Read<Contents> {
    let [sig_ntband, gvec_ng, ncoul, epsmpi_ngpown_max, peinf_ntband_max] = extents(file)?;
    let [nbands, ipe, ispin, ngpown, ncouls] = scalars::<i32, 5>(file)?;
    let [ncouls] = positive(file, [("ncouls", ncouls)])?;
    let [nbands, ngpown] = at_least(file, 0, [("peinf_ntband_dist", nbands), ("ngpown", ngpown)])?;
    for (name, extent, limit, most) in [
        ("peinf_ntband_dist", nbands, "peinf_ntband_max", peinf_ntband_max),
        ("ngpown", ngpown, "epsmpi_ngpown_max", epsmpi_ngpown_max),
        ("ncouls", ncouls, "ncoul", ncoul),
    ] {
        at_most(name, extent, limit, most).map_err(|wrong| file.error(wrong))?;
    }
    let peinf_indext_dist = array(file, peinf_ntband_max)?;
    in_range("peinf_indext_dist", &peinf_indext_dist[..nbands], "sig_ntband", sig_ntband)
        .map_err(|wrong| file.error(wrong))?;
    let wfnkq_ekq = array(file, sig_ntband)?;
    let energies = scalar::<EnergyRecord>(file)?;
    let inv_igp_index = array(file, epsmpi_ngpown_max)?;
    in_range("inv_igp_index", &inv_igp_index[..ngpown], "gvec_ng", gvec_ng)
        .map_err(|wrong| file.error(wrong))?;
    let indinv = indinv(file, gvec_ng)?;

    let aqsmtemp = matrix(file, ncouls, peinf_ntband_max)?;
    let needed = 16 * ncouls as u128 * ngpown as u128;
    if needed > u128::from(file.size()) {
        return Err(file.error(Fault::Modes { ncouls, ngpown, needed, size: file.size() }));
    }
    let occupation = scalar::<Occupation>(file)?;
    let vcoul = array(file, ncoul)?;
    let [sexcut, _, _] = scalars::<f64, 3>(file)?;
    let header = Header {
        sig_ntband,
        gvec_ng,
        ncoul,
        epsmpi_ngpown_max,
        peinf_ntband_max,
        nbands,
        ipe,
        ispin,
        ngpown,
        ncouls,
        peinf_indext_dist,
        wfnkq_ekq,
        nstart: energies.nstart.max(0) as usize,
        nend: energies.nend.max(0) as usize,
        energies: None,
        sig_fdf: energies.sig_fdf,
        sig_dw: energies.sig_dw,
        sig_gamma: energies.sig_gamma,
        e_lk: energies.e_lk,
        inv_igp_index,
        unmasked: None,
        indinv,
        nvband: occupation.nvband,
        tol: occupation.tol,
        efermi: occupation.efermi,
        vcoul,
        sexcut,
    };
    header.validate_energies().map_err(|wrong| file.error(wrong))?;
    let header = header.with_work().without_masked();

    let wtilde = matrix(file, ncouls, ngpown)?;
    let eps = matrix(file, ncouls, ngpown)?;
    let aqsn = matrix(file, ncouls, peinf_ntband_max)?;
    let mut of_energies = || -> Read<Vec<Complex64>> {
        let all = array::<Complex64>(file, header.nend.max(MINI_APPS_ENERGIES))?;
        Ok(all[header.nstart - 1..header.nend].to_vec())
    };
    let start = Sums { asx: of_energies()?, ach: of_energies()? };
    let stored = Sums { asx: of_energies()?, ach: of_energies()? };
    file.finish()?;
    for (name, found) in start.named(header.nstart).chain(stored.named(header.nstart)) {
        if !(found.re.is_finite() && found.im.is_finite()) {
            return Err(file.error(DataError::Stored { name, found }));
        }
    }
    // Of a column that is masked no number counts.
    let [wtilde, eps] = if ngpown == 0 { [aqsmtemp; 2] } else { [wtilde, eps] };
    let header = header.into();
    Ok(Contents { header, start, stored, aqsmtemp, wtilde, eps, aqsn })
}

/// Record 5.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct EnergyRecord {
    nstart: i32,
    nend: i32,
    sig_fdf: i32,
    sig_dw: f64,
    sig_gamma: f64,
    e_lk: f64,
}

/// Record 9.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct Occupation {
    nvband: i32,
    tol: f64,
    efermi: f64,
}

fn scalar<T: Pod>(file: &mut Reader) -> Read<T> {
    let mut value = T::zeroed();
    file.begin(size_of::<T>() as u128)?;
    file.read(bytemuck::bytes_of_mut(&mut value))?;
    file.end()?;
    Ok(value)
}

fn scalars<T: Pod, const N: usize>(file: &mut Reader) -> Read<[T; N]> {
    let mut values = [T::zeroed(); N];
    file.begin(size_of::<[T; N]>() as u128)?;
    file.read(bytemuck::cast_slice_mut(&mut values))?;
    file.end()?;
    Ok(values)
}

fn array<T: Pod>(file: &mut Reader, length: usize) -> Read<Vec<T>> {
    file.begin(size_of::<T>() as u128 * length as u128)?;
    file.require_memory((size_of::<T>() * length) as u64)?;
    let mut values = vec![T::zeroed(); length];
    file.read(bytemuck::cast_slice_mut(&mut values))?;
    file.end()?;
    Ok(values)
}

/// Passes over a matrix of complex numbers.
fn matrix(file: &mut Reader, rows: usize, columns: usize) -> Read<MatrixAt> {
    let bytes = 16 * rows as u128 * columns as u128;
    let place = file.begin(bytes)?;
    file.skip(bytes as u64)?;
    file.end()?;
    Ok(place)
}

/// Record 1.
fn extents(file: &mut Reader) -> Read<[usize; 5]> {
    let [sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max] = scalars::<i32, 5>(file)?;
    positive(
        file,
        [
            ("sig_ntband", sig_ntband),
            ("gvec_ng", gvec_ng),
            ("ncoul", ncoul),
            ("epsmpi_ngpown_max", ngpown_max),
            ("peinf_ntband_max", ntband_max),
        ],
    )
}

/// Record 7: the extent once more, then the array.
fn indinv(file: &mut Reader, gvec_ng: usize) -> Read<Vec<i32>> {
    file.begin(4 * (gvec_ng as u128 + 1))?;
    let mut found = 0i32;
    file.read(bytemuck::bytes_of_mut(&mut found))?;
    if i64::from(found) != gvec_ng as i64 {
        return Err(file.error(Fault::Again { name: "gvec_ng", first: gvec_ng, found }));
    }
    file.require_memory(4 * gvec_ng as u64)?;
    let mut indinv = vec![0; gvec_ng];
    file.read(bytemuck::cast_slice_mut(&mut indinv))?;
    file.end()?;
    Ok(indinv)
}

fn positive<const N: usize>(file: &Reader, extents: [(&'static str, i32); N]) -> Read<[usize; N]> {
    at_least(file, 1, extents)
}

fn at_least<const N: usize>(
    file: &Reader,
    least: i32,
    extents: [(&'static str, i32); N],
) -> Read<[usize; N]> {
    for (name, found) in extents {
        if found < least {
            return Err(file.error(DataError::Extent { name, least, found: found.into() }));
        }
    }
    Ok(extents.map(|(_, extent)| extent as usize))
}
