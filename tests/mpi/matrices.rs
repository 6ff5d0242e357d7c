//! Σ as a matrix on several ranks: the bits of one process.

use std::path::Path;

use crate::launch::{alone, ended, ranks, two};

/// 96 bands n are four parts.
const DEMO: [&str; 6] = ["offdiag", "-s", "demo", "-d", "cpu", "--no-verify"];

fn arrays(prefix: &Path) -> [Vec<u8>; 2] {
    ["sx", "ch"].map(|part| std::fs::read(format!("{}.{part}.npy", prefix.display())).unwrap())
}

pub fn bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let json = ["--bands", "3", "--json", "-", "--repeat", "2"];
    ended(alone().args(DEMO).args(json).arg("--npy").arg(path("one"))).record();
    for count in [1, 2, 3, 4] {
        let mut command = ranks(count);
        let record = ended(command.args(DEMO).args(json).arg("--npy").arg(path("many"))).record();
        assert_eq!(record["band_chunks"], 4);
        assert_eq!(record["workers"].as_array().unwrap().len(), count);
        assert_eq!(arrays(&path("many")), arrays(&path("one")), "{count} ranks");
    }
}

pub fn refused() {
    for other in [&["--bands", "3", "--seed", "3"][..], &["--bands", "2:4"]] {
        let [first, second] = [&["--bands", "3"][..], other].map(|more| [&DEMO[..], more].concat());
        let mut command = two([(&[], &first), (&[], &second)]);
        ended(&mut command).expect(2, &["rank 1 has other matrix elements, "]);
    }
}
