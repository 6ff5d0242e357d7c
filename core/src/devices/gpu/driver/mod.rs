//! The driver, through cust: safe types that hold the context they belong to, so several contexts
//! and threads work side by side. Work goes to streams that are named; every failed call says which
//! operation it was and on what.

mod budget;
mod context;
mod foreign;
mod held;
mod library;
mod memory;
mod module;
mod pinned;
mod raw;
mod registered;
mod stream;

pub use context::{Context, devices, driver_version, is_there};
pub use cust::device::DeviceAttribute;
pub use cust::function::FunctionAttribute;
pub use foreign::{ForeignStream, Visit, fetched, is_on_device, require_on};
pub use memory::Buffer;
pub use module::{Function, Module};
pub use pinned::{Pinned, Transfer};
pub use registered::Registered;
pub use stream::{Event, Stream};

/// What any thread may own and share: the handles are of a context, which every use makes current on
/// its thread, and the driver's functions may be called by several threads at once.
const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<(Context, Stream, Event, Module, Function<'static>)>();
    any_thread::<(Buffer<f64>, Pinned<f64>, Transfer<f64>)>();
    any_thread::<Registered<Vec<f64>, f64>>();
};
