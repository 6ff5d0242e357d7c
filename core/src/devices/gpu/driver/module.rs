//! Modules and their kernels.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use cust::context::Context;
use cust::error::CudaResult;
use cust::function::{BlockSize, FunctionAttribute, GridSize};
use cust::module::ModuleJitOption;

use crate::devices::gpu::driver::library;
use crate::devices::gpu::driver::memory::copy_in;
use crate::devices::gpu::driver::stream::{InContext, Operation, Stream};
use crate::error::{Error, Result};

/// How modules are loaded: with what a profiler needs to find the source.
const OPTIONS: [ModuleJitOption; 1] = [ModuleJitOption::GenerateLineInfo(true)];

/// Lines of the compiler's log that an error shows.
const LOG_LINES: usize = 8;

const LOAD: &str = "load of the kernels";

pub struct Module {
    /// The kernels that were looked up, before what they are of.
    functions: Mutex<HashMap<String, Arc<Handle>>>,
    module: InContext<cust::module::Module>,
}

impl Module {
    pub(super) fn from_ptx(context: &Arc<Context>, ptx: &str) -> Result<Module> {
        let zero = |_| Error::driver(LOAD, "the PTX holds a zero byte");
        let text = CString::new(ptx).map_err(zero)?;
        match InContext::new(context, || cust::module::Module::from_ptx_cstr(&text, &OPTIONS)) {
            Ok(module) => Ok(Module { functions: Mutex::default(), module }),
            Err(_) => {
                let code = library::last_failure();
                // Loaded once more for the log, which cust does not give.
                Err(Error::driver(
                    LOAD,
                    format!("{code}\n{}", shortened(&library::load_log(&text))),
                ))
            }
        }
    }

    /// A kernel by its symbol, looked up when it is first asked for.
    pub fn function(&self, symbol: &str) -> Result<Function<'_>> {
        // Every change is whole, whatever a thread that panicked did before or after.
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let function = match functions.get(symbol) {
            Some(function) => function.clone(),
            None => {
                let look_up = || self.module.get()?.get_function(symbol);
                let found = look_up().of(|| format!("look-up of kernel {symbol}"))?;
                // SAFETY: a handle, good as long as the module, with which it is kept and borrowed.
                let found =
                    unsafe { mem::transmute::<cust::function::Function<'_>, Handle>(found) };
                functions.entry(symbol.into()).or_insert(Arc::new(found)).clone()
            }
        };
        Ok(Function { module: &self.module, function, symbol: symbol.into() })
    }
}

/// The first lines of a log.
fn shortened(log: &str) -> String {
    let lines: Vec<&str> = log.trim().lines().collect();
    let shown = lines[..lines.len().min(LOG_LINES)].join("\n");
    match lines.len().saturating_sub(LOG_LINES) {
        0 => shown,
        more => format!("{shown}\n({more} more lines)"),
    }
}

/// A kernel's handle, for as long as its module is there.
type Handle = cust::function::Function<'static>;

pub struct Function<'m> {
    module: &'m InContext<cust::module::Module>,
    function: Arc<Handle>,
    symbol: String,
}

impl Function<'_> {
    fn get(&self) -> CudaResult<&Handle> {
        self.module.get()?;
        Ok(&self.function)
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

    /// Fills the first elements of a variable of the kernel's module, once all work before in
    /// `stream` is done, and waits for it. No kernel that reads it may run meanwhile in another stream.
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

    /// Enqueues `blocks` blocks of `threads` threads.
    ///
    /// # Safety
    /// - `parameters` point to the kernel's parameters, in their order and of their types; the driver
    ///   copies them before this returns.
    /// - The stream is of the module's context.
    /// - For this grid the kernel's contract holds of the memory that the parameters name, until the
    ///   stream has passed the launch: it is allocated, and what is written there by other streams
    ///   or the host is written before or after.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        blocks: u32,
        threads: u32,
        parameters: &[*const c_void],
    ) -> Result<()> {
        // SAFETY: the caller's contract.
        unsafe { self.launch_sharing(stream, blocks, threads, 0, parameters) }
    }

    /// Lets blocks have so many bytes of dynamic shared memory, more than any device's default.
    pub fn allow_shared(&self, bytes: u32) -> Result<()> {
        self.get()
            .and_then(|function| library::allow_shared(function, bytes))
            .of(|| format!("{bytes} bytes of shared memory for kernel {}", self.symbol))
    }

    /// As [`Function::launch`], of blocks with so many bytes of dynamic shared memory.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn launch_sharing(
        &self,
        stream: &Stream,
        blocks: u32,
        threads: u32,
        shared: u32,
        parameters: &[*const c_void],
    ) -> Result<()> {
        let parameters: Vec<*mut c_void> =
            parameters.iter().map(|parameter| parameter.cast_mut()).collect();
        let launch = || {
            let (grid, block) = (GridSize::x(blocks), BlockSize::x(threads));
            // SAFETY: the caller's contract.
            unsafe { stream.get()?.launch(&self.function, grid, block, shared, &parameters) }
        };
        launch().of(|| format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}
