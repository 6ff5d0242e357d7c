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
    pub clock_limited_by: Option<Vec<&'static str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GaugeSample {
    pub begin: Instant,
    pub end: Instant,
    pub reading: Reading,
}

impl GaugeSample {
    fn at(gauge: &dyn Gauge) -> GaugeSample {
        let begin = Instant::now();
        let reading = gauge.read();
        GaugeSample { begin, end: Instant::now(), reading }
    }
}

const PAUSE: Duration = Duration::from_millis(5);

/// A thread that samples a gauge until [`Sampler::end`].
pub struct Sampler {
    gauge: Arc<dyn Gauge>,
    first: GaugeSample,
    /// None if the system starts no thread.
    thread: Option<JoinHandle<Vec<GaugeSample>>>,
    ends: Sender<()>,
}

impl Sampler {
    pub fn begin(gauge: Arc<dyn Gauge>) -> Sampler {
        let first = GaugeSample::at(gauge.as_ref());
        let (ends, end) = channel();
        let sampled = Arc::clone(&gauge);
        let sample = move || {
            let mut samples = Vec::new();
            while end.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                samples.push(GaugeSample::at(sampled.as_ref()));
            }
            samples
        };
        let thread = thread::Builder::new().name("gauge".into()).spawn(sample).ok();
        Sampler { gauge, first, thread, ends }
    }

    /// All samples in order, the last one taken now.
    pub fn end(self) -> Vec<GaugeSample> {
        drop(self.ends);
        let meanwhile = self.thread.map_or(Vec::new(), |thread| thread.join().unwrap_or_default());
        let last = GaugeSample::at(self.gauge.as_ref());
        [self.first].into_iter().chain(meanwhile).chain([last]).collect()
    }
}

/// Clock, power and temperature by NVML, `libnvidia-ml.so.1`, opened at the first use. Without it nothing is known.
#[cfg(feature = "nvml")]
pub mod nvml {
    use std::sync::OnceLock;

    use nvml_wrapper::bitmasks::device::ThrottleReasons;
    use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
    use nvml_wrapper::enums::device::SampleValue;
    use nvml_wrapper::structs::device::FieldId;
    use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;
    use nvml_wrapper::{Device, Nvml};

    use super::{Gauge, Reading};

    pub struct NvmlGauge {
        device: Device<'static>,
        /// Whether it reports the present power, not only the mean of up to a second.
        instant: bool,
    }

    impl NvmlGauge {
        /// The GPU with this UUID: NVML and CUDA number GPUs differently.
        pub fn for_uuid(uuid: &str) -> Option<NvmlGauge> {
            static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
            let nvml = NVML.get_or_init(|| Nvml::init().ok()).as_ref()?;
            let device = nvml.device_by_uuid(uuid).ok()?;
            let instant = instant_power(&device).is_some();
            let gauge = NvmlGauge { device, instant };
            (gauge.read() != Reading::default()).then_some(gauge)
        }
    }

    impl Gauge for NvmlGauge {
        fn read(&self) -> Reading {
            let NvmlGauge { device, instant } = self;
            let milliwatts = match instant {
                true => instant_power(device),
                false => device.power_usage().ok().map(f64::from),
            };
            Reading {
                sm_mhz: device.clock_info(Clock::SM).ok().map(f64::from),
                memory_mhz: device.clock_info(Clock::Memory).ok().map(f64::from),
                power_w: milliwatts.map(|milliwatts| milliwatts / 1e3),
                temperature_c: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
                energy_j: device.total_energy_consumption().ok().map(|mj| mj as f64 / 1e3),
                clock_limited_by: device.current_throttle_reasons().ok().map(names),
            }
        }

        fn power_limit_w(&self) -> Option<f64> {
            self.device.enforced_power_limit().ok().map(|milliwatts| f64::from(milliwatts) / 1e3)
        }
    }

    /// The present power in milliwatts.
    fn instant_power(device: &Device) -> Option<f64> {
        let fields = [FieldId(NVML_FI_DEV_POWER_INSTANT)];
        match device.field_values_for(&fields).ok()?.pop()?.ok()?.value.ok()? {
            SampleValue::F64(value) => Some(value),
            SampleValue::U32(value) => Some(value.into()),
            SampleValue::U64(value) => Some(value as f64),
            SampleValue::I64(value) => Some(value as f64),
        }
    }

    /// The reasons that lower a clock below its setting; an idle GPU and clocks that a user set have none.
    fn names(reasons: ThrottleReasons) -> Vec<&'static str> {
        let reasons_and_names = [
            (ThrottleReasons::SW_POWER_CAP, "power cap"),
            (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
            (ThrottleReasons::SYNC_BOOST, "sync boost"),
            (ThrottleReasons::SW_THERMAL_SLOWDOWN, "thermal (software)"),
            (ThrottleReasons::HW_THERMAL_SLOWDOWN, "thermal (hardware)"),
            (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
            (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display clocks"),
        ];
        let named = reasons_and_names.into_iter().filter(|(reason, _)| reasons.contains(*reason));
        named.map(|(_, name)| name).collect()
    }
}
