//! The driver, through cust: safe types that hold the context they belong to, so several contexts
//! and threads work side by side. Work goes to streams that are named; every failed call says which
//! operation it was and on what.

mod library;
mod memory;
mod module;
mod stream;

use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use cust::context::CurrentContext;
use cust::device::Device;
pub use cust::device::DeviceAttribute;
pub use cust::function::FunctionAttribute;
use cust::{CudaApiVersion, CudaFlags};

pub use crate::devices::gpu::driver::memory::{
    Buffer, Pinned, Registered, Transfer, Visit, fetched, is_on_device, require_on,
};
pub use crate::devices::gpu::driver::module::{Function, Module};
use crate::devices::gpu::driver::stream::{Budget, Operation};
pub use crate::devices::gpu::driver::stream::{Event, ForeignStream, Stream};
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
