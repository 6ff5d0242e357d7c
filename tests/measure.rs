//! `measure` on a device that does what a script says, and the staging of bands as a block does it.

mod common;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Kind, Make, QUIET, make};
use gpp::catalogue;
use gpp::devices::{Device, DeviceInfo, KernelInfo, SlabSums, Upload, Watch, Worker};
use gpp::engine::Engine;
use gpp::error::{Code, DriverError, Error, exit_code};
use gpp::kernels::intrinsics::WARP;
use gpp::kernels::kernel::{Entry, Kernel};
use gpp::kernels::layout;
use gpp::kernels::tiling::{Array, Place, Stage};
use gpp::kernels::versions::ALL;
use gpp::measure::{Telling, measure};
use gpp::problem::{Batch, Frame, Problem, SlabView, Sums};
use gpp::record::run::{Measurement, Repetition, Times};
use gpp::reference::verify::Outcome;
use gpp::reference::{self, Reference};

/// What the next runs do: a factor of the right sums and seconds, or a failure.
struct Scripted {
    info: DeviceInfo,
    right: Sums,
    script: VecDeque<Option<(f64, f64)>>,
}

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, _: &Kernel, entry: &Entry) -> gpp::error::Result<KernelInfo> {
        Ok(KernelInfo { symbol: entry.symbol.into(), registers: Some(77), ..KernelInfo::default() })
    }

    fn worker<'a>(&'a self, _: &'a Frame) -> gpp::error::Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(Script { right: &self.right, script: self.script.clone(), summed: None }))
    }
}

/// A worker that does what the script says.
struct Script<'a> {
    right: &'a Sums,
    script: VecDeque<Option<(f64, f64)>>,
    summed: Option<SlabSums>,
}

impl Worker for Script<'_> {
    fn place(&mut self, _: SlabView<'_>) -> gpp::error::Result<()> {
        Ok(())
    }

    fn begin(
        &mut self,
        _: SlabView<'_>,
        _: &Batch,
        version: catalogue::Kernel,
        _: Watch,
    ) -> gpp::error::Result<()> {
        let lost = DriverError::Refused(Code { code: 719, meaning: None });
        let failed =
            || Error::Driver { operation: format!("run of {}", version.id()), reason: lost };
        let (factor, seconds) =
            self.script.pop_front().expect("no more runs").ok_or_else(failed)?;
        let energies = self.right.asx.iter().zip(&self.right.ach);
        let values = energies.flat_map(|(asx, ach)| [asx.re, asx.im, ach.re, ach.im]);
        let values = values.map(|value| value * factor).collect();
        let (blocks, upload) = (Some(4), Upload::default());
        self.summed = Some(SlabSums { values, groups: 1, seconds, blocks, upload });
        Ok(())
    }

    fn finish(&mut self) -> gpp::error::Result<SlabSums> {
        Ok(self.summed.take().expect("begun"))
    }

    fn forget(&mut self) {}
}

/// Measures v8 as the script says, and how often the caller was told.
fn measured(
    warmup: usize,
    script: &[Option<(f64, f64)>],
) -> (gpp::error::Result<Measurement>, usize, Problem, Reference) {
    let made = Make { nbands: 5, ngpown: 3, ncouls: 7, nw: 2, kind: Kind::Mixed, seed: 3 };
    let problem = make(made);
    let reference = reference::of(&problem, QUIET).unwrap().unwrap();
    let device = Scripted {
        info: common::device("gpu:7"),
        right: reference.sums.clone(),
        script: script.iter().copied().collect(),
    };
    let told = AtomicUsize::new(0);
    let record = measure(
        catalogue::Kernel::Gpu(ALL[8]),
        &device,
        &mut Engine::whole(&device, &problem).unwrap(),
        Some(&reference),
        Repetition::exactly(warmup, script.len() - warmup),
        &Telling {
            done: &|calculations| {
                let before = told.fetch_add(1, Ordering::Relaxed);
                assert_eq!(calculations, (before + 1) as f64);
            },
            last: &|| assert_eq!(told.load(Ordering::Relaxed) + 1, script.len()),
        },
    );
    (record, told.into_inner(), problem, reference)
}

#[test]
fn warm_up_is_not_timed_and_samples_keep_their_order() {
    let script = [9.0, 8.0, 3.0, 1.0, 2.0, 7.0].map(|seconds| Some((1.0, seconds)));
    let (record, told, problem, reference) = measured(2, &script);
    let record = record.unwrap();
    assert_eq!(record.times.samples, [3.0, 1.0, 2.0, 7.0]);
    assert_eq!((record.times.min, record.times.median, record.times.max), (1.0, 2.5, 7.0));
    assert_eq!(told, 6);
    assert_eq!((record.version.as_str(), record.device.as_str()), ("v8", "gpu:7"));
    assert_eq!(record.registers, Some(77));
    assert_eq!((record.kernel.as_deref(), record.threads_per_block), (Some("gpp_v8"), Some(512)));
    let flops = ALL[8].kernels[0].flops_per_term.unwrap() * problem.terms() as f64;
    assert_eq!((record.flops, record.tflops), (Some(flops), Some(flops / 2.5 / 1e12)));
    assert_eq!(record.sums, reference.sums);
    assert_eq!(record.verification.outcome, Outcome::Passed);
    assert!(record.deterministic);
}

