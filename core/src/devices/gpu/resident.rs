//! What stays on a GPU while bands change: ω̃ and eps, and the memory of all else.

use std::sync::Arc;

use gpp_kernels::arrays::Limits;
use gpp_kernels::relaid;
use num_complex::Complex64;

use super::Gpu;
use super::driver::ForeignStream;
use super::lane::Lane;
use super::lent::{BandBuffers, Elements, Lent, Relay};
use super::odd::{FoundPoles, OddBuffers};
use super::placed::{PlacedBands, PlacedSlab};
use super::ring::Ring;
use super::uploads::pointer;
use super::worker::OnGpu;
use crate::catalogue::Kernel;
use crate::devices::{SlabSums, Worker};
use crate::error::Result;
use crate::problem::Problem;

/// A slab of all igp that stays, and memory for the rest.
#[derive(Default)]
pub struct Resident {
    /// `wtilde` and `eps`, where a caller has them there.
    lent: Option<[u64; 2]>,
    /// None before the first calculation, and after one that failed.
    held: Option<Held>,
}

struct Held {
    lane: Lane,
    bands: PlacedBands,
    odd: FoundPoles,
    ring: Ring,
    relay: Relay,
    at: At,
}

/// What odd poles and sorted pairs depend on beside the slab.
#[derive(PartialEq)]
struct At {
    wx: Vec<f64>,
    occ: Vec<f64>,
    limits: [u64; 3],
}

impl At {
    fn of(problem: &Problem) -> At {
        let Limits { limittwo, limitone, sexcut } = problem.limits();
        let limits = [limittwo, limitone, sexcut].map(f64::to_bits);
        At { wx: problem.wx().to_vec(), occ: problem.occ().to_vec(), limits }
    }
}

impl Resident {
    /// Of `wtilde` and `eps`, `(ncouls, ngpown)` without gaps, that a caller has at these addresses of the
    /// device.
    ///
    /// # Safety
    /// They are there, as the problems have them that are summed, and nobody writes them, as long as this is
    /// used.
    pub unsafe fn lent(pairs: [u64; 2]) -> Resident {
        Resident { lent: Some(pairs), held: None }
    }

    /// Sums a problem's slab of all igp, which is the same in every call but for `aqsm_local`, at all of its
    /// energies. What a stream of the caller's has under way is done before.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver),
    /// [`Error::Data`](crate::Error::Data) for a version of other devices. What was in place is there no more,
    /// but for what is lent.
    ///
    /// # Panics
    /// Never: a worker has a lane, a problem an energy.
    ///
    /// # Safety
    /// Matrix elements that are `lent` are there, with as many rows and bands as the problem says, until this
    /// returns, and nobody writes them meanwhile but what the stream has under way.
    pub unsafe fn sums(
        &mut self,
        gpu: &Gpu,
        problem: &Problem,
        version: Kernel,
        lent: Option<&Lent>,
        after: Option<ForeignStream>,
    ) -> Result<SlabSums> {
        let kernels = version.require_gpu()?;
        let at = At::of(problem);
        let mut held = match self.held.take() {
            Some(held) => held,
            None => self.first(gpu, problem)?,
        };
        let is_same = held.at == at;
        held.bands.renew(is_same);
        held.lane.slab.renew(is_same);
        if !is_same {
            held.odd = FoundPoles::default();
        }
        if lent.is_some() && held.relay.kernel.is_none() {
            held.relay.kernel = Some(gpu.module(relaid::SYMBOL)?);
        }
        if let Some(stream) = after {
            held.lane.stream.wait_for_foreign(stream)?;
        }
        let Held { lane, bands, odd, ring, relay, .. } = held;
        let worker = OnGpu::new(gpu, problem.frame(), lane);
        let mut worker = OnGpu { bands, odd, ring, relay, lent, ..worker };
        let batches = problem.batches_for(version);
        let mut of_batches = Vec::new();
        let mut sum = || -> Result<()> {
            for at in 0..batches.count() {
                worker.begin_by_own(problem.slab(), &batches.get(at), kernels)?;
                if at + 1 < batches.count() {
                    worker.look_ahead(problem.slab(), &batches.get(at + 1), version);
                }
                of_batches.push(worker.finish()?);
            }
            Ok(())
        };
        let summed = sum();
        // Whatever failed, nothing reads on what is lent.
        summed
            .inspect_err(|_| worker.lanes.iter().for_each(|lane| _ = lane.stream.synchronize()))?;
        let OnGpu { bands, odd, ring, relay, mut lanes, .. } = worker;
        let lane = lanes.pop().expect("the worker has one lane");
        self.held = Some(Held { lane, bands, odd, ring, relay, at });
        Ok(SlabSums::joined(of_batches).expect("a problem has an energy"))
    }

    fn first(&self, gpu: &Gpu, problem: &Problem) -> Result<Held> {
        let mut lane = Lane::new(&gpu.context)?;
        if let Some(pairs) = self.lent {
            lane.slab.lend(pairs);
        }
        let (bands, odd, ring, relay) = Default::default();
        Ok(Held { lane, bands, odd, ring, relay, at: At::of(problem) })
    }
}

impl PlacedBands {
    /// Forgets all but the memory, for other bands; energies and occupations too, unless those have the same.
    fn renew(&mut self, same_energies: bool) {
        let PlacedBands { aqsn, occ, by_layout, energies, same_occ, spare } = self;
        (*aqsn, *occ) = (None, None);
        for (placed, same_occ) in by_layout.iter_mut().zip(same_occ) {
            if !same_energies {
                *same_occ = None;
            }
            let Some(BandBuffers { aqsn, occ }) = placed.take() else { continue };
            if let Elements::Own(aqsn) = aqsn {
                spare.0 = Arc::into_inner(aqsn).or(spare.0.take());
            }
            match same_energies {
                true => *same_occ = Some(occ),
                false => spare.1 = Arc::into_inner(occ).or(spare.1.take()),
            }
        }
        if !same_energies {
            energies.iter_mut().for_each(|placed| placed.which = None);
        }
    }
}

impl PlacedSlab {
    /// `wtilde` and `eps` of the slab that is to be placed, where a caller has them on the GPU.
    fn lend(&mut self, pairs: [u64; 2]) {
        self.lent = Some(pairs);
    }

    /// Forgets what depends on matrix elements; with `energies` also what depends on energies.
    fn renew(&mut self, same_energies: bool) {
        self.aqsm_local.iter_mut().for_each(|(_, there)| *there = false);
        if !same_energies {
            self.odd.iter_mut().for_each(OddBuffers::forget);
            self.cells.forget();
        }
    }

    /// `wtilde` and `eps`, which kernels of all layouts but that of sorted pairs read.
    ///
    /// # Panics
    /// Where such a layout was not wanted.
    pub fn pairs(&self) -> [*const Complex64; 2] {
        if let Some(lent) = self.lent {
            return lent.map(|at| std::ptr::without_provenance(at as usize));
        }
        [&self.wtilde, &self.eps].map(|(room, there)| {
            assert!(there, "the layout was wanted");
            pointer(room)
        })
    }
}
