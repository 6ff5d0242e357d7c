//! Σ as a matrix on devices whose launches are emulated: the same bits on one to three of them, whatever finds room.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpp::devices::gpu::Gpu;
use gpp::kernels::offdiag::ItemKind;
use gpp::kernels::offdiag::pack::{FallbackPairs, Fold, PackV};
use gpp::kernels::offdiag::product::{ProductSigma, ProductU};
use gpp_core::error::Result;
use gpp_core::offdiag::gpu::{ALL, MatrixOnGpu, MatrixVersion, find, host_bytes};
use gpp_core::offdiag::images::{ImageShape, poles};
use gpp_core::offdiag::{Elements, MatrixSums, MatrixTask, MatrixWorker, MatrixWorkers};
use gpp_core::{Calculator, Error, FoundMatrix, MatrixBands, Placed, Screening};
use num_complex::Complex64;

use super::Outcome;
use crate::common::arrays::{Own, formula, screening};
use crate::common::matrices::{Given, add_fallback, emulated, fold, pack_v, run_sigma, run_u};
use crate::common::{Kind, assert_fails, at_energies, made};

/// Does a launch of one of these kernels; whether it is one.
///
/// # Safety
/// The parameters are the kernel's, and lie in memory.
pub unsafe fn launch<'p>(name: &str, parameters: impl Fn(usize) -> &'p [*const c_void]) -> bool {
    // SAFETY: this function's own contract.
    unsafe {
        for version in ALL {
            let of_u = version.symbols_u.as_flattened().iter().position(|symbol| *symbol == name);
            if let Some(at) = of_u {
                let (complex, kind) = (at / 3 == 1, ItemKind::ALL[at % 3]);
                run_u(version, complex, kind, &ProductU::read(parameters(ProductU::COUNT)));
                return true;
            }
            if version.symbol_sigma == name {
                run_sigma(version, &ProductSigma::read(parameters(ProductSigma::COUNT)));
                return true;
            }
        }
        match name {
            FallbackPairs::SYMBOL => {
                add_fallback(&FallbackPairs::read(parameters(FallbackPairs::COUNT)));
            }
            PackV::SYMBOL => pack_v(&PackV::read(parameters(PackV::COUNT))),
            Fold::SYMBOL => fold(&Fold::read(parameters(Fold::COUNT))),
            _ => return false,
        }
    }
    true
}

/// Matrix elements by their numbers, and how many columns were made.
struct Numbered {
    bands: usize,
    made: AtomicUsize,
}

impl Elements for Numbered {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.made.fetch_add(1, Ordering::Relaxed);
        for (ig, element) in column.iter_mut().enumerate() {
            let at = (1 + 7 * ig + 13 * l + 29 * n) as f64;
            *element = Complex64::new(at.sin(), (1.7 * at).cos()) / (1 + ig) as f64;
        }
    }
}

fn sums(task: &MatrixTask, by: &'static MatrixVersion, gpus: &[Gpu]) -> Result<[MatrixSums; 2]> {
    let on_gpu = |gpu| Ok(Box::new(MatrixOnGpu::new(gpu, *task, by)?) as Box<dyn MatrixWorker>);
    let workers = gpus.iter().map(on_gpu).collect::<Result<_>>()?;
    let mut workers = MatrixWorkers::new(*task, workers, &gpp_core::ranks::Alone);
    let mut once = || -> Result<MatrixSums> {
        let (sums, seconds) = workers.sum(&|_| ())?;
        assert!(seconds > 0.0);
        Ok(sums)
    };
    Ok([once()?, once()?])
}

