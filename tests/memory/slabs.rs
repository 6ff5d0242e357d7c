//! Slabs: parts of a problem from every source against the whole, bit for bit.

use std::fs;
use std::ops::Range;

use gpp::problem::input_file::{InputFile, write, write_with_subrecords};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{CheckedBands, Extents, Header, Problem, Slab, SlabView, Source, System};
use num_complex::Complex64;

use crate::common::on_device::bits;
use crate::common::{FIXTURES, Kind, QUIET, alone, fixture_path, hard, made, place};
use crate::file::records;
use crate::peak;

pub fn assert_part(found: SlabView, whole: SlabView, igp: Range<usize>) {
    let ncouls = whole.ncouls();
    let pairs = igp.start * ncouls..igp.end * ncouls;
    assert_eq!((found.igp(), found.len(), found.ncouls()), (igp.clone(), igp.len(), ncouls));
    assert!(bits(found.wtilde()) == bits(&whole.wtilde()[pairs.clone()]), "wtilde of {igp:?}");
    assert!(bits(found.eps()) == bits(&whole.eps()[pairs]), "eps of {igp:?}");
    assert_eq!(found.vcoul_loc(), &whole.vcoul_loc()[igp.clone()]);
    let mut columns = 0;
    for (found, whole) in found.aqsm_local().columns().zip(whole.aqsm_local().columns()) {
        assert!(bits(found) == bits(&whole[igp.clone()]), "aqsm_local of {igp:?}");
        columns += 1;
    }
    assert_eq!(columns, whole.aqsm_local().columns().count());
}

fn arrays(bands: &CheckedBands) -> (&Header, &[Complex64], &[f64], &[f64]) {
    (bands.header(), bands.aqsn(), bands.wx(), bands.occ())
}

/// Compares a source's bands and slabs with a problem's: all pairs of boundaries if they are few, else odd sizes.
fn assert_same(source: &dyn Source, whole: &Problem) {
    let ngpown = whole.extents().ngpown;
    assert_eq!((source.name(), source.extents()), (whole.name(), whole.extents()));
    assert_eq!(source.start(), *whole.start());
    assert_eq!(source.stored(), whole.stored);
    assert_eq!(source.poles(0..ngpown).unwrap(), whole.poles());
    let bands = source.bands().unwrap();
    assert_eq!(arrays(&bands), arrays(whole.bands()));
    let ranges: Vec<Range<usize>> = if ngpown <= 12 {
        (0..ngpown).flat_map(|a| (a + 1..=ngpown).map(move |b| a..b)).collect()
    } else {
        [1, 3, 7, 16, ngpown]
            .into_iter()
            .flat_map(|n| (0..ngpown).step_by(n).map(move |a| a..ngpown.min(a + n)))
            .collect()
    };
    for igp in ranges {
        assert_part(source.slab(&bands, igp.clone()).unwrap().view(), whole.slab(), igp);
    }
    let loaded = source.load().unwrap();
    assert_part(loaded.slab(), whole.slab(), 0..ngpown);
    assert_eq!(arrays(loaded.bands()), arrays(whole.bands()));
    assert_eq!(loaded.start(), whole.start());
}

#[test]
fn synthesised_slabs_are_parts_of_the_whole() {
    let _turn = alone();
    for name in ["tiny", "tiny-complex", "demo"] {
        let source = Synthesis::new(System::find(name).unwrap(), 5, QUIET);
        assert_same(&source, &source.load().unwrap());
    }
}

