//! Many states against one screening, Σ_ll at each state's own energy:
//! `cargo run --release -p gpp-core --example states`.

mod common;

use gpp_core::{Bands, Calculator, Formula, MatrixRef, Screening};

fn main() -> gpp_core::Result<()> {
    let arrays = common::RankArrays::new();
    let screening = Screening {
        wtilde: MatrixRef::Host(&arrays.wtilde),
        eps: MatrixRef::Host(&arrays.eps),
        vcoul: &arrays.vcoul,
        inv_igp_index: &arrays.inv_igp_index,
        indinv: &arrays.indinv,
    };
    let calculator = Calculator::open("auto")?;
    // Modes and eps are looked at once, and stay on a GPU.
    let mut placed = calculator.place(&screening)?;
    for (state, &e) in arrays.e.iter().enumerate() {
        let aqs = common::elements(state);
        let aqs = MatrixRef::Host(&aqs);
        let bands =
            Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &arrays.e, occ: &arrays.occ };
        // A derivative of Σ at the state's energy takes a step to each side.
        let omega = [e - 0.5, e, e + 0.5];
        let found = calculator.sums_at(&mut placed, &bands, &omega, Formula::default())?;
        let sigma: Vec<f64> =
            found.sums.asx.iter().zip(&found.sums.ach).map(|(asx, ach)| (asx + ach).re).collect();
        let z = 1.0 / (1.0 - (sigma[2] - sigma[0]));
        println!("state {state}: {e:5.1} eV, SX + CH {:+.5}, Z {z:.3}", sigma[1]);
    }
    Ok(())
}
