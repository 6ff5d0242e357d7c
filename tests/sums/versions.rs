//! Every version's bodies on the host against the serial reference.

use gpp::catalogue::{self, Version};
use gpp::kernels::kernel::Loops;
use gpp::kernels::plan::Poles;
use gpp::kernels::{lists, threads};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Source, System};
use gpp::reference::{Reference, ReferenceSource};
use num_complex::Complex64;

use crate::common::{FIXTURES, Kind, QUIET, assorted, changed, first_batch, fixture, made, remade};
use crate::{check, failures_of, referenced};

#[test]
fn fixtures_systems_and_assorted_sizes_energies_and_branches() {
    FIXTURES.iter().for_each(|name| check(&fixture(name)));
    assorted().for_each(|problem| check(&problem));
    for name in ["tiny", "tiny-complex"] {
        check(&Synthesis::new(System::find(name).unwrap(), 3, QUIET).load().unwrap());
    }
}

#[test]
fn a_grid_at_its_cap_strides() {
    let extents = [131, 129, 521, 1];
    assert!(extents.iter().product::<usize>() > threads::MAX_BLOCKS as usize * 128);
    let problem = made(extents, Kind::Mixed, 7);
    let gpus = catalogue::versions().filter_map(|listed| listed.gpu());
    let mut as_long = gpus.filter(|gpu| gpu.kernels[0].loops == Loops::Collapse3).peekable();
    assert!(as_long.peek().is_some());
    assert_eq!(failures_of(as_long.map(Version::Gpu), &problem, &referenced(&problem)), [""; 0]);
}

#[test]
fn any_occupation_and_any_order_of_bands() {
    for kind in [Kind::Mixed, Kind::Real] {
        let problem = changed(made([37, 5, 70, 3], kind, 11), |_, _, occ| {
            for (n, occ) in occ.iter_mut().enumerate() {
                *occ = [1.0, 0.0, 0.5, 0.25, 1.0][n * 7 % 5];
            }
        });
        check(&problem.unwrap());
    }
}

#[test]
fn poles_without_weight_are_of_no_kind() {
    let problem = made([2, 3, 4, 1], Kind::Real, 2);
    assert_eq!(problem.poles(), Poles::Real);
    for (eps, poles) in [(0.0, Poles::Real), (1e-130, Poles::Real), (1e-110, Poles::Any)] {
        let changed = remade(&problem, |_, of| {
            (of.wtilde[5], of.eps[5]) = (Complex64::new(3.0, 0.5), eps.into());
        });
        assert_eq!(changed.poles(), poles, "{eps}");
    }
}

/// Lists of v14 that are longer than a window, with static pairs among them or not.
#[test]
fn static_pairs_and_pairs_without_terms() {
    let v14 = catalogue::find("v14").unwrap();
    for (kind, nw) in [(Kind::Real, 1), (Kind::Real, 2), (Kind::First, 2), (Kind::Real, 3)] {
        let apart = |wtilde: &mut [Complex64], _: &mut [f64], _: &mut [f64]| {
            for (at, pole) in wtilde.iter_mut().enumerate() {
                match at * 7 % 11 {
                    0..=3 => *pole = lists::STATIC.into(),
                    4 | 5 => *pole = Complex64::ZERO,
                    _ => {}
                }
            }
        };
        let problem = changed(made([9, 530, 70, nw], kind, 21), apart).unwrap();
        assert!(first_batch(&problem, v14.holds(problem.poles())).plan.has_static());
        check(&problem);
    }
}

/// Energies that are not ω − e(n): v14 sums static pairs like others if their differences depend on the band.
#[test]
fn static_pairs_at_energies_of_other_differences() {
    let v14 = catalogue::find("v14").unwrap();
    for (shift, has_static) in [(0.0, true), (0.3, false), (300.0, false)] {
        let shifted = |wtilde: &mut [Complex64], wx: &mut [f64], _: &mut [f64]| {
            wtilde.iter_mut().step_by(3).for_each(|pole| *pole = lists::STATIC.into());
            // Of each band the second of two energies.
            for (n, w) in wx.iter_mut().skip(1).step_by(2).enumerate() {
                *w -= shift * n as f64;
            }
        };
        let problem = changed(made([9, 40, 70, 2], Kind::Real, 21), shifted).unwrap();
        assert_eq!(
            first_batch(&problem, v14.holds(problem.poles())).plan.has_static(),
            has_static,
            "{shift}"
        );
        check(&problem);
    }
}

/// CH of `test` as HeCBench's utils.h has it, rounded to six digits.
#[test]
fn hecbench_s_problem() {
    let (problem, sums) = crate::hecbench::problem(512).unwrap();
    let off = sums.ach[0] - Complex64::new(-0.096066, 11.431852);
    assert!(off.re.abs() <= 5e-7 && off.im.abs() <= 5e-7, "{sums:?}");
    let reference = Reference::new(sums, ReferenceSource::Serial, QUIET);
    for id in ["v3", "v8", "v13", "v15", "cpu:paired"] {
        assert_eq!(failures_of(catalogue::find(id).into_iter(), &problem, &reference), [""; 0]);
    }
}
