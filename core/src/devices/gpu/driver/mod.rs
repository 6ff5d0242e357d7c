//! The driver, through cust: safe types that own their context, so several contexts and threads work at the same time.
//! Work goes to named streams, and an error names the operation that failed and its object.

mod library;
mod memory;
mod module;
mod stream;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytemuck::Pod;
use cust::context::CurrentContext;
use cust::device::Device;
pub use cust::device::DeviceAttribute;
pub use cust::function::FunctionAttribute;
use cust::{CudaApiVersion, CudaFlags};

pub use crate::devices::gpu::driver::memory::{
    Buffer, Pinned, Transfer, Visit, fetched, is_on_device, require_on,
};
pub use crate::devices::gpu::driver::module::Function;
use crate::devices::gpu::driver::stream::{Budget, Operation};
pub use crate::devices::gpu::driver::stream::{Event, ForeignStream, Stream};
use crate::error::{Error, Result};

/// Initializes the driver. The number of devices, one at least.
pub fn devices() -> Result<usize> {
    let no_gpu = |why: String| Err(Error::NoGpu { why });
    if let Some(why) = library::missing() {
        return no_gpu(format!("no NVIDIA driver (libcuda) on this machine: {why}"));
    }
    let visible = std::env::var("CUDA_VISIBLE_DEVICES")
        .map_or(String::new(), |list| format!("; CUDA_VISIBLE_DEVICES is `{list}`"));
    if cust::init(CudaFlags::empty()).is_err() {
        let failure = library::last_failure();
        return no_gpu(format!("the driver found no device: {failure}{visible}"));
    }
    if let Some(name) = library::lacking() {
        let own = driver_version().map_or(String::new(), |own| format!(", it is of CUDA {own}"));
        return no_gpu(format!(
            "the driver has no {name}: gpp needs one of CUDA 11.4 or later{own}"
        ));
    }
    match Device::num_devices().of(|| "device count".into())? {
        0 => no_gpu(format!("the driver found no device{visible}")),
        count => Ok(count as usize),
    }
}

/// Whether the driver's library can be opened.
pub fn is_there() -> bool {
    library::missing().is_none()
}

/// The driver's version of CUDA, as `12.9`.
pub fn driver_version() -> Result<String> {
    let version = CudaApiVersion::get().of(|| "driver version".into())?;
    Ok(format!("{}.{}", version.major(), version.minor()))
}

/// A device's primary context. Everything made in it keeps it alive and may be used on any thread.
#[derive(Clone)]
pub struct Context {
    device: Device,
    context: Arc<cust::context::Context>,
    budget: Arc<Budget>,
}

impl Context {
    /// Opens device `index`, after [`devices`].
    pub fn open(index: usize) -> Result<Context> {
        let device = Device::get_device(index as u32).of(|| format!("open gpu:{index}"))?;
        let context = cust::context::Context::new(device);
        let context = Arc::new(context.of(|| format!("context of gpu:{index}"))?);
        let budget = Arc::new(Budget { limit: u64::MAX, taken: AtomicU64::new(0) });
        Ok(Context { device, context, budget })
    }

    /// Limits the total size of all buffers allocated from now on.
    #[must_use]
    pub fn limited(self, limit: u64) -> Context {
        Context { budget: Arc::new(Budget { limit, taken: AtomicU64::new(0) }), ..self }
    }

    pub fn name(&self) -> Result<String> {
        self.device.name().of(|| "device name".into())
    }

    /// The UUID as other tools show it: `GPU-…`.
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

    /// Free and total memory in bytes; with a limit, no more is free than what it leaves.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = CurrentContext::set_current(&*self.context)
            .and_then(|()| cust::memory::mem_get_info())
            .of(|| "free memory".into())?;
        Ok((self.budget.left().min(free as u64), total as u64))
    }

    pub fn stream(&self, what: &'static str) -> Result<Stream> {
        Stream::new(&self.context, what)
    }

    pub fn event(&self) -> Result<Event> {
        Event::new(&self.context)
    }

    /// Memory of the device for `length` elements, not initialized.
    pub fn buffer<T: Pod>(&self, what: &'static str, length: usize) -> Result<Buffer<T>> {
        let bytes = length.saturating_mul(size_of::<T>()) as u64;
        Buffer::new(&self.context, self.budget.take(what, bytes)?, what, length)
    }

    /// Memory of the device with a copy of `values`.
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

    /// Page-locked memory of the host for `length` elements, all zero.
    pub fn pinned<T: Pod>(&self, what: &'static str, length: usize) -> Result<Pinned<T>> {
        Pinned::new(&self.context, what, length)
    }

    /// Loads a kernel from PTX.
    pub fn function(&self, ptx: &str, symbol: &str) -> Result<Function> {
        Function::load(&self.context, ptx, symbol)
    }
}
