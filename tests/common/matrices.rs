//! A problem of ten parts in files, for programs that sum Σ as a matrix.

use std::fs::File;
use std::path::Path;

use gpp::problem::{Sums, file};
use npyz::WriterBuilder;
use num_complex::Complex64;

use super::{Kind, Make, QUIET, make};

/// Bands l and m.
pub const BANDS: usize = 9;

/// Parts.
pub const PARTS: usize = 10;

/// Files of a problem and its matrix elements, `problem.dat` and `A.npy` in a folder.
pub fn write(folder: &Path, seed: u64) {
    let (nbands, ngpown, ncouls) = (48 * PARTS - 7, 200, 601);
    let problem = make(Make { nbands, ngpown, ncouls, nw: 2, kind: Kind::Mixed, seed });
    let none = Sums { asx: vec![Complex64::ZERO; 2], ach: vec![Complex64::ZERO; 2] };
    file::write(&folder.join("problem.dat"), &problem, &none, QUIET).unwrap();
    let mut array = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&[BANDS, nbands, ncouls].map(|n| n as u64))
        .writer(File::create(folder.join("A.npy")).unwrap())
        .begin_nd()
        .unwrap();
    for at in 0..BANDS * nbands * ncouls {
        let at = (at + seed as usize) as f64;
        array.push(&Complex64::new((0.37 * at).sin(), (0.11 * at).cos())).unwrap();
    }
    array.finish().unwrap();
}

/// What sums them on a processor.
pub fn arguments(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let (input, elements) = (path("problem.dat"), path("A.npy"));
    ["offdiag", "-d", "cpu", "--no-verify", "-i", &input, "--elements", &elements]
        .map(String::from)
        .to_vec()
}

/// Parts that a checkpoint has; none where there is no file.
pub fn kept(path: &Path) -> Option<usize> {
    let bytes = std::fs::read(path).ok()?;
    let line = bytes.split(|&byte| byte == b'\n').next()?;
    let head: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some(head["parts"].as_u64()? as usize)
}

/// The arrays that a run wrote, byte by byte.
pub fn arrays(prefix: &Path) -> [Vec<u8>; 2] {
    ["sx", "ch"].map(|part| std::fs::read(format!("{}.{part}.npy", prefix.display())).unwrap())
}
