//! Sums of small arrays: `cargo run --release -p gpp-core --example arrays`.

mod common;

use gpp_core::{Bands, Calculator, Formula, MatrixRef, Screening};

fn main() -> gpp_core::Result<()> {
    let (own, aqs) = (common::RankArrays::new(), common::elements(3));
    let screening = Screening {
        wtilde: MatrixRef::Host(&own.wtilde),
        eps: MatrixRef::Host(&own.eps),
        vcoul: &own.vcoul,
        inv_igp_index: &own.inv_igp_index,
        indinv: &own.indinv,
    };
    let aqs = MatrixRef::Host(&aqs);
    let bands = Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &own.e, occ: &own.occ };
    let omega = [-2.0, -1.5, -1.0];
    let found = Calculator::open("auto")?.sums(&screening, &bands, &omega, Formula::default())?;
    for (w, (asx, ach)) in omega.iter().zip(found.sums.asx.iter().zip(&found.sums.ach)) {
        println!("{w:5.1} eV: SX - X {asx:+.6}, CH {ach:+.6} by {}", found.version);
    }
    Ok(())
}
