//! What a device shows of itself while it works, and a thread that keeps looking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What shows clocks, power and temperature of a device.
pub trait Gauge: Send + Sync {
    /// What it shows now. Reading takes its time: NVML around 5 ms.
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

/// A reading and when it was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    pub begin: Instant,
    pub end: Instant,
    pub reading: Reading,
}

impl Look {
    fn at(gauge: &dyn Gauge) -> Look {
        let begin = Instant::now();
        let reading = gauge.read();
        Look { begin, end: Instant::now(), reading }
    }
}

/// From one look to the next, besides the time that it takes.
const PAUSE: Duration = Duration::from_millis(5);

/// After so many looks the pauses are twice as long, after twice as many three times, …: of an hour there are
/// no more than some ten thousand looks.
const LONGER: usize = 1000;

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
    /// Looks once; the pause that is to follow.
    fn look(&self) -> Duration {
        let look = Look::at(self.gauge.as_ref());
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.push(look);
        PAUSE * (1 + looks.len() / LONGER) as u32
    }
}

impl Watch {
    /// Looks once and begins to look again and again, where a thread can be had for it.
    pub fn begin(gauge: Arc<dyn Gauge>) -> Watch {
        let shared = Arc::new(Shared { gauge, looks: Mutex::default(), ends: false.into() });
        let mut pause = shared.look();
        let watching = Arc::clone(&shared);
        let look = move || {
            while !watching.ends.load(Ordering::Relaxed) {
                thread::park_timeout(pause);
                pause = watching.look();
            }
        };
        let thread = thread::Builder::new().name("gauge".into()).spawn(look).ok();
        Watch { shared, thread }
    }

    /// The looks in their order, the last one taken now.
    pub fn end(mut self) -> Vec<Look> {
        self.stop();
        self.shared.look();
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
