//! The Fortran file: there and back, and everything that can be wrong with one.

mod common;

use std::fs;
use std::path::Path;

use common::{FIXTURES, Kind, Make, QUIET, alone, fixture, fixture_path, make};
use gpp::error::{Error, exit_code};
use gpp::problem::file::{read, write, write_with_subrecords};
use gpp::problem::{Header, Problem, synthesis, systems};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;

/// Tells how much memory a read took at most. One test at a time: see [`common::alone`].
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The same but for which masked columns the one was made or read without: none of these is written.
fn same(a: &Problem, b: &Problem) {
    let header = |of: &Problem| Header { unmasked: None, ..of.header().clone() };
    assert_eq!(header(a), header(b));
    assert_eq!((a.aqsn(), a.wx(), a.occ()), (b.aqsn(), b.wx(), b.occ()));
    assert_eq!(a.slab(), b.slab());
    assert_eq!(a.start(), b.start());
}

/// Reads bytes as an input file.
fn read_bytes(bytes: &[u8]) -> gpp::error::Result<Problem> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.dat");
    fs::write(&path, bytes).unwrap();
    read(&path, QUIET)
}

fn message(bytes: &[u8]) -> String {
    read_bytes(bytes).unwrap_err().to_string()
}

/// Byte ranges of the records with their markers.
fn records(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        all.push(at..at + length + 8);
        at += length + 8;
    }
    all
}

