//! What a device shows of itself while it works, and a thread that keeps looking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What shows clocks, power and temperature of a device.
pub trait Gauge: Send + Sync {
    /// What it shows at this moment; reading takes around a millisecond.
    fn read(&self) -> Reading;

    /// The limit of the power in watts.
    fn power_limit_w(&self) -> Option<f64>;
}

/// What a gauge shows; `None` where it does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Clock of the multiprocessors in MHz.
    pub sm_mhz: Option<f64>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<f64>,
    /// Power of the board in watts.
    pub power_w: Option<f64>,
    /// Temperature of the chip in °C.
    pub temperature_c: Option<f64>,
    /// Energy in joules since some moment.
    pub energy_j: Option<f64>,
    /// What holds the clock back, by name; empty where nothing does.
    pub held_back: Option<Vec<&'static str>>,
}

/// A reading and when it was begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// When.
    pub at: Instant,
    /// What was seen.
    pub reading: Reading,
}

impl Look {
    fn at(gauge: &dyn Gauge) -> Look {
        let at = Instant::now();
        Look { at, reading: gauge.read() }
    }
}

/// From one look to the next, besides the time that it takes.
const PAUSE: Duration = Duration::from_millis(5);

/// A thread that looks at a gauge until it is told to end.
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    gauge: Arc<dyn Gauge>,
    looks: Mutex<Vec<Look>>,
    ends: AtomicBool,
}

impl Shared {
    fn look(&self) {
        let look = Look::at(self.gauge.as_ref());
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).push(look);
    }
}

impl Watch {
    /// Looks once and begins to look again and again.
    pub fn begin(gauge: Arc<dyn Gauge>) -> Watch {
        let shared = Arc::new(Shared { gauge, looks: Mutex::default(), ends: false.into() });
        shared.look();
        let watching = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            while !watching.ends.load(Ordering::Relaxed) {
                thread::park_timeout(PAUSE);
                watching.look();
            }
        });
        Watch { shared, thread: Some(thread) }
    }

    /// The looks in their order, the last one taken now.
    pub fn end(mut self) -> Vec<Look> {
        self.stop();
        let mut looks = self.shared.looks.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut looks)
    }

    fn stop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.ends.store(true, Ordering::Relaxed);
        thread.thread().unpark();
        // A gauge that panics has shown what it has shown.
        _ = thread.join();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}