/// From memory, from a file and synthesised: what is summed of a sample is what the whole has there.
#[test]
fn the_columns_of_a_sample_are_those_of_the_whole() {
    let _turn = alone();
    let tiny = Synthesis::new(System::find("tiny").unwrap(), 5, QUIET);
    let file = InputFile::open(&fixture_path("real/gaas-q0"), QUIET).unwrap();
    let sources: [Box<dyn Source>; 2] = [Box::new(tiny), Box::new(file)];
    for mut source in sources {
        let whole = source.load().unwrap();
        source.sample(3);
        let some = source.load().unwrap();
        assert_eq!((source.extents().ngpown, some.stored.as_ref()), (3, None));
        for igp in 0..3 {
            let column = some.header().column(igp);
            let at = (0..).find(|&at| whole.header().column(at) == column).unwrap();
            let [found, expected] = [&some, &whole].map(Problem::slab);
            let [found, expected] = [found.part(igp..igp + 1), expected.part(at..at + 1)];
            assert_eq!(bits(found.wtilde()), bits(expected.wtilde()));
            assert_eq!(bits(found.eps()), bits(expected.eps()));
            assert_eq!(found.vcoul_loc(), expected.vcoul_loc());
            assert!(found.aqsm_local().columns().eq(expected.aqsm_local().columns()));
        }
    }
}

#[test]
fn slabs_of_files_are_parts_of_the_whole() {
    let _turn = alone();
    for name in FIXTURES.map(String::from).into_iter().chain(hard()) {
        let source = InputFile::open(&fixture_path(&name), QUIET).unwrap();
        assert_same(&source, &source.load().unwrap());
    }
}

#[test]
fn seeks_pass_over_subrecords() {
    let _turn = alone();
    let (_dir, path) = place("parts.dat");
    for (nbands, ngpown, ncouls, kind) in [(5, 11, 33, Kind::Mixed), (3, 9, 70, Kind::Real)] {
        let problem = made([nbands, ngpown, ncouls, 2], kind, 8);
        let sums = gpp::reference::for_problem(&problem, QUIET).unwrap().unwrap().sums;
        let column = 16 * ncouls as u64;
        // Markers within a number, a column and a slab, and at their ends.
        for length in [17, 1000, column - 3, column, 3 * column, 3 * column + 8] {
            write_with_subrecords(&path, &problem, &sums, QUIET, length).unwrap();
            let source = InputFile::open(&path, QUIET).unwrap();
            let whole = source.load().unwrap();
            assert_part(whole.slab(), problem.slab(), 0..ngpown);
            assert_same(&source, &whole);
        }
    }
}

fn opened(path: &std::path::Path, bytes: &[u8]) -> gpp::error::Result<InputFile> {
    fs::write(path, bytes).unwrap();
    InputFile::open(path, QUIET)
}

#[test]
fn every_marker_is_looked_at_and_every_end() {
    let _turn = alone();
    let (_dir, path) = place("parts.dat");
    let problem = made([3, 4, 9, 2], Kind::Mixed, 8);
    let sums = gpp::reference::for_problem(&problem, QUIET).unwrap().unwrap().sums;
    for length in [60, 16 * 9, 2_147_483_639] {
        write_with_subrecords(&path, &problem, &sums, QUIET, length).unwrap();
        let bytes = fs::read(&path).unwrap();
        for at in records(&bytes).into_iter().flat_map(|record| [record.start, record.end - 4]) {
            for change in [1, 0x80] {
                let mut wrong = bytes.clone();
                // The lowest byte, then the sign.
                wrong[at + if change == 1 { 0 } else { 3 }] ^= change;
                let text = opened(&path, &wrong).err().expect("a marker is wrong").to_string();
                assert!(text.contains("marker") || text.contains("ends"), "{at}: {text}");
                assert!(text.contains(": record "), "{at}: {text}");
            }
        }
        let text = opened(&path, &[]).err().expect("it is empty").to_string();
        assert!(text.ends_with(": is empty"), "{text}");
        for end in 1..bytes.len() {
            let text = opened(&path, &bytes[..end]).err().expect("it is cut").to_string();
            assert!(text.contains("ends after"), "{end}: {text}");
            assert!(text.contains(": record ") && text.contains(" at byte "), "{end}: {text}");
        }
    }
}

