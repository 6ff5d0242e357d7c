//! Which GPU is whose, in both layouts of a scheduler, on a stand-in for the driver's library. It has no
//! kernels, so a run ends when it has said where its ranks are.

use crate::common::stand_in::driver;
use crate::launch::{Ended, ended, ranks};

fn on_gpus(count: &str, device: &str) -> Ended {
    let library = driver(None).unwrap();
    let mut command = ranks(4);
    command.env("LD_LIBRARY_PATH", library.path()).env("FAKE_DEVICES", count);
    ended(command.args(["--version", "v13", "--system", "tiny", "--device", device]))
}

fn places(run: &Ended) -> Vec<(usize, String, String)> {
    let errors = run.errors();
    let place = |line: &str| {
        let (rank, rest) = line.strip_prefix("rank ")?.split_once(" on ")?;
        let (_, device) = rest.split_once(": ")?;
        let (id, name) = device.split_once(": ")?;
        let uuid = name.rsplit_once(", ").map_or("", |(_, uuid)| uuid);
        Some((rank.parse().ok()?, id.to_string(), uuid.to_string()))
    };
    errors.lines().filter_map(place).collect()
}

fn expect(run: &Ended, gpus: &[(usize, usize)]) {
    let uuid = |gpu| format!("GPU-{gpu:02x}f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
    let expected: Vec<_> =
        gpus.iter().map(|&(rank, gpu)| (rank, format!("gpu:{gpu}"), uuid(gpu))).collect();
    assert_eq!(places(run), expected, "{}", run.errors());
}

pub fn before_each() {
    for device in ["gpu", "auto"] {
        expect(&on_gpus("1", device), &[(0, 0), (1, 0), (2, 0), (3, 0)]);
        expect(&on_gpus("2", device), &[(0, 0), (1, 1), (2, 0), (3, 1)]);
        expect(&on_gpus("8", device), &[(0, 0), (1, 1), (2, 2), (3, 3)]);
    }
}

pub fn named() {
    expect(&on_gpus("3", "gpu:2"), &[(0, 2), (1, 2), (2, 2), (3, 2)]);
    let each = |rank| [(rank, 0), (rank, 2)];
    expect(&on_gpus("3", "gpu:0,2"), &[each(0), each(1), each(2), each(3)].concat());
}

pub fn none() {
    let run = on_gpus("0", "auto");
    let places = places(&run).into_iter().map(|(rank, id, _)| (rank, id));
    assert!(places.eq((0..4).map(|at| (at, "cpu".to_string()))));
    let told = run.errors().matches("note: no GPU found: running on the CPU").count();
    assert_eq!(told, 1, "{}", run.errors());
}
