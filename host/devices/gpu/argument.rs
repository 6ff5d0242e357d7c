//! Kernel parameters as a list.

use std::ffi::c_void;
use std::ptr;

use super::driver::Buffer;

/// One kernel parameter.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// Device memory.
    Memory(*mut c_void),
    /// A count or index.
    Count(u32),
    /// A number.
    Number(f64),
}

impl Argument {
    /// The memory of a buffer.
    pub fn memory<T: bytemuck::Pod>(buffer: &Buffer<T>) -> Argument {
        Argument::Memory(buffer.pointer().cast())
    }

    /// Where the parameters are, for a launch.
    pub fn pointers(arguments: &[Argument]) -> Vec<*const c_void> {
        let pointer = |argument: &Argument| match argument {
            Argument::Memory(value) => ptr::from_ref(value).cast(),
            Argument::Count(value) => ptr::from_ref(value).cast(),
            Argument::Number(value) => ptr::from_ref(value).cast(),
        };
        arguments.iter().map(pointer).collect()
    }
}
