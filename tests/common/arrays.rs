//! A problem's arrays as a caller has them.

use gpp::problem::grid::OnGrid;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Grid, Problem, Source, systems};
use gpp_core::{Formula, Screening};
use num_complex::Complex64;

use super::QUIET;

/// What a caller has of a problem.
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
        columns.for_each(|(n, column)| problem.aqsmtemp_column(n, column));
        let e = h.peinf_indext_dist[..h.nbands].iter().map(|&n| h.wfnkq_ekq[n as usize - 1]);
        let omega = h.above_state().iter().map(|above| h.e_lk + above).collect();
        Own { aqsmtemp, e: e.collect(), occ: h.occ(), omega }
    }
}

pub fn screening(problem: &Problem) -> Screening<'_> {
    let h = problem.header();
    Screening {
        wtilde: problem.wtilde(),
        eps: problem.eps(),
        vcoul: &h.vcoul[..h.ncouls],
        inv_igp_index: &h.inv_igp_index[..h.ngpown],
        indinv: &h.indinv,
    }
}

pub fn formula(problem: &Problem) -> Formula {
    Formula { gamma: problem.header().sig_gamma, sexcut: problem.header().sexcut }
}

pub fn synthesised(name: &str, grid: Grid) -> Problem {
    let system = systems::find(name).unwrap();
    OnGrid::new(Box::new(Synthesis::new(system, 214, QUIET)), grid).load().unwrap()
}
