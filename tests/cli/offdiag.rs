//! `gpp offdiag`: what it prints and writes, what it refuses, the bands' own energies, and memory.

use std::fs::{self, File};
use std::path::Path;

use gpp::problem::System;
use gpp::record;
use gpp::record::run::Offdiag;
use gpp::reference::Outcome;
use gpp_core::offdiag::{Elements, Synthesised};
use npyz::NpyFile;
use num_complex::Complex64;
use predicates::prelude::*;
use predicates::str::contains;

use crate::common::matrices::write_elements;
use crate::{gpp, text};

const TINY: [&str; 6] = ["offdiag", "--system", "tiny", "--device", "cpu", "--bands"];

const NBANDS: usize = 21;
const NCOULS: usize = 67;

fn array(path: &Path) -> (Vec<u64>, Vec<Complex64>) {
    let array = NpyFile::new(File::open(path).unwrap()).unwrap();
    (array.shape().to_vec(), array.into_vec().unwrap())
}

#[test]
fn matrices_are_printed_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let [json, npy] = ["o.json", "S"].map(path);
    let mut command = gpp();
    command.args(TINY).args(["3:6", "--repeat", "2"]);
    command.arg("--json").arg(&json).arg("--npy").arg(&npy);
    let shown = contains("bands l, m 3 to 6").and(contains("passed")).and(contains("TFLOP/s"));
    command.assert().success().stdout(shown);
    let record: Offdiag = record::read(&json).unwrap();
    let own = record.results[0].clone();
    let verdict = own.verification.unwrap();
    assert_eq!((verdict.outcome, verdict.elements), (Outcome::Passed, 18));
    assert_eq!((record.bands, own.time_s.samples.len()), ([3, 6], 2));
    // 21 bands and 11 occupied ones, at two energies; both products.
    assert_eq!(record.flops, (32 * 2 * 8 * 8 * 4 * (67 + 4)) as f64);
    let [(shape, sx), _] = ["S.sx.npy", "S.ch.npy"].map(|name| array(&path(name)));
    assert_eq!(shape, [2, 4, 4]);
    for (iw, matrix) in record.matrices.iter().enumerate() {
        let trace: Complex64 = (0..4).map(|l| sx[16 * iw + 5 * l]).sum();
        assert_eq!(matrix.trace_sx, [trace.re, trace.im]);
    }
}

#[test]
fn sigma_alone_is_the_sum_of_both() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let run =
        |with: &[&str]| gpp().args(TINY).args(["4", "--npy"]).arg(path("S")).args(with).assert();
    run(&[]).success();
    let shown = contains("tr Σ").and(contains("18 values of Σ")).and(contains("SX").count(1));
    run(&["--sigma-alone"]).success().stdout(shown);
    let names = ["S.sx.npy", "S.ch.npy", "S.sigma.npy"];
    let [sx, ch, sigma] = names.map(|name| array(&path(name)).1);
    for ((sigma, sx), ch) in sigma.iter().zip(&sx).zip(&ch) {
        // tiny has 11,000 terms an element.
        assert!((sigma - sx - ch).norm() <= 1e-12 * (sx.norm() + ch.norm()), "{sigma} {sx} {ch}");
    }
}

fn write(path: &Path, bands: usize, change: impl FnOnce(&mut Vec<Complex64>)) {
    let elements = Synthesised::new(System::find("tiny").unwrap(), 214, bands);
    let mut all = vec![Complex64::ZERO; bands * NBANDS * NCOULS];
    for (at, column) in all.chunks_mut(NCOULS).enumerate() {
        elements.column(at / NBANDS, at % NBANDS, column);
    }
    change(&mut all);
    write_elements(path, [bands, NBANDS, all.len() / bands / NBANDS], all);
}

