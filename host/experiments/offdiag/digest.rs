//! A digest of what the bits of a task depend on.

use gpp_core::offdiag::{At, Task};
use gpp_cpu::level::Level;
use gpp_kernels::offdiag::COMMON;
use gpp_kernels::offdiag::version::Version;
use num_complex::Complex64;
use rayon::prelude::*;

use super::bands::Bands;
use super::on::On;
use crate::devices::gpu;
use crate::error::Result;
use crate::experiments::setting::back_end;
use crate::problem::digest;
use crate::record::provenance;

/// Columns of A in the digest of some: so many l and n.
const SOME: usize = 4;

/// What it is a digest of, for messages.
pub const WHAT: &str = "matrix elements, input, energies, bands, version, vectors or program";

/// That of a task of these bands, with some of the matrix elements.
///
/// # Errors
/// Those of [`digest::of_problem`].
pub fn of(
    on: &On,
    (task, version): (&Task, Option<&'static Version>),
    bands: Bands,
) -> Result<String> {
    let of_some = |all: usize| -> Vec<usize> {
        let mut some: Vec<usize> = (0..SOME).map(|at| at * (all - 1) / (SOME - 1)).collect();
        some.dedup();
        some
    };
    let problem = task.problem;
    let (nbands, ncouls) = (problem.extents().nbands, problem.extents().ncouls);
    let [of_l, of_n] = [of_some(task.bands()), of_some(nbands)];
    let of_band = |l: usize| -> Vec<u64> {
        let mut column = vec![Complex64::ZERO; ncouls];
        let of_column = |&n: &usize| {
            task.elements.column(l, n, &mut column);
            digest::of(&column)
        };
        of_n.iter().map(of_column).collect()
    };
    let elements: Vec<u64> = of_l.into_par_iter().flat_map_iter(of_band).collect();
    let at = match task.at {
        At::Energies => "all elements",
        At::Bands(_) => "elements of bands at their own",
    };
    let kernels = version.into_iter().flat_map(|version| version.kernels().chain(COMMON));
    let kernels = kernels.map(|(symbol, _)| gpu::hash(symbol).unwrap_or("unknown".into()));
    let widest = Level::available().last().map_or("none", |level| level.name());
    let by = match on {
        // The crate of the products takes the widest vectors that there are.
        On::Host(host) => format!("CPU, {}, {widest} in its products", host.level()),
        On::Gpus(_) => [vec![back_end(on.info())], kernels.collect()].concat().join(" "),
    };
    let (first, count, version) = (bands.first, bands.count, version.map(|version| version.id));
    let (problem, elements) = (digest::of_problem(problem.into())?, digest::of(&elements));
    let program = provenance::program();
    Ok(format!("{problem} {elements} {at} {first} {count} {version:?} {by} {program}"))
}
