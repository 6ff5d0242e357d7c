//! `gpp offdiag`: the bands' own energies, and memory.

use std::fs;

use gpp::record;
use gpp::record::offdiag::Offdiag;
use gpp::reference::verify::Outcome;
use npyz::NpyFile;
use num_complex::Complex64;
use predicates::prelude::*;
use predicates::str::contains;

use crate::gpp;

#[test]
fn elements_are_summed_at_the_bands_own_energies() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let tiny = ["offdiag", "-s", "tiny-complex", "-d", "cpu", "--qsgw"];
    let output = [("--json", "o.json"), ("--csv", "o.csv"), ("--npy", "S"), ("--plot", "o.svg")];
    let mut command = gpp();
    command.args(tiny).args(["--bands", "4:9"]);
    for (flag, name) in output {
        command.arg(flag).arg(path(name));
    }
    let shown =
        contains("eigenvalues of the Hermitian part").and(contains("E_l")).and(contains("passed"));
    command.assert().success().stdout(shown);
    let run: Offdiag = record::read(&path("o.json")).unwrap();
    let verdict = run.results[0].verification.clone().unwrap();
    assert_eq!(verdict.outcome, Outcome::Passed);
    // Three bands: three rows and three columns of three.
    assert_eq!((verdict.elements, run.matrices.len()), (18, 2));
    assert!(run.matrices.iter().all(|matrix| matrix.above_state_ev.is_none()));
    let array = |name: &str| -> (Vec<u64>, Vec<Complex64>) {
        let array = NpyFile::new(fs::File::open(path(name)).unwrap()).unwrap();
        (array.shape().to_vec(), array.into_vec().unwrap())
    };
    let [(shape, sx), (_, ch), (of_one, qsgw)] = ["S.sx.npy", "S.ch.npy", "S.qsgw.npy"].map(array);
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
    let told = run.qsgw.unwrap();
    let trace: f64 = (0..6).map(|l| qsgw[at(l, l)].re).sum();
    let square: f64 = qsgw.iter().map(|z| z.norm_sqr()).sum();
    let sum: f64 = told.eigenvalues.iter().sum();
    let of_squares: f64 = told.eigenvalues.iter().map(|x| x * x).sum();
    assert!((sum - trace).abs() <= 1e-12 * square.sqrt(), "{sum} {trace}");
    assert!((of_squares - square).abs() <= 1e-12 * square, "{of_squares} {square}");
    assert_eq!(told.bands_above_state_ev.len(), 6);
    let mut rows = csv::Reader::from_path(path("o.csv")).unwrap();
    assert_eq!(rows.headers().unwrap().len(), 12);
    let rows: Vec<(usize, usize, [f64; 10])> = rows.deserialize().map(Result::unwrap).collect();
    for (place, (l, m, parts)) in rows.iter().enumerate() {
        assert_eq!((*l, *m), (4 + place / 6, 4 + place % 6));
        let matrices = [sx[place], ch[place], sx[36 + place], ch[36 + place], qsgw[place]];
        let expected: Vec<f64> = matrices.iter().flat_map(|z| [z.re, z.im]).collect();
        assert_eq!(parts.as_slice(), expected);
    }
    assert_eq!(rows.len(), 36);
    assert!(fs::read_to_string(path("o.svg")).unwrap().contains("energies E_l"));
    // Energies one by one give the same elements.
    let above = told.bands_above_state_ev[2];
    let single = ["offdiag", "-s", "tiny-complex", "-d", "cpu", "--bands", "4:9"];
    let energies = format!("--energies={above}");
    gpp().args(single).arg(energies).arg("--npy").arg(path("one")).assert().success();
    let (_, one) = array("one.sx.npy");
    assert_eq!(one[at(2, 0)..at(3, 0)], sx[at(2, 0)..at(3, 0)]);
}

#[test]
fn memory_is_told_and_limited() {
    let demo = ["offdiag", "-s", "tiny", "-d", "cpu", "--bands", "4"];
    let said = contains("of the host's memory beside the problem");
    gpp().args(demo).assert().success().stderr(said);
    let short = contains("not enough host memory for tiny").and(contains("--host-memory allows"));
    gpp().args(demo).args(["--host-memory", "64KiB"]).assert().code(2).stderr(short);
}
