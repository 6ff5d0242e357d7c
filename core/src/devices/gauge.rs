//! Clocks, power and temperature of a device while it works, and a thread that samples them.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A source of readings: NVML, or a test's script.
pub trait Gauge: Send + Sync {
    /// The present values. NVML takes about 5 ms.
    fn read(&self) -> Reading;

    fn power_limit_w(&self) -> Option<f64>;
}

/// `None` stands for unknown values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub sm_mhz: Option<f64>,
    pub memory_mhz: Option<f64>,
    /// Power of the whole board in watts.
    pub power_w: Option<f64>,
    /// Temperature of the chip in °C.
    pub temperature_c: Option<f64>,
    /// Energy in joules since some moment.
    pub energy_j: Option<f64>,
    /// The reasons that lower the clock.
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

/// Between two samples.
const PAUSE: Duration = Duration::from_millis(5);

/// A thread that samples a gauge until [`Watch::end`].
pub struct Watch {
    gauge: Arc<dyn Gauge>,
    first: Look,
    /// None if the system starts no thread.
    thread: Option<JoinHandle<Vec<Look>>>,
    ends: Sender<()>,
}

impl Watch {
    pub fn begin(gauge: Arc<dyn Gauge>) -> Watch {
        let first = Look::at(gauge.as_ref());
        let (ends, end) = channel();
        let sampled = Arc::clone(&gauge);
        let sample = move || {
            let mut looks = Vec::new();
            while end.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                looks.push(Look::at(sampled.as_ref()));
            }
            looks
        };
        let thread = thread::Builder::new().name("gauge".into()).spawn(sample).ok();
        Watch { gauge, first, thread, ends }
    }

    /// All samples in order, the last one taken now.
    pub fn end(self) -> Vec<Look> {
        drop(self.ends);
        let meanwhile = self.thread.map_or(Vec::new(), |thread| thread.join().unwrap_or_default());
        let last = Look::at(self.gauge.as_ref());
        [self.first].into_iter().chain(meanwhile).chain([last]).collect()
    }
}
