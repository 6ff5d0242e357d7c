//! Streams and events.

use std::ffi::c_uint;
use std::sync::{Mutex, PoisonError};

use crate::devices::gpu::driver::library::*;
use crate::devices::gpu::driver::{Context, Object, Operation};
use crate::error::Result;

/// Restores the context that was current on the calling thread when dropped.
#[must_use]
pub struct Visit(Option<Handle>);

impl Visit {
    pub fn begin() -> Visit {
        // SAFETY: writes one handle.
        Visit(written(|context| unsafe { cuCtxGetCurrent(context) }).ok())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: the driver refuses a context that was destroyed meanwhile, which cannot be current again.
            _ = unsafe { cuCtxSetCurrent(before) };
        }
    }
}

/// A stream. It waits for the default stream, and that for it, so this folder never uses that one.
pub struct GpuStream {
    stream: Object,
    /// By which it waits for other streams.
    mark: Mutex<Object>,
    what: &'static str,
}

impl Context {
    pub fn stream(&self, what: &'static str) -> Result<GpuStream> {
        const NO_TIME: c_uint = 2;
        // SAFETY: writes one handle.
        let create = |stream: &mut Handle| unsafe { cuStreamCreateWithPriority(stream, 0, 0) };
        let stream = self.object(create, cuStreamDestroy_v2);
        let stream = stream.named(|| format!("stream of {what}"))?;
        Ok(GpuStream { stream, mark: Mutex::new(self.mark(NO_TIME)?), what })
    }

    pub fn event(&self) -> Result<Event> {
        Ok(Event(self.mark(0)?))
    }

    fn mark(&self, flags: c_uint) -> Result<Object> {
        // SAFETY: writes one handle.
        let create = |event: &mut Handle| unsafe { cuEventCreate(event, flags) };
        self.object(create, cuEventDestroy_v2).named(|| "event".into())
    }
}

impl GpuStream {
    /// With its context current.
    pub(super) fn get(&self) -> CudaResult<Handle> {
        self.stream.get()
    }

    /// Enqueues a copy to the device.
    ///
    /// # Safety
    /// As many bytes are allocated there until that is done, and nobody else uses them or writes `from` meanwhile.
    pub(super) unsafe fn copy_in(&self, to: Handle, from: &[u8]) -> CudaResult<()> {
        let stream = self.get()?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        unsafe { cuMemcpyHtoDAsync_v2(to, from.as_ptr(), from.len(), stream) }
    }

    /// Enqueues a copy from the device.
    ///
    /// # Safety
    /// As many bytes are allocated there until that is done, and nobody writes them or uses `to` meanwhile.
    pub(super) unsafe fn copy_out(&self, from: Handle, to: &mut [u8]) -> CudaResult<()> {
        let stream = self.get()?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        unsafe { cuMemcpyDtoHAsync_v2(to.as_mut_ptr(), from, to.len(), stream) }
    }

    /// Waits until all that was enqueued is done, and returns whether it could be enqueued.
    pub(super) fn done(&self, enqueued: CudaResult<()>) -> CudaResult<()> {
        // SAFETY: it exists.
        unsafe { cuStreamSynchronize(self.get()?) }.and(enqueued)
    }

    /// Waits until all that was enqueued is done.
    pub fn synchronize(&self) -> Result<()> {
        self.done(Ok(())).named(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins after all that is enqueued now in `other`, of the same context.
    pub fn wait_for(&self, other: &GpuStream) -> Result<()> {
        self.wait_for_handle(other.stream.handle)
            .named(|| format!("wait of {} for {}", self.what, other.what))
    }

    /// As [`GpuStream::wait_for`], for a caller's stream.
    pub fn wait_for_foreign(&self, ForeignStream(handle): ForeignStream) -> Result<()> {
        self.wait_for_handle(handle).named(|| "wait for the caller's stream".into())
    }

    fn wait_for_handle(&self, other: Handle) -> CudaResult<()> {
        let stream = self.get()?;
        // Locked, so that no other thread records the event before the stream waits for it.
        let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the other stream is one of ours, or one by the contract of `ForeignStream::new`.
        unsafe {
            cuEventRecord(mark.handle, other)?;
            cuStreamWaitEvent(stream, mark.handle, 0)
        }
    }
}

/// A caller's stream, `CUstream` or `cudaStream_t`; the default one is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignStream(Handle);

impl ForeignStream {
    /// The stream of a handle.
    ///
    /// # Safety
    /// It is a stream of the device's primary context, or a default stream, for as long as this is used.
    pub unsafe fn new(handle: *mut std::ffi::c_void) -> ForeignStream {
        ForeignStream(handle.addr())
    }
}

/// A point in a stream's time.
pub struct Event(Object);

impl Event {
    /// Marks this point of `stream`, a stream of the event's context.
    pub fn record(&self, stream: &GpuStream) -> Result<()> {
        // SAFETY: both exist.
        let record = || unsafe { cuEventRecord(self.0.handle, stream.get()?) };
        record().named(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; errors call what precedes it `what`.
    pub fn wait(&self, what: &str) -> Result<()> {
        // SAFETY: it exists.
        let wait = || unsafe { cuEventSynchronize(self.0.get()?) };
        wait().named(|| format!("run of {what}"))
    }

    /// Waits for this event. Seconds since `earlier`, an event of the same context, to half a microsecond.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        // SAFETY: writes a number; both exist, with times.
        let time =
            |to: &mut f32| unsafe { cuEventElapsedTime(to, earlier.0.handle, self.0.get()?) };
        Ok(f64::from(written(time).named(|| format!("time of {what}"))?) * 1e-3)
    }
}