#[test]
fn matrix_elements_of_a_file_give_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    gpp().args(["generate", "-s", "tiny", "-o"]).arg(path("tiny.dat")).assert().success();
    write(&path("A.npy"), 5, |_| ());
    let [dat, npy] = ["tiny.dat", "A.npy"].map(|name| text(path(name)));
    let of_file = |with: &[&str]| {
        let given = ["offdiag", "-d", "cpu", "-i", &dat, "--elements", &npy];
        gpp().args(given).args(with).assert()
    };
    of_file(&["--bands", "2:5", "--npy", path("F").to_str().unwrap()]).success();
    gpp().args(TINY).arg("2:5").arg("--npy").arg(path("S")).assert().success();
    for part in ["sx", "ch"] {
        let read = |name: &str| fs::read(path(&format!("{name}.{part}.npy"))).unwrap();
        assert_eq!(read("F"), read("S"));
    }
    let refused = |part: &str| of_file(&[]).code(2).stderr(contains(part).and(contains("A.npy")));
    of_file(&["--bands", "4:6"]).code(2).stderr(contains("--elements has bands 1 to 5"));
    write(&path("A.npy"), 2, |all| all[3 * NCOULS + 7].im = f64::NAN);
    refused("+NaNi; real and imaginary part must be at most 1e50");
    write(&path("A.npy"), 2, |all| all[3 * NCOULS + 7].re = -1e51);
    refused("A[0, 3, 7] is -1e51");
    write(&path("A.npy"), 2, |all| all.truncate(2 * NBANDS * 66));
    refused("needs complex128 (bands, 21, 67) in C order, found '<c16' [2, 21, 66]");
    for (begin, why) in [
        (&b"no array"[..], "magic not found for NPY file"),
        (b"\x93NUMPY\x01\0\x08\0{'descr'", "could not parse Python expression"),
        (b"\x93NUMPY\x02\0\xff\xff\xff\xff", "its header has 4294967295 bytes, the file 12"),
    ] {
        fs::write(path("A.npy"), begin).unwrap();
        let one_line = predicate::str::is_match("^error: [^\n]*\n$").unwrap();
        refused(&format!("is not a NumPy array (.npy): {why}")).stderr(one_line);
    }
    write(&path("A.npy"), 2, |_| ());
    let whole = fs::read(path("A.npy")).unwrap();
    fs::write(path("A.npy"), &whole[..whole.len() - 16]).unwrap();
    refused("bytes for [2, 21, 67], has");
}

#[test]
fn elements_are_summed_at_the_bands_own_energies() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let tiny = ["offdiag", "-s", "tiny-complex", "-d", "cpu", "--qsgw"];
    let output = ["--json", &text(path("o.json")), "--npy", &text(path("S")), "--bands", "4:9"];
    let shown = contains("E_l").and(contains("passed"));
    gpp().args(tiny).args(output).assert().success().stdout(shown);
    let run: Offdiag = record::read(&path("o.json")).unwrap();
    let verdict = run.results[0].verification.clone().unwrap();
    assert_eq!(verdict.outcome, Outcome::Passed);
    // Three bands: three rows and three columns of three.
    assert_eq!((verdict.elements, run.matrices.len()), (18, 2));
    assert!(run.matrices.iter().all(|matrix| matrix.above_state_ev.is_none()));
    let names = ["S.sx.npy", "S.ch.npy", "S.qsgw.npy"];
    let [(shape, sx), (_, ch), (of_one, qsgw)] = names.map(|name| array(&path(name)));
    assert_eq!((shape, of_one), (vec![2, 6, 6], vec![6, 6]));
    let sigma: Vec<Complex64> = sx.iter().zip(&ch).map(|(sx, ch)| sx + ch).collect();
    let at = |l: usize, m: usize| 6 * l + m;
    for (l, m) in (0..6).flat_map(|l| (0..6).map(move |m| (l, m))) {
        let mean = |l, m| 0.5 * (sigma[at(l, m)] + sigma[36 + at(l, m)]);
        let expected = 0.5 * (mean(l, m) + mean(m, l).conj());
        assert!((qsgw[at(l, m)] - expected).norm() <= 1e-14 * expected.norm(), "{l} {m}");
        // On the diagonal both are at one energy.
        assert!(l != m || sigma[at(l, l)] == sigma[36 + at(l, l)]);
        assert!(l == m || sigma[at(l, m)] != sigma[36 + at(l, m)]);
    }
    let above = run.bands_above_state_ev.unwrap();
    assert_eq!(above.len(), 6);
    let above = above[2];
    let single = ["offdiag", "-s", "tiny-complex", "-d", "cpu", "--bands", "4:9"];
    let energies = format!("--energies={above}");
    gpp().args(single).arg(energies).arg("--npy").arg(path("one")).assert().success();
    let (_, one) = array(&path("one.sx.npy"));
    assert_eq!(one[at(2, 0)..at(3, 0)], sx[at(2, 0)..at(3, 0)]);
}

#[test]
fn memory_is_told_and_limited() {
    let said = contains("of the host's memory in addition to the problem");
    gpp().args(TINY).arg("4:4").assert().success().stderr(said);
    let short = contains("not enough host memory for tiny").and(contains("--host-memory allows"));
    gpp().args(TINY).args(["4", "--host-memory", "64KiB"]).assert().code(2).stderr(short);
}