#[test]
fn the_last_sums_are_judged_and_all_are_compared() {
    let right = Some((1.0, 1.0));
    let off = Some((1.0 + f64::EPSILON, 1.0));
    let wrong = Some((1.1, 1.0));
    let nan = Some((f64::NAN, 1.0));
    for (script, outcome) in [
        ([right, right, right], Outcome::Passed),
        // The warm-up counts: a first run that differs is as bad as any.
        ([off, right, right], Outcome::Nondeterministic),
        ([right, right, wrong], Outcome::Incorrect),
        ([wrong, right, right], Outcome::Nondeterministic),
        ([wrong, wrong, wrong], Outcome::Incorrect),
        ([nan, nan, nan], Outcome::Incorrect),
    ] {
        let record = measured(1, &script).0.unwrap();
        assert_eq!(record.verification.outcome, outcome, "{script:?}");
    }
}

#[test]
fn a_run_that_fails_ends_the_measurement() {
    let (record, told, ..) = measured(0, &[Some((1.0, 1.0)), None, Some((1.0, 1.0))]);
    let error = record.unwrap_err();
    assert_eq!(exit_code(&error), 3);
    assert!(error.to_string().contains("run of v8"), "{error}");
    assert_eq!(told, 1);
}

#[test]
fn medians() {
    for (samples, median) in [
        (vec![4.0], 4.0),
        (vec![4.0, 2.0], 3.0),
        (vec![9.0, 1.0, 5.0], 5.0),
        (vec![8.0, 2.0, 6.0, 4.0], 5.0),
    ] {
        let times = Times::of(samples.clone());
        assert_eq!((times.median, times.samples), (median, samples));
    }
}

/// Has all threads of a block bring their shares of a stage, then looks where each reads.
fn stage<const T: usize, const W: usize, const E: usize>(extents: [u32; 3], first: u32) {
    let [nbands, ngpown, ncouls] = extents;
    let threads = W as u32 * WARP;
    let (tile, warps) = (T as u32, W as u32);
    for column in 0..ncouls.div_ceil(WARP) {
        for group in 0..ngpown.div_ceil(tile * warps) {
            let place = |thread: u32| Place {
                ig: column * WARP + thread % WARP,
                igp: (group * warps + thread / WARP) * tile,
            };
            let mut filled = vec![None; Stage::<T, W>::LENGTH as usize];
            for thread in 0..threads {
                for share in Stage::<T, W>::shares(thread, place(thread), ngpown, ncouls, E > 0) {
                    let element = Some((share.array, share.element(first, nbands)));
                    let slot = &mut filled[share.slot as usize];
                    assert!(slot.is_none() || *slot == element, "two threads, one slot");
                    *slot = element;
                }
            }
            for thread in 0..threads {
                let Place { ig, igp } = place(thread);
                for row in 0..warps.min(nbands - first) {
                    let n = first + row;
                    let at = |slot: u32| filled[(row * Stage::<T, W>::BAND + slot) as usize];
                    let ig = ig.min(ncouls - 1);
                    let aqsn = Some((Array::Aqsn, n * ncouls + ig));
                    assert_eq!(at(Stage::<T, W>::aqsn(thread)), aqsn);
                    for t in 0..T {
                        let element = n * layout::Planned::rows(ngpown) + igp + t as u32;
                        let aqsm = Some((Array::AqsmLocal, element));
                        assert_eq!(at(Stage::<T, W>::aqsm_local(thread, t)), aqsm);
                    }
                    for pair in 0..E / 2 {
                        let wx = Some((Array::Wx, n * 2 + pair as u32));
                        assert_eq!(at(Stage::<T, W>::wx(pair)), wx);
                    }
                }
            }
        }
    }
}

#[test]
fn a_block_stages_what_its_threads_read() {
    for extents in [[1, 1, 1], [9, 27, 70], [40, 49, 33]] {
        for first in [0, extents[0] / 2, extents[0] - 1] {
            stage::<1, 4, 0>(extents, first);
            stage::<1, 8, 0>(extents, first);
            stage::<1, 16, 0>(extents, first);
            stage::<2, 4, 0>(extents, first);
            stage::<2, 8, 0>(extents, first);
            stage::<3, 4, 0>(extents, first);
            stage::<3, 8, 0>(extents, first);
            stage::<1, 8, 4>(extents, first);
            stage::<2, 8, 4>(extents, first);
        }
    }
}
