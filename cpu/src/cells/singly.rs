//! Pairs of a part one by one: by the definition ([`gpp_kernels::formula`]), or by `q` and `p` alone where the
//! first branch holds for all of them and nothing is cut off. That takes a third of the time, and both are right
//! but for some thirty roundings of a term, since nothing cancels:
//!
//! ```text
//! ach += c·M·q     asx −= occ·c·M·(q − p) = 2·occ·(c·M·q)·(ω̃·p)
//! ```

use gpp_kernels::formula::VALUES;
use gpp_kernels::sigma::Pole;
use num_complex::Complex64;

use crate::cells::Task;
use crate::definition::{Band, Definition, ROW, Row};
use crate::lanes::{ComplexLanes, Lanes, WIDTH, tree};
use crate::work::Compensated;

/// A band and an energy whose pairs are summed one by one.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    n: u32,
    iw: u32,
    /// Whether the first branch holds for all, and nothing is cut off.
    is_first: bool,
}

impl Left {
    /// Band `n` at energy `iw`; `is_first` where that is known.
    pub fn new(n: usize, iw: usize, is_first: bool) -> Left {
        Left { n: n as u32, iw: iw as u32, is_first }
    }
}

/// The pairs of a part with a band: what all energies have in common.
#[derive(Default)]
struct Pairs {
    wtilde: Vec<Complex64>,
    eps: Vec<Complex64>,
    /// `M`, with the Coulomb interaction of each pair's `igp`.
    m: Vec<Complex64>,
    /// `c·M`, where it was asked for: filled up to whole vectors, as `ω̃` is.
    weight: Vec<Complex64>,
}

impl Pairs {
    /// Of some pairs and band `n`: one by one, since they stand anywhere.
    #[inline(never)]
    fn fill<W: Copy + Into<Complex64>>(&mut self, task: &Task, poles: &[Pole<W>], n: usize) {
        let m = |pole: &Pole<W>| {
            let (ig, igp) = (pole.ig as usize, pole.igp as usize);
            task.aqsm.at(n, igp).conj() * task.aqsn.at(n, ig) * task.vcoul_loc[igp]
        };
        for values in [&mut self.wtilde, &mut self.eps, &mut self.m, &mut self.weight] {
            values.clear();
        }
        self.wtilde.extend(poles.iter().map(|pole| pole.wtilde.into()));
        self.eps.extend(poles.iter().map(|pole| pole.eps));
        self.m.extend(poles.iter().map(m));
    }

    /// Makes weights where there are none. The last pair, without one, fills up the vectors.
    #[inline(never)]
    fn weigh(&mut self) {
        let (Some(&last), true) = (self.wtilde.last(), self.weight.is_empty()) else { return };
        let pairs = self.m.iter().zip(&self.wtilde).zip(&self.eps);
        self.weight.extend(pairs.map(|((m, wtilde), eps)| m * (wtilde * eps * 0.5)));
        let count = self.m.len().next_multiple_of(WIDTH);
        self.wtilde.resize(count, last);
        self.weight.resize(count, Complex64::ZERO);
    }

    /// Adds the terms of some pairs where the first branch holds for all, and nothing is cut off.
    #[inline(always)]
    fn add_first<L: Lanes>(
        &self,
        token: L::Token,
        row: std::ops::Range<usize>,
        [w, occ]: [f64; 2],
        sums: &mut [Compensated],
    ) {
        let (w, one) = (L::splat(token, w), L::splat(token, 1.0));
        let mut lanes = [[0.0; WIDTH]; VALUES];
        let mut lane = 0;
        while lane < WIDTH {
            let (mut asx, mut ach) =
                (ComplexLanes::<L>::zero(token), ComplexLanes::<L>::zero(token));
            let mut at = row.start + lane;
            while at < row.end {
                let wtilde = load::<L>(token, &self.wtilde[at..]);
                let (d, s) = (w.sub(wtilde.re), w.add(wtilde.re));
                let im2 = wtilde.im.mul(wtilde.im);
                let q = ComplexLanes::new(d, wtilde.im).scale(one.div(d.mul_add(d, im2)));
                let of_q = load::<L>(token, &self.weight[at..]).mul(q);
                ach = ach.add(of_q);
                if occ != 0.0 {
                    let p = ComplexLanes::new(s, wtilde.im.neg()).scale(one.div(s.mul_add(s, im2)));
                    asx = asx.add_product(of_q, wtilde.mul(p));
                }
                at += WIDTH;
            }
            let asx = asx.scale(L::splat(token, -2.0 * occ));
            for (of, lanes) in [asx.re, asx.im, ach.re, ach.im].into_iter().zip(&mut lanes) {
                of.add_to(&mut lanes[lane..]);
            }
            lane += L::COUNT;
        }
        for (sum, lanes) in sums.iter_mut().zip(lanes) {
            sum.add(tree(&lanes));
        }
    }
}

#[inline(always)]
fn load<L: Lanes>(token: L::Token, from: &[Complex64]) -> ComplexLanes<L> {
    let (re, im) = L::load_complex(token, from);
    ComplexLanes::new(re, im)
}

/// Adds the terms of some pairs at these energies, band by band.
#[inline(always)]
pub fn add<L: Lanes, W: Copy + Into<Complex64>>(
    token: L::Token,
    task: &Task,
    poles: &[Pole<W>],
    left: &[Left],
    sums: &mut [Compensated],
) {
    let definition = Definition::<L, false>::new(token, task.limits);
    let (mut pairs, mut of_band) = (Pairs::default(), None);
    for &Left { n, iw, is_first } in left {
        if task.stop.is_asked() {
            return;
        }
        let (n, iw) = (n as usize, iw as usize);
        if of_band != Some(n) {
            pairs.fill(task, poles, n);
            of_band = Some(n);
        }
        if is_first {
            pairs.weigh();
        }
        // The rest of `M` stands with the pairs.
        let (aqsm, vcoul) = (Complex64::ONE, 1.0);
        let band = Band { aqsm, w: task.wx[n * task.nw() + iw], vcoul, occ: task.occ[n] };
        let sums = &mut sums[iw * VALUES..(iw + 1) * VALUES];
        let mut begin = 0;
        while begin < pairs.m.len() {
            let row = begin..pairs.m.len().min(begin + ROW);
            begin = row.end;
            if is_first {
                pairs.add_first::<L>(token, row, [band.w, band.occ], sums);
                continue;
            }
            let (wtilde, eps) = (&pairs.wtilde[row.clone()], &pairs.eps[row.clone()]);
            definition.row(Row { wtilde, eps, aqsn: &pairs.m[row] }, band, sums);
        }
    }
}

#[cfg(test)]
mod tests;
