//! Sums of made pairs against the definition.

use gpp_kernels::formula::{Pair, Term};
use gpp_kernels::pairs::PAIRS;
use gpp_kernels::versions::v3;

use crate::caller::NEVER;
use crate::cells::*;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

/// A slab of made pairs, its bands and energies.
struct Made {
    poles: Vec<Pole>,
    parts: Vec<Part>,
    aqsn: Vec<Vec<Complex64>>,
    aqsm: Vec<Vec<Complex64>>,
    vcoul_loc: Vec<f64>,
    wx: Vec<f64>,
    occ: Vec<f64>,
}

/// Numbers from 0 to 1, always the same.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn made(nbands: usize, ngpown: usize, ncouls: usize, nw: usize) -> Made {
    let mut next = numbers();
    let mut column = |rows| -> Vec<Complex64> {
        (0..rows).map(|_| Complex64::new(next() - 0.5, next() - 0.5)).collect()
    };
    let aqsn = (0..nbands).map(|_| column(ncouls)).collect();
    let aqsm = (0..nbands).map(|_| column(ngpown)).collect();
    let eps = column(ngpown * ncouls);
    let mut poles: Vec<Pole> = (0..ngpown * ncouls)
        .map(|at| Pole {
            wtilde: 0.02 + 50.0 * next() * next(),
            ig: (at % ncouls) as u32,
            igp: (at / ncouls) as u32,
            eps: eps[at],
        })
        .collect();
    poles.sort_by(|a, b| a.wtilde.total_cmp(&b.wtilde));
    let (mut parts, mut low, mut begin) = (Vec::new(), 0.01, 0);
    while begin < poles.len() {
        let high = low + f64::min(0.006, low / 32.0);
        let count = poles[begin..].partition_point(|pole| pole.wtilde < high);
        for from in (0..count).step_by(PAIRS as usize) {
            let end = begin + count.min(from + PAIRS as usize);
            parts.push(Part { low, high, begin: (begin + from) as u32, end: end as u32 });
        }
        (low, begin) = (high, begin + count);
    }
    let ekq: Vec<f64> = (0..nbands).map(|_| -15.0 + 40.0 * next()).collect();
    let at = |iw: usize| -20.0 + 40.0 * (iw as f64 + 0.3) / nw as f64;
    let mut omega: Vec<f64> = (0..nw).map(at).collect();
    // One at a band's pole, one at what is cut off.
    let middle = poles.len() / 2;
    for (iw, side) in [(1, 1.0), (2, -1.0)] {
        if let Some(omega) = omega.get_mut(iw) {
            *omega = ekq[0] + side * poles[middle + iw].wtilde;
            // As rounding has it.
            poles[middle + iw].wtilde = side * (*omega - ekq[0]);
        }
    }
    Made {
        poles,
        parts,
        aqsn,
        aqsm,
        vcoul_loc: (0..ngpown).map(|_| 1.0 + next()).collect(),
        wx: ekq.iter().flat_map(|e| omega.iter().map(move |omega| omega - e)).collect(),
        occ: (0..nbands).map(|n| [1.0, 0.0, 1.0, 0.5][n % 4]).collect(),
    }
}

impl Made {
    fn sum(&self, level: Level, threads: usize) -> Vec<f64> {
        let [columns_n, columns_m] = [&self.aqsn, &self.aqsm]
            .map(|columns| columns.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let task = Task {
            pairs: Pairs::Real(&self.poles, &self.parts),
            aqsn: &Chunks::of(&columns_n, self.aqsn[0].len()),
            aqsm: &Chunks::of(&columns_m, self.aqsm[0].len()),
            vcoul_loc: &self.vcoul_loc,
            wx: &self.wx,
            occ: &self.occ,
            limits: LIMITS,
            stop: &NEVER,
        };
        sum(&task, level, &Pool::new(threads).unwrap(), &|_| ())
    }

    /// The sums by the definition, and the sum of the terms' absolute values.
    fn by_definition(&self, iw: usize) -> ([f64; VALUES], [f64; 2]) {
        let mut sums = [Compensated::default(); VALUES];
        let mut all = [0.0; 2];
        for (n, &occ) in self.occ.iter().enumerate() {
            let w = self.wx[n * (self.wx.len() / self.occ.len()) + iw];
            for &pole in &self.poles {
                let Pole { wtilde, ig, igp, eps } = pole;
                let wtilde = Complex64::new(wtilde, 0.0);
                let wtilde2 = wtilde * wtilde;
                let pair = Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps };
                let Term { ssx, sch } = v3::term(&pair, w, &LIMITS);
                let m = self.aqsm[n][igp as usize].conj() * self.aqsn[n][ig as usize];
                let m = m * self.vcoul_loc[igp as usize];
                let (asx, ach) = (-m * ssx * occ, m * sch * 0.5);
                let terms = [asx.re, asx.im, ach.re, ach.im];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| sum.add(term));
                all = [all[0] + asx.norm(), all[1] + ach.norm()];
            }
        }
        (sums.map(Compensated::value), all)
    }
}

#[test]
fn sums_are_those_of_the_definition_at_every_energy() {
    for (nbands, ngpown, ncouls, nw) in [(1, 1, 1, 1), (33, 7, 90, 3), (70, 11, 64, 21)] {
        let made = made(nbands, ngpown, ncouls, nw);
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            let sums = made.sum(level, 2);
            assert_eq!(sums, made.sum(level, 1), "{level}: bits by threads");
            for (iw, found) in sums.chunks_exact(VALUES).enumerate() {
                let (expected, all) = made.by_definition(iw);
                for (value, (found, expected)) in found.iter().zip(expected).enumerate() {
                    let error = (found - expected).abs() / all[value / 2];
                    assert!(
                        error <= 1e-13 || all[value / 2] == 0.0 && *found == 0.0,
                        "{level} {iw} {value}: {error:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_part_without_bounds_is_summed_by_the_definition() {
    let mut made = made(5, 3, 40, 4);
    let whole = Part { low: f64::NAN, high: f64::NAN, begin: 0, end: made.poles.len() as u32 };
    let by_cells = made.sum(Level::best(), 1);
    made.parts = vec![whole];
    for (iw, found) in made.sum(Level::best(), 1).chunks_exact(VALUES).enumerate() {
        let (expected, all) = made.by_definition(iw);
        for value in 0..VALUES {
            assert!((found[value] - expected[value]).abs() <= 1e-14 * all[value / 2]);
            let other = by_cells[iw * VALUES + value];
            assert!((found[value] - other).abs() <= 1e-13 * all[value / 2]);
        }
    }
}
