//! A host's own processes: each has a share of the columns and adds the sums of all, here threads with a sum in
//! place of MPI_Allreduce: `cargo run --release -p gpp-core --example ranks`.

mod common;

use std::thread;

use gpp_core::problem::Sums;
use gpp_core::{Bands, Calculator, Formula, MatrixRef, Screening};

const RANKS: usize = 3;

fn main() -> gpp_core::Result<()> {
    let (own, aqs) = (&common::Arrays::new(), &common::elements(3));
    let of_columns = |columns: std::ops::Range<usize>| -> gpp_core::Result<Sums> {
        let pairs = columns.start * common::NCOULS..columns.end * common::NCOULS;
        let screening = Screening {
            wtilde: MatrixRef::Host(&own.wtilde[pairs.clone()]),
            eps: MatrixRef::Host(&own.eps[pairs]),
            vcoul: &own.vcoul,
            inv_igp_index: &own.inv_igp_index[columns],
            indinv: &own.indinv,
        };
        let aqs = MatrixRef::Host(aqs);
        let bands = Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &own.e, occ: &own.occ };
        let calculator = Calculator::open("cpu")?;
        Ok(calculator.sums(&screening, &bands, &[-1.5, -1.0], Formula::default())?.sums)
    };
    let share = |rank: usize| rank * common::NGPOWN / RANKS..(rank + 1) * common::NGPOWN / RANKS;
    let of_ranks: Vec<Sums> = thread::scope(|scope| {
        let ranks: Vec<_> =
            (0..RANKS).map(|rank| scope.spawn(move || of_columns(share(rank)))).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no rank panics")).collect::<Result<_, _>>()
    })?;
    let all = of_ranks.iter().fold(Sums::zero(2), |all, sums| all.plus(sums));
    let whole = of_columns(0..common::NGPOWN)?;
    for (name, z) in all.named(1) {
        println!("{name} = {z:.12}");
    }
    for ((name, z), (_, alone)) in all.named(1).zip(whole.named(1)) {
        assert!((z - alone).norm() <= 1e-13 * alone.norm(), "{name}: {z} of ranks, {alone} alone");
    }
    Ok(())
}
