//! Sums of several processes are those of one, bit for bit.

use serde_json::Value;

use crate::Test;
use crate::common::running::sums;
use crate::common::{FIXTURES, HARD, Kind, Make, QUIET, fixture_path, hard_path, make};
use crate::launch::{GPP, alone, ended, mpirun, ranks};

pub const TESTS: &[Test] = &[
    ("files, fewer G′ than ranks among them", files),
    ("hard files", hard_files),
    ("systems that are made", systems),
    ("one group a slab", one_group_a_slab),
    ("memory for some slabs only", streamed),
    ("each rank reads its share of a file", read_by_shares),
];

/// Fails unless runs on these numbers of ranks have the sums of one process, and say where they were.
fn same(arguments: &[&str], numbers: &[usize]) {
    let run = [arguments, &["--device", "cpu", "--json", "-"]].concat();
    let one = ended(alone().args(&run)).record();
    for &number in numbers {
        let many = ended(ranks(number).args(&run)).record();
        assert_eq!(sums(&many), sums(&one), "{arguments:?} on {number} ranks");
        let outcomes = |run: &Value| -> Vec<Value> {
            let results = run["results"].as_array().unwrap();
            results.iter().map(|result| result["verification"]["outcome"].clone()).collect()
        };
        assert_eq!(outcomes(&many), outcomes(&one));
        if number > 1 {
            shared(&many, number);
        }
    }
}

/// Fails unless the record says who did what.
fn shared(run: &Value, number: usize) {
    let parting = &run["parting"];
    assert_eq!(parting["ranks"], number);
    let places = parting["places"].as_array().unwrap();
    let of_places: Vec<usize> =
        places.iter().map(|place| place["rank"].as_u64().unwrap() as usize).collect();
    assert_eq!(of_places, (0..number).collect::<Vec<_>>());
    let ngpown = run["system"]["ngpown"].as_u64().unwrap();
    for result in run["results"].as_array().unwrap() {
        let shares = result["work"]["shares"].as_array().unwrap();
        let all = |what: &str| shares.iter().map(|share| share[what].as_u64().unwrap()).sum();
        let (slabs, igp): (u64, u64) = (all("slabs"), all("igp"));
        assert_eq!((shares.len(), igp), (number, ngpown));
        assert_eq!(parting["slabs"], slabs);
    }
}

/// Versions whose groups are one igp, one and many.
const VERSIONS: [&str; 4] = ["--version", "best,v9,v13", "--repeat", "2"];

fn files() {
    for name in FIXTURES {
        let path = fixture_path(name);
        let input = ["--input", path.to_str().unwrap()];
        same(&[&VERSIONS[..], &input].concat(), &[1, 2, 3, 5]);
    }
}

fn hard_files() {
    for name in ["07-reader-rejects", "15-cancelling-bands", "18-v9-v12-drift-20000-equal-bands"] {
        assert!(HARD.contains(&name));
        let path = hard_path(name);
        let input = ["--input", path.to_str().unwrap()];
        same(&[&VERSIONS[..], &input].concat(), &[2, 3]);
    }
}

fn systems() {
    for system in ["tiny", "tiny-complex"] {
        same(&[&VERSIONS[..], &["--system", system]].concat(), &[1, 2, 3, 5]);
    }
    same(&["--version", "best,v13", "--system", "demo", "--repeat", "1"], &[1, 2, 3, 5]);
    same(&["--version", "best", "--system", "demo-complex", "--seed", "3"], &[3]);
}

fn one_group_a_slab() {
    for slab in ["3", "4", "9"] {
        let run = ["--version", "v3,v0", "--system", "tiny", "--slab", slab];
        same(&run, &[1, 2, 3, 5]);
    }
}

/// Slabs are made anew in each run where a rank has room for the bands and a few of them.
fn streamed() {
    let run = ["--version", "best,v9", "--system", "demo", "--host-memory", "255MiB"];
    same(&run, &[3]);
}

/// By what the system has counted of each rank and its shell.
fn read_by_shares() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.dat");
    let problem =
        make(Make { nbands: 3, ngpown: 400, ncouls: 2500, nw: 2, kind: Kind::Real, seed: 4 });
    let sums = gpp::reference::of(&problem, QUIET).unwrap().unwrap().sums;
    gpp::problem::file::write(&path, &problem, &sums, QUIET).unwrap();
    let script = "\"$@\"; code=$?; grep rchar /proc/$$/io >&2; exit $code";
    let mut command = mpirun();
    command.args([
        "-n",
        "4",
        "sh",
        "-c",
        script,
        "sh",
        GPP,
        "--version",
        "best",
        "--device",
        "cpu",
    ]);
    command.args(["--repeat", "3", "--json", "-", "--input"]).arg(&path);
    let run = ended(&mut command);
    assert_eq!(run.record()["results"][0]["verification"]["outcome"], "passed");
    let errors = run.errors();
    let mut read: Vec<u64> =
        errors.lines().filter_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).collect();
    read.sort_unstable();
    assert_eq!(read.len(), 4, "{errors}");
    // 32 MB of pairs; beside its share a rank reads the bands and what programs read when they start.
    let pairs = 2 * 16 * 400 * 2500;
    let most = pairs / 4 + (8 << 20);
    // Rank 0 goes through all for the scale of the sums, and holds one slab of them at a time.
    assert!(read[..3].iter().all(|&read| read < most), "{read:?}, at most {most}");
    assert!(read[3] < pairs + most, "{read:?}");
}
