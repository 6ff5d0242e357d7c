//! Who is told how far a calculation is, and may stop it.

use std::sync::{Arc, Mutex, PoisonError};

type Tell = dyn Fn(f64) -> Option<i32> + Send + Sync;

/// A caller's function, and what it said in one calculation.
#[derive(Clone)]
pub struct Told {
    tell: Arc<Tell>,
    said: Arc<Mutex<Said>>,
}

#[derive(Clone, Copy, Default)]
struct Said {
    /// Which part was done.
    part: f64,
    /// What to stop for.
    stop: Option<i32>,
}

impl Told {
    /// Of this function.
    pub fn new(tell: impl Fn(f64) -> Option<i32> + Send + Sync + 'static) -> Told {
        Told { tell: Arc::new(tell), said: Arc::default() }
    }

    /// For a calculation of its own.
    pub fn anew(&self) -> Told {
        Told { tell: self.tell.clone(), said: Arc::default() }
    }

    /// Tells that a part is done.
    pub fn tell(&self, part: f64) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.part = said.part.max(part);
        if said.stop.is_none() {
            said.stop = (self.tell)(said.part);
        }
    }

    /// Asks whether to stop.
    pub fn asked(&self) -> Option<i32> {
        self.tell(0.0);
        self.said.lock().unwrap_or_else(PoisonError::into_inner).stop
    }
}
