//! `gpp offdiag`: what it prints and writes, and memory.

use gpp::record;
use npyz::NpyFile;
use num_complex::Complex64;
use predicates::prelude::*;
use predicates::str::contains;

use crate::gpp;

const TINY: [&str; 6] = ["offdiag", "--system", "tiny", "--device", "cpu", "--bands"];

fn array(path: &std::path::Path) -> (Vec<u64>, Vec<Complex64>) {
    let array = NpyFile::new(std::fs::File::open(path).unwrap()).unwrap();
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
    let record: gpp::record::run::Offdiag = record::read(&json).unwrap();
    let own = record.results[0].clone();
    let verdict = own.verification.unwrap();
    assert_eq!((verdict.outcome, verdict.elements), (gpp::reference::Outcome::Passed, 18));
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
    let [sx, ch, sigma] = ["S.sx.npy", "S.ch.npy", "S.sigma.npy"].map(|name| array(&path(name)).1);
    for ((sigma, sx), ch) in sigma.iter().zip(&sx).zip(&ch) {
        // tiny has 11,000 terms an element.
        assert!((sigma - sx - ch).norm() <= 1e-12 * (sx.norm() + ch.norm()), "{sigma} {sx} {ch}");
    }
}

#[test]
fn memory_is_told_and_limited() {
    let said = contains("of the host's memory in addition to the problem");
    gpp().args(TINY).arg("4:4").assert().success().stderr(said);
    let short = contains("not enough host memory for tiny").and(contains("--host-memory allows"));
    gpp().args(TINY).args(["4", "--host-memory", "64KiB"]).assert().code(2).stderr(short);
}
