//! The derivative of Σ alone with respect to ω, of BerkeleyGW's formula.

use gpp::catalogue::{self, BackEnd};
use gpp::devices::cpu::CpuDevice;
use gpp::reference::{Outcome, derivatives, verify_derivative};

use crate::common::arrays::synthesised;
use crate::common::{EnergyGrid, QUIET, assert_fails, assorted, fixture, hard};

/// Poles of any kind, bands of any occupation, bounds, cutoffs and windows; by both, whose derivatives differ in order alone.
#[test]
fn derivatives_are_those_of_the_definition() {
    let host = CpuDevice::new();
    for problem in assorted().chain(hard().into_iter().map(|name| fixture(&name))) {
        let expected = derivatives(&problem, QUIET).unwrap();
        for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
            let version = catalogue::with_derivative(back_end);
            let found = gpp::engine::Engine::whole(&host, &problem).unwrap().run(version);
            if back_end == BackEnd::Gpu && problem.header().nbands > 8192 {
                assert_fails(found, "for 8192 bands at most");
                continue;
            }
            let rates = found.unwrap().derivative.unwrap();
            let verdict = verify_derivative(&problem, &rates, expected.as_ref());
            let what = format!("{} {}", version.id(), problem.name());
            assert_eq!(verdict.outcome, Outcome::Passed, "{what}: {:?}", verdict.worst);
        }
    }
}

/// Central differences of Σ in double-double numbers, at energies that no bound lies between. An error of the third derivative
/// is h²·|q³| of a term at most, `|q| ≤ 1/γ = 2`, and w is rounded by 1e-15 of 2h.
#[test]
fn the_definition_has_the_slope_of_sigma() {
    let (h, each) = (1e-5, [-0.7, 1.3]);
    let around: Vec<f64> = each.iter().flat_map(|omega| [omega - h, *omega, omega + h]).collect();
    for name in ["tiny", "tiny-complex"] {
        let problem = synthesised(name, EnergyGrid::Listed(around.clone()));
        let rates = derivatives(&problem, QUIET).unwrap().unwrap().sums.alone().ach;
        let sums = crate::precise::precisely(&problem);
        let (sigma, sizes) = (sums.sums.alone().ach, sums.scale.alone().magnitudes);
        for middle in [1, 4] {
            let slope = (sigma[middle + 1] - sigma[middle - 1]) / (2.0 * h);
            let error = (slope - rates[middle]).norm() / sizes[middle][1];
            assert!(error <= 8.0 * h * h + 1e-10, "{name} {middle}: {error:e}");
            assert!(rates[middle].norm() > 1e-6 * sizes[middle][1], "{name}: no slope");
        }
    }
}
