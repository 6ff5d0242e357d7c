//! The driver, through cust: safe types that hold the context they belong to, so several contexts
//! and threads work side by side. Work goes to streams that are named; every failed call says which
//! operation it was and on what.

mod library;
mod memory;
mod module;

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use cust::context::{Context as CudaContext, CurrentContext};
use cust::device::Device;
pub use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::event::EventFlags;
pub use cust::function::FunctionAttribute;
use cust::stream::{StreamFlags, StreamWaitEventFlags};
use cust::{CudaApiVersion, CudaFlags};

use crate::devices::gpu::driver::library::Mark;
pub use crate::devices::gpu::driver::memory::{
    Buffer, ForeignStream, Pinned, Registered, Transfer, Visit, fetched, is_on_device, require_on,
};
pub use crate::devices::gpu::driver::module::{Function, Module};
use crate::error::{Error, Result};

/// What any thread may own and share: the handles are of a context, which every use makes current on
/// its thread, and the driver's functions may be called by several threads at once.
const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<(Context, Stream, Event, Module, Function<'static>)>();
    any_thread::<(Buffer<f64>, Pinned<f64>, Transfer<f64>)>();
    any_thread::<Registered<Vec<f64>, f64>>();
};

// Devices and their contexts.

pub fn devices() -> Result<usize> {
    if let Some(why) = library::missing() {
        let why = format!("no NVIDIA driver (libcuda) on this machine: {why}");
        return Err(Error::NoGpu { why });
    }
    let visible = std::env::var("CUDA_VISIBLE_DEVICES");
    let visible =
        visible.map_or(String::new(), |list| format!("; CUDA_VISIBLE_DEVICES is `{list}`"));
    if cust::init(CudaFlags::empty()).is_err() {
        let why = format!("the driver found no device: {}{visible}", library::last_failure());
        return Err(Error::NoGpu { why });
    }
    if let Some(name) = library::lacking() {
        let own = driver_version().map_or(String::new(), |own| format!(", it is of CUDA {own}"));
        let why = format!("the driver has no {name}: gpp needs one of CUDA 11.4 or later{own}");
        return Err(Error::NoGpu { why });
    }
    match Device::num_devices().of(|| "device count".into())? {
        0 => Err(Error::NoGpu { why: format!("the driver found no device{visible}") }),
        count => Ok(count as usize),
    }
}

/// Whether a driver's library can be opened here.
pub fn is_there() -> bool {
    library::missing().is_none()
}

/// The version of CUDA that the driver is of, as `12.9`.
pub fn driver_version() -> Result<String> {
    let version = CudaApiVersion::get().of(|| "driver version".into())?;
    Ok(format!("{}.{}", version.major(), version.minor()))
}

/// A device's primary context. Clones and contexts opened again are the same context of the device.
/// Everything made in it keeps it alive and may be used on any thread.
#[derive(Clone)]
pub struct Context {
    device: Device,
    context: Arc<cust::context::Context>,
    budget: Arc<Budget>,
}

impl Context {
    /// Opens device `index`, below [`devices`], which must have been asked for before.
    pub fn open(index: usize) -> Result<Context> {
        let device = Device::get_device(index as u32).of(|| format!("open gpu:{index}"))?;
        let context =
            cust::context::Context::new(device).of(|| format!("context of gpu:{index}"))?;
        Ok(Context { device, context: Arc::new(context), budget: Budget::of(u64::MAX) })
    }

    /// Limits all buffers made from now on to so many bytes together.
    #[must_use]
    pub fn limited(self, bytes: u64) -> Context {
        Context { budget: Budget::of(bytes), ..self }
    }

    pub fn name(&self) -> Result<String> {
        self.device.name().of(|| "device name".into())
    }

    /// What tells the device from all others: `GPU-…` of 16 bytes in hexadecimal digits, as other
    /// tools show it.
    pub fn uuid(&self) -> Result<String> {
        let bytes = library::uuid(self.device).of(|| "UUID of the device".into())?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<u32> {
        let value = self.device.get_attribute(attribute);
        Ok(value.of(|| format!("device attribute {attribute:?}"))? as u32)
    }

    /// Free and total memory in bytes; within a limit, what it leaves counts as free.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = CurrentContext::set_current(&*self.context)
            .and_then(|()| cust::memory::mem_get_info())
            .of(|| "free memory".into())?;
        Ok((self.budget.left().min(free as u64), total as u64))
    }

    pub fn stream(&self, what: &'static str) -> Result<Stream> {
        Stream::new(&self.context, what)
    }

    /// An event that takes the time.
    pub fn event(&self) -> Result<Event> {
        Event::new(&self.context)
    }

    /// Memory for `length` elements, whatever was there before in it.
    pub fn buffer<T: Pod>(&self, what: &'static str, length: usize) -> Result<Buffer<T>> {
        let bytes = length.saturating_mul(size_of::<T>()) as u64;
        Buffer::new(&self.context, self.budget.take(what, bytes)?, what, length)
    }

    /// Memory for `values`, filled with them when this returns.
    pub fn upload<T: Pod>(
        &self,
        what: &'static str,
        values: &[T],
        stream: &Stream,
    ) -> Result<Buffer<T>> {
        let buffer = self.buffer(what, values.len())?;
        buffer.upload(values, stream)?;
        Ok(buffer)
    }

    /// Page-locked memory of the host for `length` elements, all zero: what the device copies from
    /// and to while the host does something else.
    pub fn pinned<T: Pod>(&self, what: &'static str, length: usize) -> Result<Pinned<T>> {
        Pinned::new(&self.context, what, length)
    }