pub fn devices() -> Outcome {
    for (kind, id, sigma_alone) in [
        (Kind::Mixed, "m16n8k16", false),
        (Kind::Real, "vector", false),
        (Kind::Mixed, "ring", true),
    ] {
        let problem = made([230, 5, 19, 2], kind, 12);
        let elements = Numbered { bands: 3, made: AtomicUsize::new(0) };
        let task = MatrixTask { sigma_alone, ..MatrixTask::new(&problem, &elements) };
        let version = find(id).expect("a version");
        let expected = emulated(&task, version);
        assert!(expected.ch.iter().all(|z| z.norm() > 0.0));
        assert!(expected.sx.iter().all(|z| (z.norm() == 0.0) == sigma_alone));
        for count in 1..=3 {
            let gpus =
                (0..count).map(|index| Gpu::limited(index, None)).collect::<Result<Vec<_>>>()?;
            elements.made.store(0, Ordering::Relaxed);
            for (at, found) in sums(&task, version, &gpus)?.into_iter().enumerate() {
                assert!(found == expected, "{kind:?}, {count} devices, calculation {at}");
            }
            // Each part's A is made for one device, once.
            assert_eq!(elements.made.load(Ordering::Relaxed), 3 * 230, "on {count} devices");
        }
        let short = [Gpu::limited(0, Some(64 << 20))?];
        elements.made.store(0, Ordering::Relaxed);
        assert!(sums(&task, version, &short)? == [expected.clone(), expected], "{kind:?}");
        assert_eq!(elements.made.load(Ordering::Relaxed), 2 * 3 * 230, "A has found room");
    }
    Ok(())
}

pub fn memory() -> Outcome {
    for (kind, nw) in [(Kind::Real, 2), (Kind::Mixed, 3)] {
        let problem = at_energies(&made([60, 9, 30, 1], kind, 2), nw);
        let elements = Numbered { bands: 20, made: AtomicUsize::new(0) };
        let task = MatrixTask::new(&problem, &elements);
        let version = find("ring").expect("a version");
        let (image, _) = poles(&task, &ImageShape::for_task(&task, version));
        assert!(host_bytes(&task, version) >= 8 * image.len() as u64, "{kind:?}");
        let short = Gpu::limited(0, Some(1 << 16))?;
        let refused = || MatrixOnGpu::new(&short, task, version).err();
        let first = refused();
        assert!(matches!(first, Some(Error::Memory { on_device: true, .. })));
        // Nothing of what did not find room is left there.
        assert_eq!(refused().map(|e| e.to_string()), first.map(|e| e.to_string()));
    }
    Ok(())
}

const BANDS: usize = 3;

pub fn of_a_caller() -> Outcome {
    let problem = made([100, 5, 19, 2], Kind::Mixed, 21);
    let elements = Given::of(&problem, BANDS, 4);
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let ncouls = given.vcoul.len();
    let there = |values: &[Complex64]| super::resident::There::new(values, ncouls, ncouls + 2);
    let [wtilde, eps, a] = [there(problem.wtilde())?, there(problem.eps())?, there(&elements.all)?];
    let on_gpu = Screening { wtilde: wtilde.matrix(), eps: eps.matrix(), ..given };
    let right = |found: FoundMatrix| {
        let version = find(found.version).expect("a version");
        let expected = emulated(&MatrixTask::new(&problem, &elements), version);
        assert!(found.sums == expected && found.seconds > 0.0);
    };
    for device in ["gpu:0", "gpu:0,1,2"] {
        let calculator = Calculator::open(device)?;
        let bands = MatrixBands { a: &elements.all, e: &own.e, occ: &own.occ, at_bands: false };
        right(calculator.matrix(&given, &bands, &own.omega, formula)?);
        let mut placed = vec![calculator.place(&given)?];
        let fetched = calculator.on_host("a", a.matrix(), [ncouls, own.e.len() * BANDS]);
        // Several devices take no array of one.
        assert_eq!(fetched.is_ok(), device == "gpu:0");
        if fetched.is_ok() {
            placed.push(calculator.place(&on_gpu)?);
        }
        let fetched = fetched.unwrap_or(elements.all[..].into());
        let bands = MatrixBands { a: &fetched, ..bands };
        let at = |calculator: &Calculator, placed: &mut Placed| {
            calculator.matrix_at(placed, &bands, &own.omega, formula)
        };
        for placed in &mut placed {
            right(at(&calculator, placed)?);
        }
        let stops = calculator.clone().with_progress(|_| Some(5));
        assert!(matches!(at(&stops, &mut placed[0]).err(), Some(Error::Stopped { code: 5, .. })));
        let mut none = elements.all.clone();
        none[ncouls * 99 + 7].re = f64::INFINITY;
        let bands = MatrixBands { a: &none, ..bands };
        assert_fails(calculator.matrix(&given, &bands, &own.omega, formula), "at (7,99,0)");
        right(at(&calculator, &mut placed[0])?);
    }
    Ok(())
}
