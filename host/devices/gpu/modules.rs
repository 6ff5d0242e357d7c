//! Modules of single kernels, loaded when first asked for or ahead of that while the GPU is busy.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::driver::{Context, Module};
use super::ptx::Ptx;
use crate::error::{DriverError, Error, Result};

/// A kernel's symbol and the cap on its registers.
type Key = (String, Option<u32>);

/// The modules of one GPU, which threads may share: each is loaded once.
pub struct Modules {
    ptx: Ptx,
    context: Context,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loaded: HashMap<Key, Arc<Module>>,
    ahead: Ahead,
}

/// What is loaded before it is asked for.
#[derive(Default)]
enum Ahead {
    #[default]
    Nothing,
    Wanted(Key),
    Loading(Key, JoinHandle<Result<Module>>),
}

impl Modules {
    /// Those of `ptx` for `context`, of which none is loaded yet.
    pub fn new(ptx: Ptx, context: Context) -> Modules {
        Modules { ptx, context, state: Mutex::default() }
    }

    /// The module of a kernel.
    ///
    /// # Errors
    /// [`Error::Driver`] where the PTX has no such kernel or the driver refuses it.
    pub fn get(&self, symbol: &str, most_registers: Option<u32>) -> Result<Arc<Module>> {
        let mut state = self.finished();
        let key = (symbol.to_string(), most_registers);
        if let Some(module) = state.loaded.get(&key) {
            return Ok(module.clone());
        }
        let module = Arc::new(self.context.module(&self.text(&key)?)?);
        state.loaded.insert(key, module.clone());
        Ok(module)
    }

    /// Says which kernel is needed next, for [`Modules::begin`].
    pub fn want(&self, symbol: &str, most_registers: Option<u32>) {
        let mut state = self.finished();
        let key = (symbol.to_string(), most_registers);
        if !state.loaded.contains_key(&key) {
            state.ahead = Ahead::Wanted(key);
        }
    }

    /// Starts to load the kernel wanted. The driver may hold locks meanwhile, so nothing that is
    /// timed may be enqueued before [`Modules::finish`]: call it when work is on the GPU.
    pub fn begin(&self) {
        let mut state = self.state();
        state.ahead = match mem::take(&mut state.ahead) {
            Ahead::Wanted(key) if state.loaded.contains_key(&key) => Ahead::Nothing,
            Ahead::Wanted(key) => match self.text(&key) {
                Ok(text) => {
                    let context = self.context.clone();
                    Ahead::Loading(key, thread::spawn(move || context.module(&text)))
                }
                // Whoever asks for it gets the error.
                Err(_) => Ahead::Nothing,
            },
            other => other,
        };
    }

    /// Waits for what is being loaded.
    pub fn finish(&self) {
        drop(self.finished());
    }

    /// The state with nothing being loaded.
    fn finished(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        match mem::take(&mut state.ahead) {
            Ahead::Loading(key, load) => {
                // What failed is tried again by whoever asks for it, who gets the error.
                if let Ok(Ok(module)) = load.join() {
                    state.loaded.insert(key, module.into());
                }
            }
            other => state.ahead = other,
        }
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole, whatever a thread that panicked did before or after.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, (symbol, most_registers): &Key) -> Result<String> {
        self.ptx.module(symbol, *most_registers).ok_or_else(|| Error::Driver {
            operation: format!("look-up of kernel {symbol}"),
            reason: DriverError::NoKernel,
        })
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // The driver does not take it well when the process ends under a thread of its.
        self.finish();
    }
}
