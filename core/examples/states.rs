//! Many states against one screening, Σ_ll at each state's own energy:
//! `cargo run --release -p gpp-core --example states`.
//!
//! With `states DEVICE NCOULS NGPOWN NBANDS STATES`, states a second by a call for each and by one call.

mod common;

use std::time::Instant;

use gpp_core::{Bands, Calculator, Complex64, Formula, MatrixRef, Screening, State};

fn main() -> gpp_core::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [device, sizes @ ..] = &arguments[..] {
        let sizes = sizes.iter().map(|size| size.parse().expect("a number"));
        let sizes: Vec<usize> = sizes.collect();
        return times(device, sizes.try_into().expect("NCOULS NGPOWN NBANDS STATES"));
    }
    let arrays = common::RankArrays::new();
    let screening = Screening {
        wtilde: MatrixRef::Host(&arrays.wtilde),
        eps: MatrixRef::Host(&arrays.eps),
        vcoul: &arrays.vcoul,
        inv_igp_index: &arrays.inv_igp_index,
        indinv: &arrays.indinv,
    };
    let calculator = Calculator::open("auto")?;
    // Modes and eps are looked at once, and stay on a GPU.
    let mut placed = calculator.place(&screening)?;
    let (e, occ) = (&arrays.e, &arrays.occ);
    let elements: Vec<_> = (0..e.len()).map(common::elements).collect();
    // A derivative of Σ at the state's energy takes a step to each side.
    let omega: Vec<_> = e.iter().map(|e| [e - 0.5, *e, e + 0.5]).collect();
    let mut states = Vec::new();
    for (aqs, omega) in elements.iter().zip(&omega) {
        let aqs = MatrixRef::Host(aqs);
        states.push(State {
            bands: Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e, occ },
            omega,
        });
    }
    let all = calculator.sums_of_states(&mut placed, &states, Formula::default())?;
    for (state, (found, e)) in all.iter().zip(e).enumerate() {
        let (asx, ach) = (&found.sums.asx, &found.sums.ach);
        let sigma: Vec<f64> = asx.iter().zip(ach).map(|(asx, ach)| (asx + ach).re).collect();
        let z = 1.0 / (1.0 - (sigma[2] - sigma[0]));
        println!("state {state}: {e:5.1} eV, SX + CH {:+.5}, Z {z:.3}", sigma[1]);
    }
    Ok(())
}

/// Prints states a second, two energies each, by single calls and by one call, in turn.
fn times(device: &str, [ncouls, ngpown, nbands, count]: [usize; 4]) -> gpp_core::Result<()> {
    let part = |at: usize, factor: f64| (factor * at as f64).sin();
    let number = |at: usize| Complex64::new(part(at, 0.37), part(at, 0.11));
    let pole = |at: usize| Complex64::new(20.0 + 15.0 * part(at, 0.7), 0.0);
    let wtilde: Vec<_> = (0..ncouls * ngpown).map(pole).collect();
    let eps: Vec<_> = (0..ncouls * ngpown).map(number).collect();
    let screening = Screening {
        wtilde: MatrixRef::Host(&wtilde),
        eps: MatrixRef::Host(&eps),
        vcoul: &vec![1.0; ncouls],
        inv_igp_index: &(1..=ngpown as i32).collect::<Vec<_>>(),
        indinv: &(1..=ncouls as i32).collect::<Vec<_>>(),
    };
    let e: Vec<f64> = (0..nbands).map(|n| -10.0 + 60.0 * n as f64 / nbands as f64).collect();
    let occ: Vec<f64> = e.iter().map(|&e| f64::from(e < 0.0)).collect();
    let elements = |state: usize| (0..ncouls * nbands).map(|at| number(at + state)).collect();
    let aqs: Vec<Vec<Complex64>> = (0..2 * count).map(elements).collect();
    let calculator = Calculator::open(device)?;
    let mut placed = calculator.place(&screening)?;
    for (what, shift) in [("each", 0.01), ("all", 0.0)] {
        let omega: Vec<_> = (0..count).map(|state| [1.1 + shift * state as f64, 2.1]).collect();
        let mut states = Vec::new();
        for (aqs, omega) in aqs.chunks(2).zip(&omega) {
            let (aqsn, aqsm) = (MatrixRef::Host(&aqs[0]), MatrixRef::Host(&aqs[1]));
            let bands = Bands { aqsn, aqsm, aqsm_local: false, e: &e, occ: &occ };
            states.push(State { bands, omega });
        }
        for round in 0..4 {
            let begin = Instant::now();
            let mut single = Vec::new();
            for &State { bands, omega } in &states {
                let formula = Formula::default();
                single.push(calculator.sums_at(&mut placed, &bands, omega, formula)?);
            }
            let by_single = count as f64 / begin.elapsed().as_secs_f64();
            let begin = Instant::now();
            let all = calculator.sums_of_states(&mut placed, &states, Formula::default())?;
            let by_one = count as f64 / begin.elapsed().as_secs_f64();
            let are_same = all.iter().zip(&single).all(|(a, b)| a.sums == b.sums);
            let kernels = single.iter().map(|found| found.seconds).sum::<f64>() / count as f64;
            println!(
                "energies of {what}, round {round}: {by_single:.1} states/s by single calls \
                 ({:.2} ms of kernels each, {}), {by_one:.1} by one call, {:.2} times; same bits: {are_same}",
                1e3 * kernels,
                single[0].version,
                by_one / by_single
            );
        }
    }
    Ok(())
}
