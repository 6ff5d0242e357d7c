//! Kernels, one to a module.

use std::ffi::{CString, c_void};
use std::mem;
use std::sync::Arc;

use bytemuck::Pod;
use cust::context::Context;
use cust::error::CudaResult;
use cust::function::{BlockSize, FunctionAttribute, GridSize};
use cust::module::ModuleJitOption;

use crate::devices::gpu::driver::library;
use crate::devices::gpu::driver::memory::copy_in;
use crate::devices::gpu::driver::stream::{InContext, Operation, Stream};
use crate::error::{Error, Result};

/// Lines of the compiler's log that an error shows.
const LOG_LINES: usize = 8;

const LOAD: &str = "load of the kernels";

/// A kernel and its module.
pub struct Function {
    /// Valid as long as the module.
    function: cust::function::Function<'static>,
    module: InContext<cust::module::Module>,
    symbol: String,
}

impl Function {
    /// Loads PTX, with the line information that a profiler needs.
    pub(super) fn load(context: &Arc<Context>, ptx: &str, symbol: &str) -> Result<Function> {
        let text =
            CString::new(ptx).map_err(|_| Error::driver(LOAD, "the PTX holds a zero byte"))?;
        let options = [ModuleJitOption::GenerateLineInfo(true)];
        let load = || cust::module::Module::from_ptx_cstr(&text, &options);
        let module = InContext::new(context, load).map_err(|_| {
            let code = library::last_failure();
            // cust does not return the compiler's log, so the PTX is loaded once more.
            let log = library::load_log(&text);
            let lines: Vec<&str> = log.trim().lines().take(LOG_LINES).collect();
            Error::driver(LOAD, format!("{code}\n{}", lines.join("\n")))
        })?;
        let look_up = || module.get()?.get_function(symbol);
        let function = look_up().of(|| format!("look-up of kernel {symbol}"))?;
        // SAFETY: only the lifetime changes; the module is stored with the function.
        let function = unsafe {
            mem::transmute::<cust::function::Function<'_>, cust::function::Function<'static>>(
                function,
            )
        };
        Ok(Function { function, module, symbol: symbol.into() })
    }

    /// The function, its context current.
    fn get(&self) -> CudaResult<&cust::function::Function<'static>> {
        self.module.get().map(|_| &self.function)
    }

    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<u32> {
        let operation = || format!("attribute {attribute:?} of kernel {}", self.symbol);
        let value = self.get().and_then(|function| function.get_attribute(attribute));
        Ok(value.of(operation)? as u32)
    }

    /// Blocks of `threads` threads that fit on a multiprocessor.
    pub fn blocks_per_multiprocessor(&self, threads: u32) -> Result<u32> {
        let block = BlockSize::x(threads);
        self.get()
            .and_then(|function| function.max_active_blocks_per_multiprocessor(block, 0))
            .of(|| format!("occupancy of kernel {}", self.symbol))
    }

    /// Fills the first elements of a variable of the module, once all earlier work in `stream` is done, and waits for
    /// it. No kernel that reads the variable may run meanwhile in another stream.
    pub fn set<T: Pod>(&self, variable: &str, values: &[T], stream: &Stream) -> Result<()> {
        let name = CString::new(variable).unwrap_or_default();
        let found = self
            .get()
            .and_then(|function| library::variable(function, &name))
            .of(|| format!("look-up of {variable} for kernel {}", self.symbol))?;
        let (bytes, needed) = (found.len(), size_of_val(values));
        if needed > bytes {
            let reason = format!("the variable has {bytes} bytes, {needed} needed");
            return Err(Error::driver(format!("fill of {variable}"), reason));
        }
        copy_in(&mut found.index(..needed), bytemuck::cast_slice(values), stream)
            .of(|| format!("fill of {variable}"))
    }

    /// Enqueues `blocks` blocks of `threads` threads with `shared` bytes of dynamic shared memory.
    ///
    /// # Safety
    /// - `parameters` point to the kernel's parameters, in order and of their types; they are copied before this
    ///   returns.
    /// - The stream belongs to the module's context.
    /// - The kernel's contract holds for this grid and the memory that the parameters name until the stream has passed
    ///   the launch: it is allocated, and other streams and the host write there before or after.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        [blocks, threads, shared]: [u32; 3],
        parameters: &[*const c_void],
    ) -> Result<()> {
        let parameters: Vec<*mut c_void> = parameters.iter().map(|at| at.cast_mut()).collect();
        let launch = || {
            let stream = stream.get()?;
            if shared > 0 {
                library::allow_shared(&self.function, shared)?;
            }
            let (grid, block) = (GridSize::x(blocks), BlockSize::x(threads));
            // SAFETY: the caller's contract.
            unsafe { stream.launch(&self.function, grid, block, shared, &parameters) }
        };
        launch().of(|| format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}
