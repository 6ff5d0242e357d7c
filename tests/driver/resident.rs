//! What stays on a device while bands change, and a caller's arrays that are there: the bits of the host's arrays.

use std::ffi::{CStr, c_int, c_void};

use gpp::devices::gpu::driver::{Buffer, Context};
use gpp::measure::same_bits;
use gpp_core::on_gpu::DeviceMatrix;
use gpp_core::{Bands, Calculator, Formula, MatrixRef, Precision, Screening, State};
use libc::{RTLD_NOW, dlopen, dlsym};
use num_complex::{Complex32, Complex64};

use super::Outcome;
use crate::common::EnergyGrid;
use crate::common::arrays::{Own, formula, screening, synthesised};

/// A caller's matrix on the first device.
pub struct There {
    buffer: Buffer<Complex64>,
    ld: usize,
}

impl There {
    pub fn new(values: &[Complex64], rows: usize, ld: usize) -> gpp::error::Result<There> {
        let context = Context::open(0)?;
        let stream = context.stream("a caller's arrays")?;
        let nan = Complex64::new(f64::NAN, f64::NAN);
        let column = |of: &[Complex64]| [of, &vec![nan; ld - rows]].concat();
        let all: Vec<Complex64> = values.chunks_exact(rows).flat_map(column).collect();
        let buffer = context.upload("a matrix", &all, &stream)?;
        stream.synchronize()?;
        Ok(There { buffer, ld })
    }

    pub fn matrix(&self) -> MatrixRef<'static> {
        let at = self.buffer.pointer().addr() as u64;
        // SAFETY: tests keep it to their end, and nobody writes it.
        MatrixRef::Device(unsafe { DeviceMatrix::new(at, self.ld) })
    }
}

pub fn stays() -> Outcome {
    for (odd, (name, nw)) in [("tiny", 2), ("tiny-complex", 5)].into_iter().enumerate() {
        let problem = synthesised(name, EnergyGrid::Count(nw));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let (ncouls, nbands) = (given.vcoul.len(), own.e.len());
        // Dense, so that kernels read the caller's own; or not. Of each version one problem is dense.
        for (ld, first) in [(ncouls, odd), (ncouls + 3, 1 - odd)] {
            let matrix = |values: &[Complex64]| There::new(values, ncouls, ld);
            let [wtilde, eps] = [matrix(problem.wtilde())?, matrix(problem.eps())?];
            let [aqsn, aqsm] = [matrix(problem.aqsn())?, matrix(&own.aqsmtemp)?];
            for gpu in gpp::kernels::versions::ALL.iter().skip(first).step_by(2) {
                // The caller is at work on another device.
                Context::open(1)?.memory()?;
                let callers = current_context();
                let calculator = Calculator::open("gpu:0")?.with_version(gpu.id())?;
                let calculator = calculator.with_ach_of_bands(Some(1));
                let mut placed = calculator.place(&given)?;
                let on_device = Screening { wtilde: wtilde.matrix(), eps: eps.matrix(), ..given };
                let mut there = calculator.place(&on_device)?;
                let broad = Formula::TimeOrdered { eta: 0.1, window: 0.0 };
                let [plain, shifted] = [0.0, 0.7].map(|shift| (shift, 0, formula));
                let calls = [plain, plain, shifted, (0.7, 0, broad), (0.7, 1, broad), plain];
                for (call, (shift, fewer, formula)) in calls.into_iter().enumerate() {
                    let has_static = formula != broad;
                    let calculator = calculator.clone().with_static_ch(has_static);
                    let nbands = nbands - fewer;
                    let (e, occ) = (&own.e[..nbands], &own.occ[..nbands]);
                    let omega: Vec<f64> = own.omega.iter().map(|w| w + shift).collect();
                    let mut elements = problem.aqsn().to_vec();
                    elements[call] *= 2.0;
                    let [changed, host, rows] = [&elements[..], problem.aqsn(), &own.aqsmtemp]
                        .map(|all| MatrixRef::Host(&all[..ncouls * nbands]));
                    let bands = Bands { aqsn: changed, aqsm: rows, aqsm_local: false, e, occ };
                    let each = calculator.sums(&given, &bands, &omega, formula)?;
                    let kept = calculator.sums_at(&mut placed, &bands, &omega, formula)?;
                    let bands = Bands { aqsn: host, ..bands };
                    let own_each = calculator.sums(&given, &bands, &omega, formula)?;
                    let bands = Bands { aqsn: aqsn.matrix(), aqsm: aqsm.matrix(), ..bands };
                    let on_gpu = calculator.sums_at(&mut there, &bands, &omega, formula)?;
                    let same = [(&each, &kept), (&own_each, &on_gpu)].map(|(expected, found)| {
                        same_bits(&expected.sums, &found.sums)
                            && expected.static_ch.is_some() == has_static
                            && expected.static_ch == found.static_ch
                            && expected.ach_of_bands.is_some()
                            && expected.ach_of_bands == found.ach_of_bands
                    });
                    assert_eq!(same, [true; 2], "{name} {ld} {} {call}", gpu.id());
                    calculator.sums(&on_device, &bands, &omega, formula)?;
                    let wrong = Bands { aqsn: bands.aqsm, aqsm: MatrixRef::Host(&[]), ..bands };
                    calculator.sums(&on_device, &wrong, &omega, formula).unwrap_err();
                    assert_eq!(current_context(), callers, "{name} {ld} {} {call}", gpu.id());
                }
            }
        }
    }
    Ok(())
}

