//! What the bits of a task depend on.

use gpp_core::offdiag::checkpoint::Identity;
use gpp_core::offdiag::images::GROUP;
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
use crate::problem::digest::{self, Contents};
use crate::record::provenance;

/// Columns of A in the digest of some: so many l and n.
const SOME: usize = 4;

/// That of a task of these bands. With `whole` all data is read, else what tells built-in systems apart.
///
/// # Errors
/// Those of [`Contents::of`].
pub fn identity(
    on: &On,
    (task, version): (&Task, Option<&'static Version>),
    bands: Bands,
    whole: bool,
) -> Result<Identity> {
    let problem = task.problem;
    let whole = whole && !digest::is_told_by_some(problem.frame());
    let contents = Contents::of(problem.into())?;
    let columns = whole.then(|| digest::hex(&digest::of_columns(problem.slab())));
    let of_some = |all: usize| -> Vec<usize> {
        let mut some: Vec<usize> = (0..SOME).map(|at| at * (all - 1) / (SOME - 1)).collect();
        some.dedup();
        some
    };
    let (nbands, ncouls) = (problem.extents().nbands, problem.extents().ncouls);
    let [of_l, of_n] = match whole {
        true => [(0..task.bands()).collect(), (0..nbands).collect()],
        false => [of_some(task.bands()), of_some(nbands)],
    };
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
    let none = || String::from("none");
    let widest = Level::available().last().map_or("none", |level| level.name());
    let [vectors, code, back] = match on {
        // The crate of the products takes the widest vectors that there are.
        On::Host(host) => {
            [host.level().to_string(), none(), format!("CPU, {widest} in its products")]
        }
        On::Gpus(_) => [none(), kernels.collect::<Vec<_>>().join(" "), back_end(on.info())],
    };
    Ok(Identity {
        contents: contents.data,
        columns: columns.unwrap_or_else(none),
        energies: format!("{}, {at}", contents.energies),
        bands: format!("{} to {}", bands.first + 1, bands.first + bands.count),
        elements: digest::hex(&elements),
        back_end: back,
        version: version.map_or_else(none, |version| version.id.into()),
        vectors,
        code,
        program: provenance::program().into(),
        part: GROUP,
    })
}
