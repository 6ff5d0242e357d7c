//! A lane: a stream with memory for a slab and its sums. Work of one lane runs in order, uploads and kernels
//! of two beside each other.

use super::driver::{Buffer, Context, Event, Pinned, Stream, Transfer};
use super::modules::Holding;
use super::placed::PlacedSlab;
use crate::devices::{SlabSums, Upload};
use crate::error::Result;

/// Partial sums begin at a multiple of so many numbers, as memory of their own would.
const ALIGNED: usize = 32;

/// A lane.
pub struct Lane {
    /// First, so that what was launched is done before the rest goes.
    pub under_way: Option<UnderWay>,
    pub slab: PlacedSlab,
    /// Sums, and partial sums behind them.
    room: Buffer<f64>,
    /// Where partial sums begin.
    partials: usize,
    results: Option<Pinned<f64>>,
    /// Before and after the uploads.
    pub uploads: [Event; 2],
    /// Before and after the kernels.
    pub kernels: [Event; 2],
    pub stream: Stream,
}

/// What was launched and not waited for.
pub struct UnderWay {
    results: Transfer<f64>,
    _holding: Option<Holding>,
    launched: Launched,
}

/// What there is to know of a launch.
pub struct Launched {
    /// The version.
    pub version: &'static str,
    /// Groups whose sums are kept.
    pub groups: usize,
    /// Sums of all groups.
    pub sums: usize,
    /// Blocks of a launch.
    pub blocks: u32,
    /// Bytes uploaded before it.
    pub uploaded: u64,
}

impl Lane {
    /// With nothing in place.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn new(context: &Context) -> Result<Lane> {
        Ok(Lane {
            under_way: None,
            slab: PlacedSlab::default(),
            room: context.buffer("partial sums", 0)?,
            partials: 0,
            results: None,
            uploads: [context.event()?, context.event()?],
            kernels: [context.event()?, context.event()?],
            stream: context.stream("the calculation")?,
        })
    }

    /// Has room for so many partial sums and sums, all NaN, which no comparison passes, until a kernel
    /// writes them.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver).
    pub fn poison(&mut self, context: &Context, partials: usize, sums: usize) -> Result<()> {
        // What was there goes before more is taken: there may be no room for both.
        self.partials = sums.next_multiple_of(ALIGNED);
        let length = self.partials + partials;
        if self.room.len() < length {
            self.room = context.buffer("partial sums", 0)?;
            self.room = context.buffer("partial sums", length)?;
        }
        if self.results.as_ref().is_none_or(|results| results.len() < sums) {
            self.results = Some(context.pinned("sums", sums)?);
        }
        self.room.poison(length, &self.stream)
    }

    /// Where sums are.
    pub fn sums(&self) -> *mut f64 {
        self.room.pointer()
    }

    /// Where partial sums are.
    pub fn partials(&self) -> *mut f64 {
        self.sums().wrapping_add(self.partials)
    }

    /// Enqueues the download of the sums; until they are there `holding` is held.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where [`Lane::poison`] was not called before.
    pub fn launched(&mut self, launched: Launched, holding: Option<Holding>) -> Result<()> {
        let results = self.results.take().expect("there is room for the sums");
        let results = results.download(launched.sums, &self.room, &self.stream)?;
        self.under_way = Some(UnderWay { results, _holding: holding, launched });
        Ok(())
    }

    /// Waits for the sums.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also of the kernels.
    ///
    /// # Panics
    /// Where nothing is under way.
    pub fn finish(&mut self) -> Result<SlabSums> {
        let UnderWay { results, _holding, launched } = self.under_way.take().expect("launched");
        let Launched { version, groups, sums, blocks, uploaded } = launched;
        // Whatever failed, nothing runs on when the energies are let go.
        let results = results.wait_for(version).inspect_err(|_| _ = self.stream.synchronize())?;
        let seconds = |events: &[Event; 2], what| events[1].elapsed_since(&events[0], what);
        let seconds_of_kernels = seconds(&self.kernels, version)?;
        let upload = match uploaded {
            0 => Upload::default(),
            bytes => Upload { bytes, seconds: seconds(&self.uploads, "the uploads")? },
        };
        let values = results[..sums].to_vec();
        self.results = Some(results);
        Ok(SlabSums { values, groups, seconds: seconds_of_kernels, blocks: Some(blocks), upload })
    }
}
