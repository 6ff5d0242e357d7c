//! What a change of the sources' form may not change: the code of every kernel, and the bits of every sum.
//! `GPP_RECORD=1` writes the records in `tests/data/unchanged` anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use gpp::devices::gpu::{KERNELS_BY, own};
use twox_hash::XxHash64;

/// Problems that are summed: `--system` and `--input`.
const PROBLEMS: &str = "tiny tiny-complex demo gaas-complex.dat gaas-grid.dat gaas-imaginary.dat \
                        gaas-q0.dat gaas-skipped.dat silicon-offdiag.dat silicon-q0.dat silicon-spin.dat";

/// Compares a record with what is found; a line that is in one of them alone is named.
fn compare(record: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/unchanged").join(record);
    if std::env::var_os("GPP_RECORD").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let [a, b] = [&recorded[..], found].map(|text| text.lines().collect::<BTreeSet<_>>());
    let alone: Vec<_> = a.symmetric_difference(&b).collect();
    assert!(alone.is_empty(), "{record}: {alone:#?}");
}

fn gpp(problem: &str, arguments: &[&str]) -> String {
    let file = format!("data/fixtures/real/{problem}");
    let named = if problem.ends_with(".dat") { ["--input", &file] } else { ["--system", problem] };
    let mut command = assert_cmd::Command::cargo_bin("gpp").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).args(named);
    command.args(["--device", "cpu", "--simd", "avx2", "--no-verify", "--quiet", "--repeat", "1"]);
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn kernels_have_the_recorded_code() {
    let Some(compiler @ "rustc 1.95.0, LLVM 22.1.2") = KERNELS_BY else {
        println!("skipped: the record is of the PTX of rustc 1.95.0, not of {KERNELS_BY:?}");
        return;
    };
    let (ptx, mut found) = (own(), format!("{compiler}\n"));
    for symbol in ptx.symbols().collect::<BTreeSet<_>>() {
        writeln!(found, "{symbol} {}", ptx.hash(symbol).unwrap()).unwrap();
    }
    compare("ptx.txt", &found);
}

#[test]
fn sums_have_the_recorded_bits() {
    if !gpp_cpu::simd::Level::Avx2.is_available() {
        println!("skipped: the record is of vectors of AVX2");
        return;
    }
    let hash = |bytes: &[u8]| format!("{:016x}", XxHash64::oneshot(0, bytes));
    let mut found = String::new();
    for problem in PROBLEMS.split(' ') {
        let json = gpp(problem, &["--version", "all", "--warmup", "0", "--json", "-"]);
        let record: serde_json::Value = serde_json::from_str(&json).unwrap();
        // The last bits of cpu:single are others with AVX-512 than with AVX2.
        let results = record["results"].as_array().unwrap().iter();
        for result in results.filter(|result| result["version"] != "cpu:single") {
            let sums = format!("{} {}", result["asx"], result["ach"]);
            let version = result["version"].as_str().unwrap();
            writeln!(found, "{problem} {version} {}", hash(sums.as_bytes())).unwrap();
        }
    }
    for (problem, version) in ["tiny", "tiny-complex", "gaas-complex.dat"]
        .into_iter()
        .flat_map(|problem| ["v15", "cpu:alone"].map(|version| (problem, version)))
    {
        let csv = gpp(problem, &["sigma", "--version", version, "--derivative", "--csv", "-"]);
        writeln!(found, "{problem} {version} derivative {}", hash(csv.as_bytes())).unwrap();
    }
    for problem in ["tiny", "tiny-complex", "demo"] {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("S");
        gpp(problem, &["offdiag", "--bands", "8", "--npy", prefix.to_str().unwrap()]);
        for part in ["sx", "ch"] {
            let bytes = std::fs::read(prefix.with_extension(format!("{part}.npy"))).unwrap();
            writeln!(found, "{problem} offdiag {part} {}", hash(&bytes)).unwrap();
        }
    }
    compare("sums.txt", &found);
}
