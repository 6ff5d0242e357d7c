//! A caller's arrays in, sums out: the bits of the command line, and errors that name what was wrong.

mod common;

use common::QUIET;
use gpp::catalogue;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::problem::grid::OnGrid;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Grid, Problem, Source, systems};
use gpp_core::{Aqsm, Bands, Calculator, Formula, Screening};
use num_complex::Complex64;

/// What a caller has of a problem.
struct Own {
    aqsmtemp: Vec<Complex64>,
    e: Vec<f64>,
    occ: Vec<f64>,
    omega: Vec<f64>,
}

impl Own {
    fn of(problem: &Problem) -> Own {
        let h = problem.header();
        let mut aqsmtemp = vec![Complex64::ZERO; h.ncouls * h.nbands];
        let columns = aqsmtemp.chunks_exact_mut(h.ncouls).enumerate();
        columns.for_each(|(n, column)| problem.aqsmtemp_column(n, column));
        let e = h.peinf_indext_dist[..h.nbands].iter().map(|&n| h.wfnkq_ekq[n as usize - 1]);
        let omega = h.above_state().iter().map(|above| h.e_lk + above).collect();
        Own { aqsmtemp, e: e.collect(), occ: h.occ(), omega }
    }
}

fn screening(problem: &Problem) -> Screening<'_> {
    let h = problem.header();
    Screening {
        wtilde: problem.wtilde(),
        eps: problem.eps(),
        vcoul: &h.vcoul[..h.ncouls],
        inv_igp_index: &h.inv_igp_index[..h.ngpown],
        indinv: &h.indinv,
    }
}

fn formula(problem: &Problem) -> Formula {
    Formula { gamma: problem.header().sig_gamma, sexcut: problem.header().sexcut }
}

fn synthesised(name: &str, grid: Grid) -> Problem {
    let system = systems::find(name).unwrap();
    OnGrid::new(Box::new(Synthesis::new(system, 214, QUIET)), grid).load().unwrap()
}

#[test]
fn sums_have_the_bits_of_the_command_line_for_every_version() {
    for (name, nw) in [("tiny", 2), ("tiny-complex", 3), ("tiny", 17)] {
        let problem = synthesised(name, Grid::Count(nw));
        let own = Own::of(&problem);
        let host = Host::new();
        for listed in catalogue::versions() {
            // Versions for GPUs are emulated.
            let expected = Engine::whole(&host, &problem).unwrap().run(listed.kernel).unwrap().sums;
            let calculator = Calculator::open("cpu").unwrap().with_version(listed.id()).unwrap();
            for aqsm in [Aqsm::Whole(&own.aqsmtemp), Aqsm::Local(problem.aqsm_local())] {
                let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
                let found = calculator
                    .sums(&screening(&problem), &bands, &own.omega, formula(&problem))
                    .unwrap();
                assert_eq!(found.version, listed.id());
                assert_eq!(found.sums, expected, "{name}, {nw} energies, {}", listed.id());
            }
        }
    }
}

#[test]
fn best_is_chosen_by_the_problem() {
    let calculator = Calculator::open("cpu").unwrap();
    for (nw, version) in [(2, "cpu:paired"), (64, "sigma:cells")] {
        let problem = synthesised("demo", Grid::Count(nw));
        let own = Own::of(&problem);
        let aqsm = Aqsm::Local(problem.aqsm_local());
        let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
        let found = calculator.sums(&screening(&problem), &bands, &own.omega, formula(&problem));
        assert_eq!(found.unwrap().version, version);
    }
}

#[test]
fn what_is_wrong_is_named_and_the_calculator_goes_on() {
    let problem = synthesised("tiny", Grid::Count(2));
    let own = Own::of(&problem);
    let calculator = Calculator::open("cpu").unwrap();
    let aqsm = Aqsm::Local(problem.aqsm_local());
    let bands = Bands { aqsn: problem.aqsn(), aqsm, e: &own.e, occ: &own.occ };
    let right = screening(&problem);
    let sums = |screening: &Screening, bands: &Bands, omega: &[f64]| {
        calculator.sums(screening, bands, omega, formula(&problem)).map(|found| found.sums)
    };
    let expected = sums(&right, &bands, &own.omega).unwrap();
    let mut hole = right.wtilde.to_vec();
    hole[7].re = f64::NAN;
    let none = Vec::new();
    for (screening, of, omega, named) in [
        (Screening { wtilde: &hole, ..right }, bands, &own.omega[..], "wtilde_array(ig,igp)"),
        (Screening { eps: &right.eps[1..], ..right }, bands, &own.omega, "I_eps_array(ig,igp)"),
        (Screening { inv_igp_index: &[0], ..right }, bands, &own.omega, "inv_igp_index"),
        (Screening { vcoul: &[], ..right }, bands, &own.omega, "ncouls"),
        (right, Bands { aqsn: &bands.aqsn[..5], ..bands }, &own.omega, "aqsntemp(ig,n)"),
        (
            right,
            Bands { aqsm: Aqsm::Whole(&own.aqsmtemp[2..]), ..bands },
            &own.omega,
            "aqsmtemp(ig,n)",
        ),
        (right, Bands { occ: &own.occ[1..], ..bands }, &own.omega, "occ"),
        (right, Bands { e: &[], ..bands }, &own.omega, "sig_ntband"),
        (right, bands, &none, "nstart"),
        (right, bands, &[f64::INFINITY], "energies"),
    ] {
        let error = sums(&screening, &of, omega).unwrap_err().to_string();
        assert!(error.contains(named), "{named}: {error}");
        assert_eq!(sums(&right, &bands, &own.omega).unwrap(), expected);
    }
    let error = |of: gpp::Result<Calculator>| of.err().expect("an error").to_string();
    assert!(error(Calculator::open("gpu:0,1")).contains("one device"));
    assert!(error(Calculator::open("cpi")).contains("did you mean `cpu`?"));
    assert!(
        error(Calculator::open("cpu").unwrap().with_version("v14")).contains("unknown version")
    );
}
