//! Modules of single kernels, loaded when first asked for or ahead of that while the GPU is busy.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::{mem, thread};

use crate::devices::gpu::Ptx;
use crate::devices::gpu::driver::{Context, Module};
use crate::error::{Error, Result};

/// A module of one kernel, with what its variable in constant memory holds.
pub struct Loaded {
    pub module: Module,
    pub table: Arc<Table>,
}

impl From<Module> for Loaded {
    fn from(module: Module) -> Loaded {
        Loaded { module, table: Arc::default() }
    }
}

/// The energies in a module's constant memory; none at first. Workers share the module, of whatever
/// problems they are: a kernel reads the table while it is held, and it is filled while nobody holds it.
#[derive(Default)]
pub struct Table {
    state: Mutex<InTable>,
    let_go: Condvar,
}

/// What a table holds, and how many hold it.
#[derive(Default)]
struct InTable {
    wx: Vec<f64>,
    holders: usize,
}

/// Keeps what is in a table there.
#[must_use]
pub struct Holding(Arc<Table>);

impl Table {
    /// Holds the table with these energies in it, put there by `fill` if it has others.
    pub fn holding(self: &Arc<Self>, wx: &[f64], fill: impl Fn() -> Result<()>) -> Result<Holding> {
        let mut state = self.state();
        while state.wx[..] != *wx {
            if state.holders > 0 {
                state = self.let_go.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // Whatever comes of it, the others are gone.
            state.wx.clear();
            fill()?;
            state.wx.extend_from_slice(wx);
        }
        state.holders += 1;
        Ok(Holding(self.clone()))
    }

    fn state(&self) -> MutexGuard<'_, InTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.state().holders -= 1;
        self.0.let_go.notify_all();
    }
}

/// The modules of one GPU, which threads may share: each is loaded once.
pub struct Modules {
    ptx: Ptx,
    context: Context,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loaded: HashMap<String, Arc<Loaded>>,
    ahead: Ahead,
}

/// What is loaded before it is asked for.
#[derive(Default)]
enum Ahead {
    #[default]
    Nothing,
    Wanted(String),
    Loading(String, JoinHandle<Result<Module>>),
}

impl Modules {
    /// Those of `ptx` for `context`, of which none is loaded yet.
    pub fn new(ptx: Ptx, context: Context) -> Modules {
        Modules { ptx, context, state: Mutex::default() }
    }

    pub fn get(&self, symbol: &str) -> Result<Arc<Loaded>> {
        let mut state = self.finished();
        if let Some(module) = state.loaded.get(symbol) {
            return Ok(module.clone());
        }
        let module = Arc::new(Loaded::from(self.context.module(&self.text(symbol)?)?));
        state.loaded.insert(symbol.into(), module.clone());
        Ok(module)
    }

    /// Says which kernel is needed next, for [`Modules::begin`].
    pub fn want(&self, symbol: &str) {
        let mut state = self.finished();
        if !state.loaded.contains_key(symbol) {
            state.ahead = Ahead::Wanted(symbol.into());
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
                    let load = thread::Builder::new().spawn(move || context.module(&text));
                    // Without a thread it is loaded when it is asked for.
                    load.map_or(Ahead::Nothing, |load| Ahead::Loading(key, load))
                }
                // Whoever asks for it gets the error.
                Err(_) => Ahead::Nothing,
            },
            other => other,
        };
    }

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
                    state.loaded.insert(key, Arc::new(module.into()));
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

    fn text(&self, symbol: &str) -> Result<String> {
        let missing = || {
            Error::driver(format!("look-up of kernel {symbol}"), "the PTX has none of this name")
        };
        self.ptx.module(symbol).ok_or_else(missing)
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // The driver does not take it well when the process ends under a thread of its.
        self.finish();
    }
}

#[cfg(test)]
mod tests;
