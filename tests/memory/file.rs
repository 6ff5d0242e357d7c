//! The Fortran file: there and back, and everything that can be wrong with one.

use std::fs;

use gpp::problem::input_file::{read, write, write_with_subrecords};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Header, Problem, Source, Sums, System};
use proptest::prelude::*;

use crate::common::{
    EnergyGrid, FIXTURES, Kind, QUIET, alone, assert_fails, at, fixture, fixture_path, made, place,
};

/// The same but for which masked columns the one was made or read without: none of these is written.
fn same(a: &Problem, b: &Problem) {
    let header = |of: &Problem| Header { unmasked: None, ..of.header().clone() };
    assert_eq!(header(a), header(b));
    assert_eq!((a.aqsn(), a.wx(), a.occ()), (b.aqsn(), b.wx(), b.occ()));
    crate::slabs::assert_part(a.slab(), b.slab(), 0..b.header().ngpown);
    assert_eq!(a.start(), b.start());
}

fn read_bytes(bytes: &[u8]) -> gpp::error::Result<Problem> {
    let (_dir, path) = place("input.dat");
    fs::write(&path, bytes).unwrap();
    read(&path, QUIET)
}

fn message(bytes: &[u8]) -> String {
    read_bytes(bytes).unwrap_err().to_string()
}

pub fn records(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let length = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let length = length.unsigned_abs() as usize;
        all.push(at..at + length + 8);
        at += length + 8;
    }
    all
}

fn patched<const N: usize>(name: &str, record: usize, offset: usize, value: [u8; N]) -> Vec<u8> {
    let mut bytes = fs::read(fixture_path(name)).unwrap();
    let at = records(&bytes)[record - 1].start + 4 + offset;
    bytes[at..at + N].copy_from_slice(&value);
    bytes
}