    /// Page-locks memory of the host where it is, for as long as the result lives, which owns it: what is
    /// copied from there by [`Buffer::upload_registered`] needs no other memory on its way.
    pub fn register<M: Deref<Target = [T]>, T: Pod>(
        &self,
        memory: Arc<M>,
    ) -> Result<Registered<M, T>> {
        Registered::new(&self.context, memory)
    }

    /// Loads PTX, with line information for profilers.
    pub fn module(&self, ptx: &str) -> Result<Module> {
        Module::from_ptx(&self.context, ptx)
    }
}

// How much of a device's memory may be taken.

/// What is taken of a context's memory, and the most that may be.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    taken: AtomicU64,
}

impl Budget {
    /// At most so many bytes.
    pub fn of(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit, taken: AtomicU64::new(0) })
    }

    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Takes `bytes` for `what` until the result is dropped.
    pub fn take(self: &Arc<Self>, what: &str, bytes: u64) -> Result<Taken> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|&taken| taken <= self.limit);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken { from: self.clone(), bytes }),
            Err(_) => Err(Error::memory("device", what, bytes, self.left(), None)),
        }
    }
}

#[derive(Debug)]
pub struct Taken {
    from: Arc<Budget>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.from.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

// What belongs to a context, and how a failure gets its operation.

/// Gives a failed call the operation that it was part of.
pub trait Operation<T> {
    /// The value, or an error of `operation`.
    fn of(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Operation<T> for CudaResult<T> {
    fn of(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|_| Error::driver(operation(), library::last_failure()))
    }
}

/// Something of the driver's and the context that it belongs to, which it keeps alive. The context is
/// made current on whichever thread uses or drops it, as the driver's functions act on the current
/// one. That takes some tens of nanoseconds.
pub struct InContext<T> {
    thing: ManuallyDrop<T>,
    context: Arc<CudaContext>,
}

impl<T> InContext<T> {
    pub fn new(
        context: &Arc<CudaContext>,
        make: impl FnOnce() -> CudaResult<T>,
    ) -> CudaResult<Self> {
        CurrentContext::set_current(&**context)?;
        Ok(InContext { thing: ManuallyDrop::new(make()?), context: context.clone() })
    }

    /// The thing, with its context current.
    pub fn get(&self) -> CudaResult<&T> {
        CurrentContext::set_current(&*self.context)?;
        Ok(&self.thing)
    }

    /// The thing, for what the driver has no part in.
    pub fn peek(&self) -> &T {
        &self.thing
    }

    /// The thing, for what the driver has no part in.
    pub fn peek_mut(&mut self) -> &mut T {
        &mut self.thing
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

impl<T> Drop for InContext<T> {
    fn drop(&mut self) {
        // A failure here and below can no longer be told: the thing is then lost with its context.
        let _ = CurrentContext::set_current(&*self.context);
        // SAFETY: dropped here and nowhere else.
        unsafe { ManuallyDrop::drop(&mut self.thing) }
    }
}

// Streams and events.

/// Work in the order in which it is enqueued, beside that of other streams. cust's streams wait for
/// the default stream, and it for them, so nothing in this folder uses that one.
pub struct Stream {
    stream: InContext<cust::stream::Stream>,
    /// What waits for streams of others, once it was wanted.
    mark: Mutex<Option<InContext<Mark>>>,
    what: &'static str,
}

impl Stream {
    fn new(context: &Arc<CudaContext>, what: &'static str) -> Result<Stream> {
        let stream =
            InContext::new(context, || cust::stream::Stream::new(StreamFlags::DEFAULT, None))
                .of(|| format!("stream of {what}"))?;
        Ok(Stream { stream, mark: Mutex::default(), what })
    }

    fn get(&self) -> CudaResult<&cust::stream::Stream> {
        self.stream.get()
    }

    fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// Waits until all that was enqueued is done.
    pub fn synchronize(&self) -> Result<()> {
        self.get().and_then(|stream| stream.synchronize()).of(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins when all that is enqueued in `other` now is done. The
    /// host does not wait. The streams may be of two devices.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        let wait = || {
            let source = other.get()?;
            let event = cust::event::Event::new(EventFlags::DISABLE_TIMING)?;
            event.record(source)?;
            // Destroys the event, as the driver allows before it is reached.
            self.get()?.wait_event(event, StreamWaitEventFlags::DEFAULT)
        };
        wait().of(|| format!("wait of {} for {}", self.what, other.what))
    }
}

/// A point in a stream's time.
pub struct Event {
    event: InContext<cust::event::Event>,
}

impl Event {
    fn new(context: &Arc<CudaContext>) -> Result<Event> {
        let event = InContext::new(context, || cust::event::Event::new(EventFlags::DEFAULT));
        Ok(Event { event: event.of(|| "event".into())? })
    }

    /// Marks this point of `stream`, which is of the event's context.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // One context is current for both.
        let record = || self.event.peek().record(stream.get()?);
        record().of(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; `what` is what comes before it.
    pub fn wait(&self, what: &str) -> Result<()> {
        self.event.get().and_then(|event| event.synchronize()).of(|| format!("run of {what}"))
    }

    /// Seconds from `earlier` to this event, once it has been reached, to half a microsecond; both
    /// are of one context and were recorded.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        self.elapsed_since(earlier, what)
    }

    /// The same of an event that is known to have been reached.
    pub fn elapsed_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        let time = || self.event.get()?.elapsed_time_f32(earlier.event.peek());
        Ok(f64::from(time().of(|| format!("time of {what}"))?) * 1e-3)
    }
}
