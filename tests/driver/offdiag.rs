//! Σ as a matrix on devices whose launches are emulated: the same bits on one, two and three of them, whatever of A
//! finds room.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpp::devices::gpu::Gpu;
use gpp::kernels::offdiag::first::{First, SYMBOLS};
use gpp::kernels::offdiag::fold::{self, Fold};
use gpp::kernels::offdiag::gather::{self, Gather};
use gpp::kernels::offdiag::odd::{self, OddPairs};
use gpp::kernels::offdiag::poles::{ComplexExchange, ComplexHole, Exchange, Hole};
use gpp::kernels::offdiag::second::{self, Second};
use gpp_core::offdiag::calculation::{Crew, Total, Worker};
use gpp_core::offdiag::emulated::emulated;
use gpp_core::offdiag::gpu::OnGpu;
use gpp_core::offdiag::{Elements, Sums, Task, parts};
use gpp_core::ranks::Alone;
use gpp_core::stop::never;
use num_complex::Complex64;

use super::Outcome;
use crate::common::{Kind, Make, make};

/// Does a launch of one of these kernels; whether it is one.
///
/// # Safety
/// The parameters are the kernel's, and lie in memory.
pub unsafe fn launch<'p>(name: &str, parameters: impl Fn(usize) -> &'p [*const c_void]) -> bool {
    // SAFETY: this function's own contract.
    unsafe {
        let first = || First::read(parameters(First::COUNT));
        match name {
            _ if name == SYMBOLS[0][0] => first().run::<Hole, 3>(),
            _ if name == SYMBOLS[0][1] => first().run::<Exchange<true>, 3>(),
            _ if name == SYMBOLS[1][0] => first().run::<ComplexHole, 4>(),
            _ if name == SYMBOLS[1][1] => first().run::<ComplexExchange<true>, 4>(),
            odd::SYMBOL => OddPairs::read(parameters(OddPairs::COUNT)).run(),
            gather::SYMBOL => Gather::read(parameters(Gather::COUNT)).run(),
            second::SYMBOL => Second::read(parameters(Second::COUNT)).run(),
            fold::SYMBOL => Fold::read(parameters(Fold::COUNT)).run(),
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

/// Two calculations on these devices.
fn sums(task: &Task, gpus: &[Gpu]) -> gpp::Result<[Sums; 2]> {
    let on_gpu = |gpu| Ok(Box::new(OnGpu::new(gpu, *task)?) as Box<dyn Worker>);
    let mut crew = Crew::new(gpus.iter().map(on_gpu).collect::<gpp::Result<_>>()?, &Alone);
    let mut once = || -> gpp::Result<Sums> {
        let mut seen = Vec::new();
        let mut keep = |total: &Total| {
            seen.push(total.parts);
            Ok(())
        };
        let summed = crew.sum(task, Total::zero(task), &mut keep, &|_| (), &never)?;
        assert_eq!(seen, (1..=parts::count(task)).collect::<Vec<_>>());
        assert!(summed.seconds > 0.0);
        Ok(summed.sums)
    };
    Ok([once()?, once()?])
}

pub fn devices() -> Outcome {
    for kind in [Kind::Mixed, Kind::Real] {
        let made = Make { nbands: 230, ngpown: 5, ncouls: 19, nw: 2, kind, seed: 12 };
        let (problem, elements) = (make(made), Numbered { bands: 3, made: AtomicUsize::new(0) });
        let task = Task::new(&problem, &elements);
        let expected = emulated(&task);
        if expected.sx.iter().chain(&expected.ch).any(|z| !(z.norm() > 0.0)) {
            return Err("the sums tell nothing".into());
        }
        for count in 1..=3 {
            let gpus = (0..count).map(Gpu::open).collect::<gpp::Result<Vec<_>>>()?;
            elements.made.store(0, Ordering::Relaxed);
            for (at, found) in sums(&task, &gpus)?.into_iter().enumerate() {
                if found != expected {
                    return Err(format!("{kind:?}, {count} devices, calculation {at}").into());
                }
            }
            // Each part's A is made for one device, once.
            let made = elements.made.load(Ordering::Relaxed);
            if made != 3 * 230 {
                return Err(format!("{made} columns were made on {count} devices").into());
            }
        }
    }
    Ok(())
}
