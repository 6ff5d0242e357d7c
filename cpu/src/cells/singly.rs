//! Pairs of a part one by one, by the definition for real poles: see [`gpp_kernels::formula`].

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::TOL_ZERO;
use gpp_kernels::sums::VALUES;

use super::{Part, Pole, Task};
use crate::compensated::{CHAIN, Compensated};
use crate::lanes::{ComplexLanes, Lanes, WIDTH, tree};

/// Pairs that are summed in a row.
const ROW: usize = CHAIN * WIDTH;

/// The pairs of a part with a band: what all energies have in common, padded to whole vectors by pairs of no
/// weight.
#[derive(Default)]
struct Row {
    wtilde: Vec<f64>,
    /// `δ − ε⁻¹`, real and imaginary parts.
    eps: [Vec<f64>; 2],
    /// `vcoul·M`.
    m: [Vec<f64>; 2],
}

impl Row {
    /// Of some pairs and band `n`: one by one, since they stand anywhere.
    #[inline(never)]
    fn fill(&mut self, task: &Task, poles: &[Pole], n: usize) {
        let Row { wtilde, eps: [eps_re, eps_im], m: [m_re, m_im] } = self;
        let all = [wtilde, eps_re, eps_im, m_re, m_im];
        let length = poles.len().next_multiple_of(WIDTH);
        for (values, padding) in all.into_iter().zip([1.0, 0.0, 0.0, 0.0, 0.0]) {
            values.clear();
            values.resize(length, padding);
        }
        for (at, pole) in poles.iter().enumerate() {
            let (ig, igp) = (pole.ig as usize, pole.igp as usize);
            let m = task.aqsm.at(n, igp).conj() * task.aqsn.at(n, ig) * task.vcoul_loc[igp];
            self.wtilde[at] = pole.wtilde;
            (self.eps[0][at], self.eps[1][at]) = (pole.eps.re, pole.eps.im);
            (self.m[0][at], self.m[1][at]) = (m.re, m.im);
        }
    }

    /// Adds its terms at `w` to the sums of the energy. Quotients are made and compared as
    /// [`definition`](crate::definition) does, imaginary parts of poles left out: to the bits, since a limit
    /// may be met exactly.
    #[inline(always)]
    fn add<L: Lanes>(
        &self,
        token: L::Token,
        limits: Limits,
        (w, occ): (f64, f64),
        sums: &mut [Compensated],
    ) {
        let [limittwo, limitone] =
            [L::splat(token, limits.limittwo), L::splat(token, limits.limitone)];
        let tolerance = L::splat(token, TOL_ZERO);
        let sexcut = L::splat(token, limits.sexcut);
        let sexcut2 = sexcut.mul(sexcut);
        let [zero, one, minus_two] =
            [L::splat(token, 0.0), L::splat(token, 1.0), L::splat(token, -2.0)];
        let (w, sx, ch) = (L::splat(token, w), L::splat(token, -occ), L::splat(token, 0.5));
        let mut begin = 0;
        while begin < self.wtilde.len() {
            let end = self.wtilde.len().min(begin + ROW);
            let mut lanes = [[0.0; WIDTH]; VALUES];
            let mut lane = 0;
            while lane < WIDTH {
                let mut own = [zero; VALUES];
                let mut at = begin + lane;
                while at < end {
                    let wtilde = L::load(token, &self.wtilde[at..]);
                    let eps = complex::<L>(token, &self.eps, at);
                    let m = complex::<L>(token, &self.m, at);
                    let (d, s) = (w.sub(wtilde), w.add(wtilde));
                    let d2 = d.mul(d);
                    let delw = wtilde.mul(d).mul(one.div(d2));
                    let delwr = delw.mul(delw);
                    let first = L::and(limittwo.lt(d2), delwr.lt(limitone));
                    let some = L::or(first, tolerance.lt(delwr));
                    // w² − ω̃² or −2ω̃(w + ω̃).
                    let z = L::select(first, d.mul(s), wtilde.mul(s).mul(minus_two));
                    let omega2 = eps.scale(wtilde.mul(wtilde));
                    let ssx = omega2.scale(z).scale(one.div(z.mul(z)));
                    let bound = sexcut2.mul(eps.norm_sqr());
                    let kept = L::or(zero.le(w), ssx.norm_sqr().le(bound));
                    let ssx = ssx.keep(token, L::and(some, kept));
                    let sch = eps.scale(delw).keep(token, first);
                    let asx = m.mul(ssx).scale(sx);
                    let ach = m.mul(sch).scale(ch);
                    own[0] = own[0].add(asx.re);
                    own[1] = own[1].add(asx.im);
                    own[2] = own[2].add(ach.re);
                    own[3] = own[3].add(ach.im);
                    at += WIDTH;
                }
                for (own, lanes) in own.into_iter().zip(&mut lanes) {
                    own.add_to(&mut lanes[lane..]);
                }
                lane += L::COUNT;
            }
            for (sum, lanes) in sums.iter_mut().zip(&lanes) {
                sum.add(tree(lanes));
            }
            begin += ROW;
        }
    }
}

/// Numbers from `at` on.
#[inline(always)]
fn complex<L: Lanes>(token: L::Token, [re, im]: &[Vec<f64>; 2], at: usize) -> ComplexLanes<L> {
    ComplexLanes::new(L::load(token, &re[at..]), L::load(token, &im[at..]))
}

/// Adds the terms of a part at these bands and energies, which are sorted meanwhile.
#[inline(always)]
pub fn add<L: Lanes>(
    token: L::Token,
    task: &Task,
    part: &Part,
    left: &mut [(usize, usize)],
    sums: &mut [Compensated],
) {
    let poles = &task.poles[part.begin..part.end];
    left.sort_unstable();
    let (mut row, mut of_band) = (Row::default(), None);
    for &(n, iw) in &*left {
        if of_band != Some(n) {
            row.fill(task, poles, n);
            of_band = Some(n);
        }
        let w = task.wx[n * task.nw() + iw];
        let sums = &mut sums[iw * VALUES..(iw + 1) * VALUES];
        row.add::<L>(token, task.limits, (w, task.occ[n]), sums);
    }
}
