//! Reading: every extent is checked against the markers and the file's size before memory is taken
//! for it, and only what the kernels use is kept.

use std::path::Path;

use bytemuck::{Pod, Zeroable};
use num_complex::Complex64;

use super::records::Reader;
use super::{FileError, RECORDS};
use crate::devices::emulator::require_memory;
use crate::error::Result;
use crate::problem::{Header, Matrices, Origin, Problem, Sums};
use crate::process::progress::Progress;

type Read<T> = std::result::Result<T, FileError>;

/// Reads an input file.
///
/// # Errors
/// [`crate::Error::File`] names the record, its offset, what was needed and what was found;
/// [`crate::Error::Data`] the element that no kernel can take.
pub fn read(path: &Path, progress: Progress) -> Result<Problem> {
    let bar = progress.bar("reading", RECORDS.len() as u64);
    let mut file = Input(Reader::open(path)?);

    let [sig_ntband, gvec_ng, ncoul, epsmpi_ngpown_max, peinf_ntband_max] = file.extents()?;
    let [nbands, ipe, ispin, ngpown, ncouls] = file.scalars::<i32, 5>()?;
    let [nbands, ngpown, ncouls] =
        file.positive([("peinf_ntband_dist", nbands), ("ngpown", ngpown), ("ncouls", ncouls)])?;
    file.at_most(&[
        ("peinf_ntband_dist", nbands, "peinf_ntband_max", peinf_ntband_max),
        ("ngpown", ngpown, "epsmpi_ngpown_max", epsmpi_ngpown_max),
        ("ncouls", ncouls, "ncoul", ncoul),
    ])?;
    let peinf_indext_dist = file.array(peinf_ntband_max)?;
    file.indices("peinf_indext_dist", &peinf_indext_dist[..nbands], "sig_ntband", sig_ntband)?;
    let wfnkq_ekq = file.array(sig_ntband)?;
    let energies = file.scalar::<Energies>()?;
    let inv_igp_index = file.array(epsmpi_ngpown_max)?;
    file.indices("inv_igp_index", &inv_igp_index[..ngpown], "gvec_ng", gvec_ng)?;
    let indinv = file.indinv(gvec_ng)?;
    bar.inc(7);

    let mut header = Header {
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
        sig_fdf: energies.sig_fdf,
        sig_dw: energies.sig_dw,
        sig_gamma: energies.sig_gamma,
        e_lk: energies.e_lk,
        inv_igp_index,
        indinv,
        ..Header::default()
    };
    let aqsm_local = file.aqsm_local(&header)?;
    bar.inc(1);
    let occupation = file.scalar::<Occupation>()?;
    (header.nvband, header.tol, header.efermi) =
        (occupation.nvband, occupation.tol, occupation.efermi);
    header.vcoul = file.array(ncoul)?;
    [header.sexcut, _, _] = file.scalars::<f64, 3>()?;
    header.validate_energies().map_err(|what| file.0.error(what))?;
    bar.inc(3);

    let matrices = 2 * ngpown as u64 + nbands as u64;
    require_memory(&path.display().to_string(), 16 * ncouls as u64 * matrices)?;
    let wtilde = file.matrix(ncouls, ngpown, ngpown)?;
    bar.inc(1);
    let eps = file.matrix(ncouls, ngpown, ngpown)?;
    bar.inc(1);
    let aqsn = file.matrix(ncouls, nbands, peinf_ntband_max)?;
    bar.inc(1);
    let mut of_energies = || -> Read<Vec<Complex64>> {
        let all = file.scalars::<Complex64, 3>()?;
        Ok(all[header.nstart - 1..header.nend].to_vec())
    };
    let start = Sums { asx: of_energies()?, ach: of_energies()? };
    let stored = Sums { asx: of_energies()?, ach: of_energies()? };
    file.0.finish()?;
    for (name, z) in start.named(header.nstart).chain(stored.named(header.nstart)) {
        if !(z.re.is_finite() && z.im.is_finite()) {
            return Err(file.0.error(format!("the stored {name} is {z}")).into());
        }
    }
    bar.finish_and_clear();

    let name = path.display().to_string();
    let matrices = Matrices { wtilde, eps, aqsn, aqsm_local };
    let mut problem = Problem::new(&name, Origin::File(path.to_path_buf()), header, matrices)?;
    // A file whose reference was never filled in holds zeros.
    let filled = stored.named(1).any(|(_, z)| z != Complex64::ZERO);
    problem.stored = filled.then_some(stored);
    problem.start = start;
    Ok(problem)
}

/// Record 5.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct Energies {
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

/// The records by their contents.
struct Input(Reader);

impl Input {
    fn scalar<T: Pod>(&mut self) -> Read<T> {
        let mut value = T::zeroed();
        self.0.begin(size_of::<T>() as u128)?;
        self.0.read(bytemuck::bytes_of_mut(&mut value))?;
        self.0.end()?;
        Ok(value)
    }

