//! A problem's arrays as a caller has them.

use gpp::catalogue::{self, BackEnd};
use gpp::problem::input_file::aqsmtemp_column;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Problem, Source, System};
use gpp_core::{Bands, Calculator, Formula, Found, FoundMatrix, MatrixBands, MatrixRef, Screening};
use num_complex::Complex64;

use super::EnergyGrid;

pub struct Own {
    pub aqsmtemp: Vec<Complex64>,
    pub e: Vec<f64>,
    pub occ: Vec<f64>,
    pub omega: Vec<f64>,
}

impl Own {
    pub fn of(problem: &Problem) -> Own {
        let h = problem.header();
        let mut aqsmtemp = vec![Complex64::ZERO; h.ncouls * h.nbands];
        let columns = aqsmtemp.chunks_exact_mut(h.ncouls).enumerate();
        columns.for_each(|(n, column)| aqsmtemp_column(problem, n, column));
        let e = h.peinf_indext_dist[..h.nbands].iter().map(|&n| h.wfnkq_ekq[n as usize - 1]);
        let omega = h.above_state().iter().map(|above| h.e_lk + above).collect();
        Own { aqsmtemp, e: e.collect(), occ: h.occ(), omega }
    }

    /// The bands, with the rows of `aqsm` that columns have.
    pub fn bands<'a>(&'a self, problem: &'a Problem) -> Bands<'a> {
        let aqsm = MatrixRef::Host(problem.slab().aqsm_local().whole().unwrap());
        Bands { aqsm, aqsm_local: true, ..self.whole(problem) }
    }

    pub fn whole<'a>(&'a self, problem: &'a Problem) -> Bands<'a> {
        let [aqsn, aqsm] = [problem.aqsn(), &self.aqsmtemp].map(MatrixRef::Host);
        Bands { aqsn, aqsm, aqsm_local: false, e: &self.e, occ: &self.occ }
    }
}

pub fn screening(problem: &Problem) -> Screening<'_> {
    let h = problem.header();
    let [wtilde, eps] = [problem.wtilde(), problem.eps()].map(MatrixRef::Host);
    let (vcoul, inv_igp_index) = (&h.vcoul[..h.ncouls], &h.inv_igp_index[..h.ngpown]);
    Screening { wtilde, eps, vcoul, inv_igp_index, indinv: &h.indinv }
}

pub fn formula(problem: &Problem) -> Formula {
    let header = problem.header();
    Formula::BerkeleyGw { gamma: header.sig_gamma, sexcut: header.sexcut }
}

pub fn synthesised(name: &str, grid: EnergyGrid) -> Problem {
    let mut source = Synthesis::new(System::find(name).unwrap(), 214, super::QUIET);
    let header = grid.apply_to(source.header());
    source.set_header(header);
    source.load().unwrap()
}

/// Arrays of any size, made without a thread and without a problem. Real poles, some at an energy.
pub struct Arrays {
    pub wtilde: Vec<Complex64>,
    pub eps: Vec<Complex64>,
    pub vcoul: Vec<f64>,
    pub inv_igp_index: Vec<i32>,
    pub indinv: Vec<i32>,
    /// Of all bands l and n.
    pub elements: Vec<Complex64>,
    pub e: Vec<f64>,
    pub occ: Vec<f64>,
    pub omega: Vec<f64>,
}

impl Arrays {
    /// Of `ncouls` G, `ngpown` of which are G′, bands n and l, and energies.
    pub fn of([ncouls, ngpown]: [usize; 2], [n, l]: [usize; 2], nw: usize) -> Arrays {
        let between = |at: usize, factor: f64| 0.5 + 0.5 * (factor * at as f64).sin();
        let number = |at| Complex64::new(between(at, 0.37) - 0.5, between(at, 0.11) - 0.5);
        let e: Vec<f64> = (0..n).map(|n_at| -10.0 + 20.0 * n_at as f64 / n as f64).collect();
        let omega: Vec<f64> = (0..nw).map(|iw| -1.0 + 2.0 * iw as f64 / nw as f64).collect();
        let mut wtilde: Vec<Complex64> =
            (0..ncouls * ngpown).map(|at| (5.0 + 30.0 * between(at, 0.7)).into()).collect();
        wtilde[7] = (omega[0] - e[1]).into();
        wtilde[9] = Complex64::ZERO;
        Arrays {
            wtilde,
            eps: (0..ncouls * ngpown).map(|at| number(at + 1)).collect(),
            vcoul: vec![1.0; ncouls],
            inv_igp_index: (1..=ngpown as i32).collect(),
            indinv: (1..=ncouls as i32).collect(),
            elements: (0..ncouls * n * l).map(|at| number(at + 2)).collect(),
            occ: e.iter().map(|&e| f64::from(e < 0.0)).collect(),
            e,
            omega,
        }
    }

    pub fn screening(&self) -> Screening<'_> {
        let Arrays { wtilde, eps, vcoul, inv_igp_index, indinv, .. } = self;
        let (wtilde, eps) = (MatrixRef::Host(wtilde), MatrixRef::Host(eps));
        Screening { wtilde, eps, vcoul, inv_igp_index, indinv }
    }

    pub fn bands(&self) -> Bands<'_> {
        let aqs = MatrixRef::Host(&self.elements[..self.vcoul.len() * self.e.len()]);
        Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &self.e, occ: &self.occ }
    }

    pub fn matrix(&self) -> MatrixBands<'_> {
        MatrixBands { a: &self.elements, e: &self.e, occ: &self.occ, at_bands: false }
    }
}

pub fn own_versions() -> impl Iterator<Item = &'static str> {
    let own = catalogue::versions().filter(|listed| listed.back_end() == BackEnd::Cpu);
    own.map(|listed| listed.id())
}

pub fn versions() -> impl Iterator<Item = &'static str> {
    own_versions().chain(["v0", "v13"])
}

/// All kinds of calls, the sums' by these versions; times are none.
#[inline(never)]
pub fn all(
    versions: impl Iterator<Item = &'static str>,
    calculator: &Calculator,
    arrays: &Arrays,
) -> gpp_core::Result<(Vec<Found>, FoundMatrix)> {
    let (screening, formula) = (arrays.screening(), Formula::default());
    let (bands, omega, of_matrix) = (arrays.bands(), &arrays.omega, arrays.matrix());
    let (mut placed, mut found) = (calculator.place(&screening)?, Vec::new());
    for version in versions {
        let calculator = calculator.clone().with_version(version)?;
        found.push(calculator.sums(&screening, &bands, omega, formula)?);
        found.push(calculator.sums_at(&mut placed, &bands, omega, formula)?);
    }
    found.iter_mut().for_each(|found| (found.seconds, found.call_seconds) = (0.0, 0.0));
    let mut matrix = calculator.matrix(&screening, &of_matrix, omega, formula)?;
    assert!(matrix.sums == calculator.matrix_at(&mut placed, &of_matrix, omega, formula)?.sums);
    (matrix.seconds, matrix.call_seconds) = (0.0, 0.0);
    Ok((found, matrix))
}