#[test]
fn a_file_that_is_cut_off_after_it_was_opened_is_refused() {
    let _turn = alone();
    let (_dir, path) = place("parts.dat");
    let bytes = fs::read(fixture_path("plain")).unwrap();
    let source = opened(&path, &bytes).unwrap();
    let bands = source.bands().unwrap();
    fs::write(&path, &bytes[..100]).unwrap();
    let text = source.slab(&bands, 0..1).err().unwrap().to_string();
    assert!(text.contains("record 8 (aqsmtemp)") && text.contains("cannot read at byte"), "{text}");
    assert!(source.poles(0..1).is_err() && source.bands().is_err());
}

#[test]
fn errors_name_elements_of_the_whole_problem() {
    let _turn = alone();
    let problem = made([3, 9, 5, 2], Kind::Mixed, 1);
    let bands = problem.bands();
    let slab = |igp, change: &dyn Fn(&mut [Vec<Complex64>; 3])| {
        let part = problem.slab().part(4..7);
        let aqsm_local = part.aqsm_local().columns().flatten().copied().collect();
        let mut matrices = [part.wtilde().to_vec(), part.eps().to_vec(), aqsm_local];
        change(&mut matrices);
        let [wtilde, eps, aqsm_local] = matrices;
        Slab::new(bands, igp, wtilde, eps, aqsm_local).map_err(|error| error.to_string())
    };
    let (nan, large) = (Complex64::from(f64::NAN), Complex64::from(1e80));
    let w = bands.wx().iter().copied().find(|w| *w > 0.0).unwrap();
    // Element 7 of (5, 3) is ig 3 of the second igp, the sixth of all; of (3, 3) igp 2 of band 3.
    for (at, wrong, parts) in [
        (0, nan, ["wtilde_array(ig,igp) is NaN", "at (3,6)"]),
        (1, nan, ["I_eps_array(ig,igp) is NaN", "at (3,6)"]),
        (2, nan, ["aqsm_local(igp,n) is NaN", "at (6,3)"]),
        (0, large, ["wtilde_array(ig,igp) is 1e80+0e0i at (3,6)", "at most 1e75"]),
        (1, large, ["at (3,6)", "at most 1e50"]),
        (0, Complex64::new(-w, 1e-300), ["eV at (3,6), and wx", "not bounded"]),
    ] {
        let text = slab(4..7, &|of| of[at][7] = wrong).unwrap_err();
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    }
    assert_eq!(slab(4..8, &|_| ()).unwrap_err(), "wtilde_array(ig,igp) needs 20 elements, has 15");
    assert!(slab(4..7, &|_| ()).is_ok());
}

#[test]
fn nothing_is_held_twice() {
    let _turn = alone();
    let system = System::find("demo").unwrap();
    let bytes = system.extents().bytes();
    // Columns, energies sorted, streams of the threads.
    let room = 1 << 19;
    assert!(bytes > 8 * room, "{bytes}");
    let source = Synthesis::new(system, 5, QUIET);
    let (problem, taken) = peak(|| source.load().unwrap());
    assert!(taken < bytes + room, "{taken} of {bytes}");
    let sums = gpp::reference::for_problem(&problem, QUIET).unwrap().unwrap().sums;
    let (_dir, path) = place("demo.dat");
    write(&path, &problem, &sums, QUIET).unwrap();
    drop(problem);
    let (input, taken) = peak(|| InputFile::open(&path, QUIET).unwrap());
    assert!(taken < room, "{taken}");
    let (_, taken) = peak(|| input.poles(0..input.extents().ngpown).unwrap());
    assert!(taken < room, "{taken}");
    let (problem, taken) = peak(|| input.load().unwrap());
    assert!(taken < bytes + room, "{taken} of {bytes}");
    let ((), taken) = peak(|| drop(problem.part(0..2).unwrap()));
    assert!(taken < 1 << 10, "{taken}");
    let extents = Extents { ngpown: 3, ..input.extents() };
    let bands = input.bands().unwrap();
    let (_slab, taken) = peak(|| input.slab(&bands, 4..7).unwrap().view().len());
    assert!(taken < extents.bytes_of(gpp::problem::arrays::Of::Slab) + room, "{taken}");
}
