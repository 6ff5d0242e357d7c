//! Many states against one screening, Σ_ll at each state's own energy:
//! `cargo run --release -p gpp-core --example states`.
//!
//! With `states DEVICE NCOULS NGPOWN NBANDS STATES`, states a second by a call for each and by one call.

use std::time::Instant;

use gpp_core::devices::gpu::driver::{Buffer, Context};
use gpp_core::on_gpu::DeviceMatrix;
use gpp_core::{Bands, Calculator, Complex32, Complex64, Formula, MatrixRef, Screening, State};

const ROUNDS: usize = 7;

fn main() -> gpp_core::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [device, sizes @ ..] = &arguments[..] {
        let sizes = sizes.iter().map(|size| size.parse().expect("a number"));
        let sizes: Vec<usize> = sizes.collect();
        return times(device, sizes.try_into().expect("NCOULS NGPOWN NBANDS STATES"));
    }
    // Arrays of one rank: 40 G vectors, of which every third is one of its 12 G′, and 10 bands with energies in eV.
    let (ncouls, ngpown, nbands) = (40, 12, 10);
    let pairs = || (0..ngpown).flat_map(|igp| (0..ncouls).map(move |ig| (ig, igp)));
    let pole = |(ig, igp)| Complex64::new(8.0 + 0.3 * ig as f64 + 0.2 * igp as f64, 0.0);
    let eps = |(ig, igp): (usize, usize)| {
        Complex64::new(0.6 * (-0.2 * ig.abs_diff(3 * igp) as f64).exp(), 0.01)
    };
    let [wtilde, eps]: [Vec<_>; 2] = [pairs().map(pole).collect(), pairs().map(eps).collect()];
    let vcoul: Vec<_> = (0..ncouls).map(|ig| 4.0 / (1.0 + ig as f64)).collect();
    let screening = Screening {
        wtilde: MatrixRef::Host(&wtilde),
        eps: MatrixRef::Host(&eps),
        vcoul: &vcoul,
        inv_igp_index: &(0..ngpown as i32).map(|igp| 1 + 3 * igp).collect::<Vec<_>>(),
        indinv: &(1..=ncouls as i32).collect::<Vec<_>>(),
    };
    let e: Vec<_> = (0..nbands).map(|n| -6.0 + 1.5 * n as f64).collect();
    let occ: Vec<_> = (0..nbands).map(|n| if n < 4 { 1.0 } else { 0.0 }).collect();
    // ⟨n|exp(i(q+G)·r)|state⟩, `(ncouls, nbands)`.
    let elements = |state: usize| -> Vec<Complex64> {
        let size = |ig: usize, n: usize| 1.0 / (1.0 + ig as f64 + n.abs_diff(state) as f64);
        let element = |at| Complex64::from_polar(size(at % ncouls, at / ncouls), 0.1 * at as f64);
        (0..ncouls * nbands).map(element).collect()
    };
    let calculator = Calculator::open("auto")?.with_derivative(true);
    // Modes and eps are looked at once, and stay on a GPU.
    let mut placed = calculator.place(&screening)?;
    let elements: Vec<_> = (0..nbands).map(elements).collect();
    let omega: Vec<_> = e.iter().map(|e| [*e]).collect();
    let mut states = Vec::new();
    for (aqs, omega) in elements.iter().zip(&omega) {
        let aqs = MatrixRef::Host(aqs);
        states.push(State {
            bands: Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &e, occ: &occ },
            omega,
        });
    }
    let all = calculator.sums_of_states(&mut placed, &states, Formula::default())?;
    for (state, (found, e)) in all.iter().zip(&e).enumerate() {
        let derivative = found.derivative.as_ref().expect("it was asked for")[0];
        let (sigma, z) = (found.sums.ach[0].re, 1.0 / (1.0 - derivative.re));
        println!("state {state}: {e:5.1} eV, SX + CH {sigma:+.5}, Z {z:.3}");
    }
    Ok(())
}

/// Prints states a second, two energies each, by single calls and by one call, alternately: medians, with matrix elements on the
/// host, in double and in single precision, then on a GPU.
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
    let single = |z: &Complex64| Complex32::new(z.re as f32, z.im as f32);
    let singles: Vec<Vec<_>> = aqs.iter().map(|aqs| aqs.iter().map(single).collect()).collect();
    let in_single = singles.iter().map(|aqs| MatrixRef::Single(aqs, ncouls)).collect();
    let mut memories = vec![
        ("the host", aqs.iter().map(|aqs| MatrixRef::Host(aqs)).collect()),
        ("the host in single precision", in_single),
    ];
    let mut buffers = Vec::new();
    if device.starts_with("gpu") {
        let context = Context::open(0)?;
        let stream = context.stream("matrix elements")?;
        for aqs in &aqs {
            buffers.push(context.upload("matrix elements", aqs, &stream)?);
        }
        let there = |buffer: &Buffer<Complex64>| {
            let address = buffer.pointer().addr() as u64;
            // SAFETY: of this size, kept to the end, and nobody writes it.
            MatrixRef::Device(unsafe { DeviceMatrix::new(address, ncouls) })
        };
        memories.push(("the GPU", buffers.iter().map(there).collect::<Vec<_>>()));
    }
    for ((memory, aqs), (what, shift)) in
        memories.iter().flat_map(|memory| [("each", 0.01), ("all", 0.0)].map(|of| (memory, of)))
    {
        let omega: Vec<_> = (0..count).map(|state| [1.1 + shift * state as f64, 2.1]).collect();
        let mut states = Vec::new();
        for (aqs, omega) in aqs.chunks(2).zip(&omega) {
            let bands = Bands { aqsn: aqs[0], aqsm: aqs[1], aqsm_local: false, e: &e, occ: &occ };
            states.push(State { bands, omega });
        }
        let (mut rates, mut kernels, mut are_same) = ([const { Vec::new() }; 2], 0.0, true);
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let mut single = Vec::new();
            for State { bands, omega } in &states {
                single.push(calculator.sums_at(&mut placed, bands, omega, Formula::default())?);
            }
            rates[0].push(count as f64 / begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            let all = calculator.sums_of_states(&mut placed, &states, Formula::default())?;
            rates[1].push(count as f64 / begin.elapsed().as_secs_f64());
            are_same &= all.iter().zip(&single).all(|(a, b)| a.sums == b.sums);
            kernels = single.iter().map(|found| found.seconds).sum::<f64>() / count as f64;
        }
        let [by_single, by_one] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[ROUNDS / 2]
        });
        println!(
            "elements on {memory}, energies of {what}: {by_single:.0} states/s by single calls ({:.2} ms of kernels \
             each), {by_one:.0} by one call, {:.2} times; same bits: {are_same}",
            1e3 * kernels,
            by_one / by_single
        );
    }
    Ok(())
}
