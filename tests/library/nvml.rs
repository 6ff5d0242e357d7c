//! What NVML tells, on a stand-in for its library; that it may be missing or know nothing.

use gpp::devices::gauge::nvml::NvmlGauge;
use gpp::devices::gauge::{Gauge, Reading};

use crate::common::stand_in::compiled;

/// Set where this program runs itself with a library in place of NVML's.
const CHILD: &str = "GPP_TEST_NVML";

/// What NVML shows of a GPU, where this is set.
#[test]
fn what_nvml_shows() {
    if let Ok(uuid) = std::env::var(CHILD) {
        let gauge = NvmlGauge::for_uuid(&uuid);
        println!("shown: {:?}", gauge.map(|gauge| (gauge.read(), gauge.power_limit_w())));
    }
}

fn shown(folder: &std::path::Path, uuid: &str, how: &str) -> String {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "nvml::what_nvml_shows", "--nocapture"]);
    command.env("LD_LIBRARY_PATH", folder).env("FAKE_NVML", how).env(CHILD, uuid);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split("shown: ").nth(1));
    line.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))).into()
}

#[test]
fn nvml_is_loaded_and_asked_when_it_is_there() {
    let (folder, library) = crate::common::place("libnvidia-ml.so.1");
    std::fs::write(&library, "no library\n").unwrap();
    assert_eq!(shown(folder.path(), "GPU-1", ""), "None");
    std::fs::remove_file(&library).unwrap();
    compiled("tests/data/libnvidia-ml.c", &library, &[]).unwrap();
    for (uuid, how) in [("GPU-1", "absent"), ("GPU-1", "mute"), ("GPU-2", "")] {
        assert_eq!(shown(folder.path(), uuid, how), "None", "{uuid}, {how}");
    }
    let expected = |power| {
        let reading = Reading {
            sm_mhz: Some(1545.0),
            memory_mhz: Some(3201.0),
            power_w: Some(power),
            temperature_c: Some(61.0),
            energy_j: Some(123456.789),
            clock_limited_by: Some(vec!["power cap", "hardware slowdown"]),
        };
        format!("{:?}", Some((reading, Some(700.0))))
    };
    assert_eq!(shown(folder.path(), "GPU-1", ""), expected(704.5));
    assert_eq!(shown(folder.path(), "GPU-1", "old"), expected(650.25));
}
