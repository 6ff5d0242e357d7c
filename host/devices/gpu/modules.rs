//! Modules of single kernels, loaded when first asked for or ahead of that while the GPU is busy.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::thread::{self, JoinHandle};

use super::driver::{Context, Module};
use super::ptx::Ptx;
use crate::error::{Error, Result};

/// A kernel's symbol and the cap on its registers.
type Key = (String, Option<u32>);

/// The modules of one GPU.
pub struct Modules {
    ptx: Ptx,
    /// Index of the GPU.
    gpu: usize,
    loaded: RefCell<HashMap<Key, Rc<Module>>>,
    ahead: RefCell<Ahead>,
}

/// What is loaded before it is asked for.
enum Ahead {
    Nothing,
    Wanted(Key),
    Loading(Key, JoinHandle<Result<Module>>),
}

impl Modules {
    /// Those of `ptx`, of which none is loaded yet.
    pub fn new(ptx: Ptx, gpu: usize) -> Modules {
        Modules { ptx, gpu, loaded: RefCell::default(), ahead: RefCell::new(Ahead::Nothing) }
    }

    /// The module of a kernel.
    ///
    /// # Errors
    /// [`Error::Driver`] where the PTX has no such kernel or the driver refuses it.
    pub fn get(
        &self,
        context: &Context,
        symbol: &str,
        most_registers: Option<u32>,
    ) -> Result<Rc<Module>> {
        self.finish();
        let key = (symbol.to_string(), most_registers);
        if let Some(module) = self.loaded.borrow().get(&key) {
            return Ok(module.clone());
        }
        let module = Rc::new(context.module(&self.text(&key)?)?);
        self.loaded.borrow_mut().insert(key, module.clone());
        Ok(module)
    }

    /// Says which kernel is needed next, for [`Modules::begin`].
    pub fn want(&self, symbol: &str, most_registers: Option<u32>) {
        self.finish();
        let key = (symbol.to_string(), most_registers);
        if !self.loaded.borrow().contains_key(&key) {
            self.ahead.replace(Ahead::Wanted(key));
        }
    }

    /// Starts to load the kernel wanted. The driver may hold locks meanwhile, so nothing that is
    /// timed may be enqueued before [`Modules::finish`]: call it when work is on the GPU.
    pub fn begin(&self) {
        let ahead = self.ahead.replace(Ahead::Nothing);
        self.ahead.replace(match ahead {
            Ahead::Wanted(key) if self.loaded.borrow().contains_key(&key) => Ahead::Nothing,
            Ahead::Wanted(key) => match self.text(&key) {
                Ok(text) => {
                    let gpu = self.gpu;
                    let load = move || Context::open(gpu)?.module(&text);
                    Ahead::Loading(key, thread::spawn(load))
                }
                // Whoever asks for it gets the error.
                Err(_) => Ahead::Nothing,
            },
            other => other,
        });
    }

    /// Waits for what is being loaded.
    pub fn finish(&self) {
        let ahead = self.ahead.replace(Ahead::Nothing);
        match ahead {
            Ahead::Loading(key, load) => {
                // What failed is tried again by whoever asks for it, who gets the error.
                if let Ok(Ok(module)) = load.join() {
                    self.loaded.borrow_mut().insert(key, module.into());
                }
            }
            other => {
                self.ahead.replace(other);
            }
        }
    }

    fn text(&self, (symbol, most_registers): &Key) -> Result<String> {
        self.ptx.module(symbol, *most_registers).ok_or_else(|| Error::Driver {
            operation: format!("look-up of kernel {symbol}"),
            reason: "the PTX has none of this name".into(),
        })
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // The driver does not take it well when the process ends under a thread of its.
        self.finish();
    }
}