    fn scalars<T: Pod, const N: usize>(&mut self) -> Read<[T; N]> {
        let mut values = [T::zeroed(); N];
        self.0.begin(size_of::<[T; N]>() as u128)?;
        self.0.read(bytemuck::cast_slice_mut(&mut values))?;
        self.0.end()?;
        Ok(values)
    }

    fn array<T: Pod>(&mut self, length: usize) -> Read<Vec<T>> {
        self.0.begin(size_of::<T>() as u128 * length as u128)?;
        let mut values = vec![T::zeroed(); length];
        self.0.read(bytemuck::cast_slice_mut(&mut values))?;
        self.0.end()?;
        Ok(values)
    }

    /// The first `used` of `columns` columns of `rows` complex numbers.
    fn matrix(&mut self, rows: usize, used: usize, columns: usize) -> Read<Vec<Complex64>> {
        self.0.begin(16 * rows as u128 * columns as u128)?;
        let mut values = vec![Complex64::ZERO; rows * used];
        self.0.read(bytemuck::cast_slice_mut(&mut values))?;
        self.0.skip(16 * rows as u64 * (columns - used) as u64)?;
        self.0.end()?;
        Ok(values)
    }

    /// Record 1.
    fn extents(&mut self) -> Read<[usize; 5]> {
        let [sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max] = self.scalars::<i32, 5>()?;
        self.positive([
            ("sig_ntband", sig_ntband),
            ("gvec_ng", gvec_ng),
            ("ncoul", ncoul),
            ("epsmpi_ngpown_max", ngpown_max),
            ("peinf_ntband_max", ntband_max),
        ])
    }

    /// Record 7: the extent once more, then the array.
    fn indinv(&mut self, gvec_ng: usize) -> Read<Vec<i32>> {
        self.0.begin(4 * (gvec_ng as u128 + 1))?;
        let mut again = 0i32;
        self.0.read(bytemuck::bytes_of_mut(&mut again))?;
        if again as i64 != gvec_ng as i64 {
            return Err(self.0.error(format!("gvec_ng is {gvec_ng} in record 1, {again} here")));
        }
        let mut indinv = vec![0; gvec_ng];
        self.0.read(bytemuck::cast_slice_mut(&mut indinv))?;
        self.0.end()?;
        Ok(indinv)
    }

    /// Record 8, of which only this rank's rows are kept.
    fn aqsm_local(&mut self, header: &Header) -> Read<Vec<Complex64>> {
        let Header { ncouls, nbands, ngpown, peinf_ntband_max, .. } = *header;
        self.0.begin(16 * ncouls as u128 * peinf_ntband_max as u128)?;
        let modes = 16 * ncouls as u128 * ngpown as u128;
        if modes > u128::from(self.0.size()) {
            return Err(self.0.error(format!(
                "ncouls = {ncouls} and ngpown = {ngpown} need {modes} bytes of wtilde_array, more \
                 than the whole file has: {}",
                self.0.size()
            )));
        }
        // Several G′ may share a row of the record, so its size is no bound.
        require_memory("aqsm_local", 16 * nbands as u64 * ngpown as u64)
            .map_err(|e| self.0.error(e.to_string()))?;
        let mut aqsm_local = vec![Complex64::ZERO; ngpown * nbands];
        let mut column = vec![Complex64::ZERO; ncouls];
        for band in aqsm_local.chunks_exact_mut(ngpown) {
            self.0.read(bytemuck::cast_slice_mut(&mut column))?;
            for (element, row) in band.iter_mut().zip(header.rows()) {
                *element = row.map_or(Complex64::ZERO, |igp| column[igp]);
            }
        }
        self.0.skip(16 * ncouls as u64 * (peinf_ntband_max - nbands) as u64)?;
        self.0.end()?;
        Ok(aqsm_local)
    }

    fn positive<const N: usize>(&self, extents: [(&str, i32); N]) -> Read<[usize; N]> {
        for (name, extent) in extents {
            if extent < 1 {
                return Err(self.0.error(format!("{name} must be at least 1, found {extent}")));
            }
        }
        Ok(extents.map(|(_, extent)| extent as usize))
    }

    fn at_most(&self, pairs: &[(&str, usize, &str, usize)]) -> Read<()> {
        for (name, extent, limit, max) in pairs {
            if extent > max {
                return Err(self.0.error(format!("{name} = {extent} exceeds {limit} = {max}")));
            }
        }
        Ok(())
    }

    fn indices(&self, name: &str, indices: &[i32], limit: &str, max: usize) -> Read<()> {
        match indices.iter().position(|&index| index < 1 || index as usize > max) {
            Some(at) => Err(self.0.error(format!(
                "{name}({}) = {} is outside 1..={limit} = {max}",
                at + 1,
                indices[at]
            ))),
            None => Ok(()),
        }
    }
}