/// A fixture with 4 bytes of a record's payload replaced.
fn patched(name: &str, record: usize, offset: usize, value: i32) -> Vec<u8> {
    let mut bytes = fs::read(fixture_path(name)).unwrap();
    let at = records(&bytes)[record - 1].start + 4 + offset;
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// A fixture with a number of a record's payload replaced.
fn patched_number(name: &str, record: usize, offset: usize, value: f64) -> Vec<u8> {
    let mut bytes = fs::read(fixture_path(name)).unwrap();
    let at = records(&bytes)[record - 1].start + 4 + offset;
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn round_trip() {
    let _turn = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy.dat");
    for name in FIXTURES {
        let problem = fixture(name);
        let stored = problem.stored().cloned().unwrap();
        for max_subrecord in [2_147_483_639, 1000, 17] {
            write_with_subrecords(&path, &problem, &stored, QUIET, max_subrecord).unwrap();
            let copy = read(&path, QUIET).unwrap();
            same(&problem, &copy);
            assert_eq!(copy.stored(), Some(&stored));
        }
    }
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the file is left");
}

#[test]
fn a_system_comes_back_as_it_was_made() {
    let _turn = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny.dat");
    let problem = synthesis::synthesise(systems::find("tiny").unwrap(), 1, QUIET).unwrap();
    let sums = gpp::reference::of(&problem, QUIET).unwrap().unwrap().sums;
    write(&path, &problem, &sums, QUIET).unwrap();
    same(&problem, &read(&path, QUIET).unwrap());
    assert_eq!(records(&fs::read(&path).unwrap()).len(), 18);
}

#[test]
fn made_problems_of_any_size() {
    let _turn = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made.dat");
    for (nbands, ngpown, ncouls, nw) in [(1, 1, 1, 1), (31, 3, 33, 3), (5, 40, 129, 2)] {
        let problem = make(Make { nbands, ngpown, ncouls, nw, kind: Kind::Mixed, seed: 4 });
        let sums = gpp::problem::Sums::zero(nw);
        write(&path, &problem, &sums, QUIET).unwrap();
        let copy = read(&path, QUIET).unwrap();
        same(&problem, &copy);
        assert!(copy.stored().is_none(), "zeros are no reference");
    }
}

#[test]
fn truncated_at_and_inside_every_record() {
    let _turn = alone();
    for name in FIXTURES {
        let bytes = fs::read(fixture_path(name)).unwrap();
        for (at, range) in records(&bytes).into_iter().enumerate() {
            let middle = usize::midpoint(range.start, range.end);
            for end in [range.start, range.start + 2, range.start + 4, middle, range.end - 4] {
                let text = message(&bytes[..end]);
                if text.contains("more than the whole file has") {
                    // What is left is too short for the poles, whichever record it ends in.
                    continue;
                }
                assert!(text.contains(&format!("record {} (", at + 1)), "{end}: {text}");
                assert!(text.contains(&format!("at byte {}", range.start)), "{end}: {text}");
                assert!(text.contains("ends after"), "{end}: {text}");
            }
        }
    }
}

#[test]
fn extra_bytes() {
    let _turn = alone();
    let mut bytes = fs::read(fixture_path("plain")).unwrap();
    bytes.extend([0; 3]);
    assert!(message(&bytes).contains("3 bytes follow the last record"));
}

#[test]
fn byte_swapped() {
    let _turn = alone();
    let mut bytes = fs::read(fixture_path("plain")).unwrap();
    for word in bytes.chunks_exact_mut(4) {
        word.reverse();
    }
    let text = message(&bytes);
    assert!(text.contains("record 1 (") && text.contains("big-endian"), "{text}");
}

#[test]
fn inconsistent_contents() {
    let _turn = alone();
    for (bytes, parts) in [
        // (record, offset, value): what the message must say.
        (patched("plain", 1, 0, 0), ["record 1 (", "sig_ntband must be at least 1, found 0"]),
        (patched("plain", 1, 4, -7), ["record 1 (", "gvec_ng must be at least 1, found -7"]),
        (patched("plain", 2, 0, 1 << 20), ["record 2 (", "exceeds peinf_ntband_max"]),
        (patched("plain", 2, 12, 1 << 20), ["record 2 (", "exceeds epsmpi_ngpown_max"]),
        (patched("plain", 2, 16, 1 << 20), ["record 2 (", "exceeds ncoul"]),
        (patched("plain", 1, 16, i32::MAX), ["record 3 (", "bytes with its markers"]),
        (patched("plain", 3, 8, 10_000), ["record 3 (", "peinf_indext_dist(3) = 10000 is outside"]),
        (patched("plain", 6, 4, 0), ["record 6 (", "inv_igp_index(2) = 0 is outside"]),
        (patched("plain", 6, 4, 1 << 30), ["record 6 (", "inv_igp_index(2) = 1073741824"]),
        (patched("plain", 7, 0, 3), ["record 7 (", "gvec_ng is"]),
        (patched("plain", 5, 0, 0), ["nstart <= nend <= 100000", "found 0 and 3"]),
        (patched("plain", 5, 4, 1), ["nstart <= nend <= 100000", "found 2 and 1"]),
        (patched("plain", 5, 4, 4), ["record 15 (", "64"]),
        (patched("plain", 5, 4, 100_001), ["nstart <= nend <= 100000", "found 2 and 100001"]),
        (patched_number("plain", 12, 16 * 66, f64::NAN), ["wtilde_array(ig,igp) is NaN", "(2,2)"]),
        (patched_number("plain", 13, 8, f64::INFINITY), ["I_eps_array(ig,igp) is", "at (1,1)"]),
        (patched_number("plain", 14, 16, f64::NAN), ["aqsntemp(ig,n) is NaN", "at (2,1)"]),
        (patched_number("plain", 5, 12, f64::NAN), ["sig_dw is NaN", ""]),
        (patched_number("plain", 17, 16, f64::NAN), ["asx(iw=2) is NaN", "record 18"]),
    ] {
        let text = message(&bytes);
        for part in parts {
            assert!(text.contains(part), "`{part}` is missing in `{text}`");
        }
    }
}

#[test]
fn nan_where_nothing_reads_it_is_no_error() {
    let _turn = alone();
    // Band 24 is the last that plain uses of its larger arrays.
    let problem = fixture("plain");
    let unused = 16 * problem.header().ncouls * problem.header().nbands;
    assert!(problem.header().peinf_ntband_max > problem.header().nbands);
    read_bytes(&patched_number("plain", 14, unused, f64::NAN)).unwrap();
}

#[test]
fn unreadable() {
    let _turn = alone();
    let missing = read(Path::new("no/such/file.dat"), QUIET).unwrap_err();
    assert!(missing.to_string().starts_with("no/such/file.dat: cannot read: "), "{missing}");
    assert!(read(Path::new("/"), QUIET).unwrap_err().to_string().contains("not a regular file"));
    assert_eq!(exit_code(&missing), 2);
}

#[test]
fn unwritable() {
    let _turn = alone();
    let problem = fixture("plain");
    let sums = problem.stored().cloned().unwrap();
    let error = write(Path::new("/no/such/folder/x.dat"), &problem, &sums, QUIET).unwrap_err();
    assert!(matches!(error, Error::Write { .. }), "{error}");
}

/// Headers that announce huge arrays in a small file.
#[test]
fn nothing_is_allocated_for_what_is_not_there() {
    let _turn = alone();
    let bytes = fs::read(fixture_path("plain")).unwrap();
    for extent in [1 << 16, 1 << 24, i32::MAX] {
        for offset in (0..20).step_by(4) {
            for record in [1, 2] {
                memory_within_bounds(&patched("plain", record, offset, extent));
            }
        }
        // All extents at once, consistent with each other.
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
    const BUFFER: usize = 2 << 20;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.dat");
    fs::write(&path, bytes).unwrap();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let _ = read(&path, QUIET);
    let taken = MEMORY.peak_usage().saturating_sub(before);
    assert!(taken <= 3 * bytes.len() + BUFFER, "{taken} bytes for a file of {}", bytes.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// Random changes anywhere: an error or another valid problem, never a panic.
    #[test]
    fn random_byte_changes(
        name in proptest::sample::select(&FIXTURES[..]),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let _turn = alone();
        let mut bytes = fs::read(fixture_path(name)).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        memory_within_bounds(&bytes);
    }

    /// Changes where they hurt: in the first records and the markers.
    #[test]
    fn random_changes_of_headers_and_markers(
        name in proptest::sample::select(&FIXTURES[..]),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<i32>()), 1..4),
    ) {
        let _turn = alone();
        let mut bytes = fs::read(fixture_path(name)).unwrap();
        let all = records(&bytes);
        let mut places: Vec<usize> = all.iter().flat_map(|r| [r.start, r.end - 4]).collect();
        for record in [0, 1, 4] {
            places.extend((all[record].start + 4..all[record].end - 4).step_by(4));
        }
        for (place, value) in changes {
            let at = places[place.index(places.len())];
            let value = if value % 3 == 0 { value } else { value % 200 };
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        memory_within_bounds(&bytes);
    }
}