#[test]
fn round_trip() {
    let _turn = alone();
    let (dir, path) = place("copy.dat");
    let system = Synthesis::new(System::find("tiny").unwrap(), 1, QUIET).load().unwrap();
    let sized = [[1, 1, 1, 1], [31, 3, 33, 3], [5, 40, 129, 2]].map(|of| made(of, Kind::Mixed, 4));
    let many = [1, 4, 501]
        .map(|count| at(&made([13, 5, 37, 2], Kind::Mixed, 9), &EnergyGrid::Count(count)).unwrap());
    for problem in FIXTURES.map(fixture).into_iter().chain(sized).chain(many).chain([system]) {
        let stored = problem.stored.clone();
        let sums = stored.clone().unwrap_or(Sums::zero(problem.nw()));
        for max_subrecord in [2_147_483_639, 1000, 17] {
            write_with_subrecords(&path, &problem, &sums, QUIET, max_subrecord).unwrap();
            let copy = read(&path, QUIET).unwrap();
            same(&problem, &copy);
            assert_eq!(copy.stored, stored);
        }
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing but the file is left");
}

#[test]
fn inconsistent_contents() {
    let _turn = alone();
    let has = |bytes: &[u8], parts: [&str; 2]| {
        let text = message(bytes);
        parts.iter().for_each(|part| assert!(text.contains(part), "no `{part}` in `{text}`"));
    };
    // (record, offset, value): what the message must say.
    for (record, offset, value, parts) in [
        (1, 0, 0, ["record 1: sig_ntband must be from 1 to 2147483647, found 0", ""]),
        (1, 4, -7, ["gvec_ng must be from 1 to 2147483647, found -7", ""]),
        (2, 0, 1 << 20, ["peinf_ntband_dist = 1048576", "exceeds peinf_ntband_max"]),
        (2, 12, 1 << 20, ["record 12 (wtilde_array)", "needs 1090519040 bytes"]),
        (2, 16, 1 << 20, ["ncouls = 1048576", "exceeds ncoul"]),
        (1, 16, i32::MAX, ["record 3 (", "bytes between its markers"]),
        (3, 8, 10_000, ["peinf_indext_dist(3) = 10000 is outside", ""]),
        (6, 4, 0, ["inv_igp_index(2) = 0 is outside", ""]),
        (6, 4, 1 << 30, ["inv_igp_index(2) = 1073741824", ""]),
        (7, 0, 3, ["record 7 (", "gvec_ng is"]),
        (5, 0, 0, ["record 5: nstart must be from 1 to 100000, found 0", ""]),
        (5, 4, 1, ["nend must be from 2 to 100000, found 1", ""]),
        (5, 4, 4, ["record 15 (", "64"]),
        (5, 4, 100_001, ["nend must be from 2 to 100000, found 100001", ""]),
    ] {
        has(&patched("plain", record, offset, i32::to_le_bytes(value)), parts);
    }
    for (record, offset, value, parts) in [
        (12, 16 * 66, f64::NAN, ["record 12: wtilde_array(ig,igp) is NaN", "(2,2)"]),
        (13, 8, f64::INFINITY, ["I_eps_array(ig,igp) is", "at (1,1)"]),
        (14, 16, f64::NAN, ["aqsntemp(ig,n) is NaN", "at (2,1)"]),
        (5, 12, f64::NAN, ["sig_dw is NaN", ""]),
        (17, 16, f64::NAN, ["the stored asx(iw=2) is NaN", ""]),
    ] {
        has(&patched("plain", record, offset, value.to_le_bytes()), parts);
    }
}

#[test]
fn what_cannot_be_read_or_written_is_said() {
    let _turn = alone();
    let mut bytes = fs::read(fixture_path("plain")).unwrap();
    bytes.extend([0; 3]);
    assert!(message(&bytes).contains("3 bytes follow the last record"));
    bytes.truncate(bytes.len() - 3);
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let swapped = message(&bytes);
    assert!(swapped.contains("record 1 (") && swapped.contains("big-endian"), "{swapped}");
    let listed = made([1, 1, 1, 1], Kind::First, 1);
    let listed = at(&listed, &EnergyGrid::Listed(vec![0.0, 0.1, 0.7])).unwrap();
    let place = tempfile::NamedTempFile::new().unwrap();
    let error = write(place.path(), &listed, &Sums::zero(3), QUIET);
    assert_fails(error, "nstart, nend, sig_dw and e_lk");
    // Band 24 is the last that plain uses of its larger arrays: NaN behind it is no error.
    let problem = fixture("plain");
    let unused = 16 * problem.header().ncouls * problem.header().nbands;
    assert!(problem.header().peinf_ntband_max > problem.header().nbands);
    read_bytes(&patched("plain", 14, unused, f64::NAN.to_le_bytes())).unwrap();
}

#[test]
fn nothing_is_allocated_for_what_is_not_there() {
    let _turn = alone();
    let bytes = fs::read(fixture_path("plain")).unwrap();
    for extent in [1 << 16, 1 << 24, i32::MAX] {
        for offset in (0..20).step_by(4) {
            for record in [1, 2] {
                memory_within_bounds(&patched("plain", record, offset, i32::to_le_bytes(extent)));
            }
        }
        // All dimensions at once, consistent with each other.
        let mut all = bytes.clone();
        for record in &records(&bytes)[..2] {
            for word in all[record.start + 4..record.end - 4].chunks_exact_mut(4) {
                word.copy_from_slice(&extent.to_le_bytes());
            }
        }
        memory_within_bounds(&all);
    }
}

/// Reads the bytes; whatever comes of it takes a few times the file's size at most, and the buffer.
fn memory_within_bounds(bytes: &[u8]) {
    let (_dir, path) = place("input.dat");
    fs::write(&path, bytes).unwrap();
    let (_, taken) = crate::peak(|| read(&path, QUIET).map(drop));
    let size = bytes.len();
    assert!(taken <= (3 * size + (2 << 20)) as u64, "{taken} bytes for a file of {size}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, ..ProptestConfig::default() })]

    /// Random changes anywhere, and in the first records and the markers: an error or a valid problem, never a panic.
    #[test]
    fn random_changes(
        name in proptest::sample::select(&FIXTURES[..]),
        anywhere in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<i32>()), 1..6),
        cut in proptest::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let _turn = alone();
        let mut bytes = fs::read(fixture_path(name)).unwrap();
        let all = records(&bytes);
        let mut places: Vec<usize> = all.iter().flat_map(|r| [r.start, r.end - 4]).collect();
        for record in [0, 1, 4] {
            places.extend((all[record].start + 4..all[record].end - 4).step_by(4));
        }
        for (place, value) in changes {
            let of_places = places[place.index(places.len())];
            let at = if anywhere { place.index(bytes.len() - 4) } else { of_places };
            let value = if value % 3 == 0 { value } else { value % 200 };
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        memory_within_bounds(&bytes);
    }
}
