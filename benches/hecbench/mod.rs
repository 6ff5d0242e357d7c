//! The problem of HeCBench's gpp (src/gpp-cuda of <https://github.com/zjin-lcf/HeCBench>).

use gpp::error::Result;
use gpp::problem::{CheckedBands, Header, Origin, Problem, Slab, Sums, System, synthesis};
use num_complex::Complex64;

/// The problem with so many G, and its sums: terms differ by vcoul alone.
pub fn problem(ncouls: usize) -> Result<(Problem, Sums)> {
    let (nbands, nvband, ngpown, z) = (512, 2, ncouls / 20, Complex64::new(0.025, 0.025));
    let system =
        System { nbands, nvband, ngpown, ncouls, masked: 0.0, ..System::find("tiny")?.clone() };
    let row = |igp: usize| ((igp + 1) * ncouls / ngpown).min(ncouls - 1) as i32 + 1;
    let header = Header {
        wfnkq_ekq: vec![6.0; nbands],
        nstart: 1,
        nend: 3,
        e_lk: 10.0,
        inv_igp_index: (0..ngpown).map(row).collect(),
        efermi: 6.5,
        vcoul: (0..ncouls).map(|ig| 0.025 * ig as f64).collect(),
        ..synthesis::header(&system, 0)
    };
    let of_band = header.vcoul_loc(0..ngpown).iter().sum::<f64>() * ncouls as f64 * z.norm_sqr();
    let w = header.wx().into_iter().take(3);
    let sx = |w: f64| z.powi(3) / (w * w - z * z) * of_band * -(nvband as f64);
    let ch = |w: f64| z * z / (w - z) * of_band * (0.5 * nbands as f64);
    let (asx, ach) = w.map(|w| (sx(w), ch(w))).unzip();
    let [pairs, aqsn, aqsm_local] =
        [ncouls * ngpown, ncouls * nbands, ngpown * nbands].map(|count| vec![z; count]);
    let bands = CheckedBands::new(header, aqsn)?;
    let slab = Slab::new(&bands, 0..ngpown, pairs.clone(), pairs, aqsm_local)?;
    Ok((Problem::from_slab("hecbench", Origin::Made, bands.into(), slab)?, Sums { asx, ach }))
}
