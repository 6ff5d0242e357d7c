//! Pairs of a part one by one, by the definition: see [`gpp_kernels::formula`].

use gpp_kernels::pairs::Pole;
use gpp_kernels::sums::VALUES;
use num_complex::Complex64;

use super::Task;
use crate::compensated::Compensated;
use crate::definition::{Band, Definition, ROW, Row};
use crate::lanes::Lanes;

/// The pairs of a part with a band: what all energies have in common.
#[derive(Default)]
struct Pairs {
    wtilde: Vec<Complex64>,
    eps: Vec<Complex64>,
    /// `M`, with the Coulomb interaction of each pair's `igp`.
    m: Vec<Complex64>,
}

impl Pairs {
    /// Of some pairs and band `n`: one by one, since they stand anywhere.
    #[inline(never)]
    fn fill<W: Copy + Into<Complex64>>(&mut self, task: &Task, poles: &[Pole<W>], n: usize) {
        let m = |pole: &Pole<W>| {
            let (ig, igp) = (pole.ig as usize, pole.igp as usize);
            task.aqsm.at(n, igp).conj() * task.aqsn.at(n, ig) * task.vcoul_loc[igp]
        };
        for values in [&mut self.wtilde, &mut self.eps, &mut self.m] {
            values.clear();
        }
        self.wtilde.extend(poles.iter().map(|pole| pole.wtilde.into()));
        self.eps.extend(poles.iter().map(|pole| pole.eps));
        self.m.extend(poles.iter().map(m));
    }
}

/// Adds the terms of some pairs at these bands and energies, which are sorted meanwhile.
#[inline(always)]
pub fn add<L: Lanes, W: Copy + Into<Complex64>>(
    token: L::Token,
    task: &Task,
    poles: &[Pole<W>],
    left: &mut [(usize, usize)],
    sums: &mut [Compensated],
) {
    let definition = Definition::<L, false>::new(token, task.limits);
    left.sort_unstable();
    let (mut pairs, mut of_band) = (Pairs::default(), None);
    for &(n, iw) in &*left {
        if of_band != Some(n) {
            pairs.fill(task, poles, n);
            of_band = Some(n);
        }
        // The rest of `M` stands with the pairs.
        let (aqsm, vcoul) = (Complex64::ONE, 1.0);
        let band = Band { aqsm, w: task.wx[n * task.nw() + iw], vcoul, occ: task.occ[n] };
        let sums = &mut sums[iw * VALUES..(iw + 1) * VALUES];
        let mut begin = 0;
        while begin < poles.len() {
            let row = begin..poles.len().min(begin + ROW);
            let (wtilde, eps) = (&pairs.wtilde[row.clone()], &pairs.eps[row.clone()]);
            definition.row(Row { wtilde, eps, aqsn: &pairs.m[row] }, band, sums);
            begin += ROW;
        }
    }
}