pub fn current_context() -> usize {
    let mut context = 0;
    // SAFETY: the function of this name writes one handle.
    let get: extern "C" fn(*mut usize) -> c_int =
        unsafe { std::mem::transmute(function(c"cuCtxGetCurrent")) };
    assert_eq!(get(&mut context), 0);
    context
}

/// A function of the driver, which may be the stand-in.
fn function(name: &CStr) -> *mut c_void {
    // SAFETY: it is loaded, and the name ends with zero.
    let function = unsafe { dlsym(dlopen(c"libcuda.so.1".as_ptr(), RTLD_NOW), name.as_ptr()) };
    assert!(!function.is_null());
    function
}

fn counts() -> [u32; 2] {
    let (mut calls, mut made) = (0, 0);
    // SAFETY: the function of this name writes two numbers.
    let counts: extern "C" fn(*mut u32, *mut u32) =
        unsafe { std::mem::transmute(function(c"fake_counts")) };
    counts(&mut calls, &mut made);
    [calls, made]
}

/// Leaves so many bytes of devices' memory, with 0 as many as there are.
fn leave(bytes: usize) {
    // SAFETY: the function of this name takes a number and returns one.
    let room: extern "C" fn(usize) -> usize =
        unsafe { std::mem::transmute(function(c"fake_room")) };
    room(bytes);
}

/// Single precision by the version for a GPU's rate of FP64, arrays on the GPU give bitwise what host arrays give.
pub fn single() -> Outcome {
    let problem = synthesised("tiny", EnergyGrid::Count(2));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let ncouls = given.vcoul.len();
    for (device, version) in [("gpu:0", "s3"), ("gpu:1", "s4")] {
        let calculator = Calculator::open(device)?.with_sigma_alone(true);
        let calculator = calculator.with_precision(Precision::Single);
        let found = calculator.sums(&given, &own.whole(&problem), &own.omega, formula)?;
        assert_eq!(found.version, version);
        assert!(found.error_found > 0.0 && found.error_found <= found.error_bound);
        if device == "gpu:0" {
            let matrix = |values: &[Complex64]| There::new(values, ncouls, ncouls);
            let [aqsn, aqsm] = [matrix(problem.aqsn())?, matrix(&own.aqsmtemp)?];
            let there = [aqsn.matrix(), aqsm.matrix()];
            let bands = Bands { aqsn: there[0], aqsm: there[1], ..own.whole(&problem) };
            let mut placed = calculator.place(&given)?;
            for _ in 0..2 {
                let of_there = calculator.sums_at(&mut placed, &bands, &own.omega, formula)?;
                assert!(same_bits(&of_there.sums, &found.sums));
                assert_eq!(of_there.error_bound, found.error_bound);
                assert_eq!(of_there.error_found, found.error_found);
            }
        }
    }
    Ok(())
}

