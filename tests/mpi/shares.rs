//! Sums of several processes are those of one, bit for bit.

use serde_json::Value;

use crate::common::running::sums;
use crate::common::{FIXTURES, fixture_path};
use crate::launch::{alone, ended, ranks};

fn same(arguments: &[&str], numbers: &[usize]) {
    let run = [arguments, &["--device", "cpu", "--json", "-"]].concat();
    let one = ended(alone().args(&run)).record();
    for &number in numbers {
        let many = ended(ranks(number).args(&run)).record();
        assert_eq!(sums(&many), sums(&one), "{arguments:?} on {number} ranks");
        let outcomes = |run: &Value| -> Vec<Value> {
            let results = run["results"].as_array().unwrap().iter();
            results.map(|result| result["verification"]["outcome"].clone()).collect()
        };
        assert_eq!(outcomes(&many), outcomes(&one));
        if number == 1 {
            continue;
        }
        let partition = &many["partition"];
        assert_eq!(partition["ranks"], number);
        let places = partition["workers"].as_array().unwrap();
        assert!(places.iter().map(|place| &place["rank"]).eq(0..number));
        for result in many["results"].as_array().unwrap() {
            let shares = result["load_balance"]["workers"].as_array().unwrap();
            let all =
                |what: &str| shares.iter().map(|share| share[what].as_u64().unwrap()).sum::<u64>();
            assert_eq!(shares.len(), number);
            assert_eq!(many["system"]["ngpown"], all("igp"));
            assert_eq!(partition["slabs"], all("slabs"));
        }
    }
}

const VERSIONS: [&str; 4] = ["--version", "cpu:paired,cpu:alone,v9,v13,v15", "--repeat", "2"];

pub fn files() {
    for name in FIXTURES {
        let path = fixture_path(name);
        let input = ["--input", path.to_str().unwrap()];
        same(&[&VERSIONS[..], &input].concat(), &[2, 5]);
    }
}

pub fn systems() {
    for system in ["tiny", "tiny-complex"] {
        same(&[&VERSIONS[..], &["--system", system]].concat(), &[1, 2, 3, 5]);
    }
    same(&["--version", "best,v13", "--system", "demo", "--repeat", "1"], &[1, 2, 3, 5]);
    same(&["--version", "best", "--system", "demo-complex", "--seed", "3"], &[3]);
}

/// The sample in FP64 is of all ranks too.
pub fn single() {
    let single = ["--precision", "single", "--system", "demo", "--slab", "16", "--repeat", "2"];
    same(&single, &[2, 3]);
    same(&[&single[..], &["--no-verify"]].concat(), &[2]);
    // Without a bound.
    same(&["--version", "s1", "--system", "tiny", "--slab", "16"], &[2]);
}

pub fn one_group_a_slab() {
    for slab in ["3", "4", "9"] {
        same(&["--version", "v3,v0", "--system", "tiny", "--slab", slab], &[2, 3, 5]);
    }
}

/// Slabs are made anew in each run where a rank has room for the bands and a few of them.
pub fn streamed() {
    same(&["--version", "best,v9", "--system", "demo", "--host-memory", "255MiB"], &[3]);
}
