//! What a device shows of itself while it works, and a thread that reads it again and again.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
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

/// What a gauge shows; `None` if it does not know.
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
    /// What holds the clock back, by name; empty if nothing does.
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

/// From one look to the next, in addition to the time that it takes.
const PAUSE: Duration = Duration::from_millis(5);

/// After so many looks the pauses are twice as long, after twice as many three times, …: of an hour there are
/// no more than some ten thousand looks.
const LONGER: usize = 1000;

/// A thread that reads a gauge until this is dropped.
pub struct Watch {
    gauge: Arc<dyn Gauge>,
    first: Look,
    /// None if the system gave no thread.
    thread: Option<JoinHandle<Vec<Look>>>,
    ends: Sender<()>,
}

impl Watch {
    /// Looks once, then again and again.
    pub fn begin(gauge: Arc<dyn Gauge>) -> Watch {
        let first = Look::at(gauge.as_ref());
        let (ends, end) = channel();
        let reads = Arc::clone(&gauge);
        let look = move || {
            let mut looks = Vec::new();
            let pause = |looks: &Vec<Look>| PAUSE * (1 + looks.len() / LONGER) as u32;
            while end.recv_timeout(pause(&looks)) == Err(RecvTimeoutError::Timeout) {
                looks.push(Look::at(reads.as_ref()));
            }
            looks
        };
        let thread = thread::Builder::new().name("gauge".into()).spawn(look).ok();
        Watch { gauge, first, thread, ends }
    }

    /// The looks in their order, the last one taken now.
    pub fn end(self) -> Vec<Look> {
        drop(self.ends);
        let meanwhile = self.thread.map_or(Vec::new(), |thread| thread.join().unwrap_or_default());
        let last = Look::at(self.gauge.as_ref());
        [self.first].into_iter().chain(meanwhile).chain([last]).collect()
    }
}