/// Many states in one call have the bits of single calls: with matrix elements here and there, with versions that sort pairs
/// among them, and where the device has room for one state at a time.
pub fn states() -> Outcome {
    for (name, version) in
        [("tiny", "best"), ("tiny-complex", "v13"), ("tiny", "v3"), ("tiny-complex", "v8")]
    {
        let problem = synthesised(name, EnergyGrid::Count(2));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let ncouls = given.vcoul.len();
        let calculator = Calculator::open("gpu:0")?.with_version(version)?;
        // Those of state 2 are so small that they count as zero if the host checks them.
        let factor = |state: usize| if state == 2 { 1e-130 } else { (1 + state) as f64 };
        let of_state = |state: usize| problem.aqsn().iter().map(move |z| z * factor(state));
        let here: Vec<Vec<Complex64>> = (0..9).map(|state| of_state(state).collect()).collect();
        let there = here.iter().map(|values| There::new(values, ncouls, ncouls));
        let there = there.collect::<gpp::error::Result<Vec<There>>>()?;
        let round = |z: &Complex64| Complex32::new(z.re as f32, z.im as f32);
        let padded = |column: &[Complex64]| [column, &[Complex64::ONE; 3]].concat();
        let spaced: Vec<Vec<Complex64>> =
            here.iter().map(|values| values.chunks(ncouls).flat_map(padded).collect()).collect();
        let single: Vec<Vec<Complex32>> =
            spaced.iter().map(|values| values.iter().map(round).collect()).collect();
        // Those of 0 and 1, and of 4 and 5, are the same; state 3 has many, of which best sorts pairs.
        let omega: Vec<Vec<f64>> = (0..9)
            .map(|state| {
                let nw = if state == 3 { 20 } else { 1 + state / 2 % 2 };
                (0..nw).map(|iw| own.omega[0] + 0.7 * iw as f64 + (state / 2) as f64).collect()
            })
            .collect();
        let matrix = |place: &str, state: usize| match place {
            "gpu" => there[state].matrix(),
            "spaced" => MatrixRef::Spaced(&spaced[state], ncouls + 3),
            "single" => MatrixRef::Single(&single[state], ncouls + 3),
            _ => MatrixRef::Host(&here[state]),
        };
        for place in ["host", "spaced", "gpu", "single"] {
            let state = |state: usize| {
                let (aqsn, aqsm) = (matrix(place, state), matrix(place, 8 - state));
                State { bands: Bands { aqsn, aqsm, ..own.whole(&problem) }, omega: &omega[state] }
            };
            let states: Vec<State> = (0..9).map(state).collect();
            let (mut placed, mut single) = (calculator.place(&given)?, Vec::new());
            for State { bands, omega } in &states {
                single.push(calculator.sums_at(&mut placed, bands, omega, formula)?);
            }
            // Sorted pairs have partial sums of 149 KiB, for which 4 KiB are no room.
            let few = [&states[..3], &states[4..]].concat();
            for (room, states) in [(0, &states), (0, &states), (4096, &few)] {
                leave(room);
                let found = calculator.sums_of_states(&mut placed, states, formula);
                leave(0);
                let single = single.iter().enumerate();
                let single = single.filter(|(at, _)| states.len() == 9 || *at != 3);
                for (found, (state, single)) in found?.iter().zip(single) {
                    let is_same = same_bits(&found.sums, &single.sums);
                    assert!(
                        is_same && found.version == single.version,
                        "{name} {place} {room} {state}"
                    );
                }
            }
        }
        let (mut wrong, mut wrong_single) = (here[6].clone(), single[6].clone());
        (wrong[5].re, wrong_single[5].re) = (f64::NAN, f32::NAN);
        let bands = |state| {
            let (aqsn, whole) = (matrix("host", state), own.whole(&problem));
            match (state, version) {
                (6, "v13" | "v8") => {
                    let aqsn = MatrixRef::Single(&wrong_single, ncouls + 3);
                    Bands { aqsn, aqsm: matrix("single", 6), ..whole }
                }
                (6, _) => Bands { aqsn: MatrixRef::Host(&wrong), ..whole },
                _ => Bands { aqsn, ..whole },
            }
        };
        let omega = &own.omega[..];
        let states: Vec<State> = (0..9).map(|at| State { bands: bands(at), omega }).collect();
        let mut placed = calculator.place(&given)?;
        for _ in 0..2 {
            let error = calculator.sums_of_states(&mut placed, &states, formula).unwrap_err();
            let says = "state 6: the caller's arrays: aqsn(ig,n) is NaN";
            assert!(error.to_string().starts_with(says), "{error}");
        }
        assert_eq!(calculator.sums_of_states(&mut placed, &states[..6], formula)?.len(), 6);
    }
    Ok(())
}

/// A call with the energies of the one before allocates nothing on the device, and asks little of its driver.
pub fn settled() -> Outcome {
    let problem = synthesised("tiny", EnergyGrid::Count(2));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let ncouls = given.vcoul.len();
    let matrix = |values: &[Complex64]| There::new(values, ncouls, ncouls);
    let [wtilde, eps] = [matrix(problem.wtilde())?, matrix(problem.eps())?];
    let [aqsn, aqsm] = [matrix(problem.aqsn())?, matrix(&own.aqsmtemp)?];
    let calculator = Calculator::open("gpu:0")?.with_version("v13")?;
    let on_device = Screening { wtilde: wtilde.matrix(), eps: eps.matrix(), ..given };
    let mut there = calculator.place(&on_device)?;
    let (aqsn, aqsm) = (aqsn.matrix(), aqsm.matrix());
    let bands = Bands { aqsn, aqsm, aqsm_local: false, e: &own.e, occ: &own.occ };
    let mut before = counts();
    for call in 0..5 {
        calculator.sums_at(&mut there, &bands, &own.omega, formula)?;
        let after = counts();
        let [calls, made] = [after[0] - before[0], after[1] - before[1]];
        // Those that make a context current are among them.
        let is_settled = call <= 1 || calls <= 36 && made == 0;
        assert!(is_settled, "call {call}: {calls} calls, which made {made} things");
        before = after;
    }
    Ok(())
}
