//! Families of problems that are hard to sum: each draws its poles and energies at and around the edges
//! of the formula and of the plan. A seed makes the same problems everywhere.

use gpp::problem::{Header, Origin, Problem};
use num_complex::Complex64;
use rand_chacha::rand_core::Rng;

use super::{Matrices, Random, changed, header};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Poles on the edges of the plan, a few digits to either side.
    Edges,
    /// Energies on a pole, and behind it on its negative.
    OnPoles,
    Branches,
    Cutoff,
    /// Pairs without weight that hold anything, and parts that are next to nothing.
    Nothing,
    Equal,
    Cancelling,
    /// Energies from 1e-12 to 1e150 and poles up to 1e75.
    Ranges,
    Spacings,
    Mixed,
}

pub const FAMILIES: [Family; 10] = {
    use Family::*;
    [Edges, OnPoles, Branches, Cutoff, Nothing, Equal, Cancelling, Ranges, Spacings, Mixed]
};

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// `x`, or some units of the last digit or parts of it beside.
    fn beside(&mut self, x: f64) -> f64 {
        match self.below(6) {
            0 | 1 => x,
            2 => x.next_up(),
            3 => x.next_down(),
            4 => x * (1.0 + self.between(-8.0, 8.0) * f64::EPSILON),
            _ => x * (1.0 + self.between(-1.0, 1.0) * 2f64.powi(-(self.below(40) as i32) - 10)),
        }
    }
}

pub fn family(family: Family, seed: u64) -> Problem {
    let mut random = Random::of(seed << 8 | family as u64);
    loop {
        if let Some(problem) = drawn(family, seed, &mut random) {
            return problem;
        }
    }
}

fn drawn(family: Family, seed: u64, r: &mut Random) -> Option<Problem> {
    let (real, nw) = (r.below(2) == 0, r.pick(&[1, 2, 2, 3]));
    let (nbands, ngpown, ncouls) = match family {
        Family::Equal => (r.pick(&[200, 1000, 3000]), 1 + r.below(2), 1 + r.below(3)),
        _ => (
            r.pick(&[1, 2, 3, 7, 17, 40]),
            r.pick(&[1, 2, 3, 9, 17]),
            r.pick(&[1, 2, 5, 31, 33, 70]),
        ),
    };
    let gamma = r.pick(&[0.5, 0.5, 0.5, 0.0, 1e-10, 0.1, 30.0]);
    let sexcut = match family {
        Family::Cutoff => r.pick(&[4.0, 4.0, 1.0, 1.5, 100.0, 1e9]),
        _ => r.pick(&[4.0, 4.0, 4.0, 0.0, 1e-3, 1e30, 1e165]),
    };
    let sig_dw = r.pick(&[1.0, 1.0, 0.5, 0.0, 1e-13, 1e-3, 0.1, -0.7, 7.3, 1e5, 2e16]);
    // Energies are those of the bands with the opposite sign, to the last bit.
    let (e_lk, iw) = (0.0, if nw == 1 { 2 } else { 4 - nw });
    let top = match family {
        Family::Ranges => r.pick(&[1e-9, 1e3, 1e20, 1e76, 1e100, 1e150]),
        _ => r.pick(&[13.0, 13.0, 1.0, 300.0]),
    };
    let mut wfnkq_ekq: Vec<f64> = (0..nbands)
        .map(|_| match r.below(12) {
            0 => 0.0,
            1 => 1e-12 * r.between(-2.0, 2.0),
            2 => -top,
            _ => r.between(-top, 0.7 * top),
        })
        .collect();
    if family == Family::Equal {
        let same = wfnkq_ekq[0];
        wfnkq_ekq.fill(same);
    }
    if family == Family::Cancelling {
        for pair in wfnkq_ekq.chunks_exact_mut(2) {
            pair[1] = r.beside(pair[0]);
        }
    }
    // Any band may be the last occupied one; some are half occupied.
    let nvband = if r.below(4) == 0 { nbands } else { r.below(nbands + 1) };
    let efermi = if r.below(3) == 0 { wfnkq_ekq[r.below(nbands)] } else { 1e9 };
    let header = Header {
        wfnkq_ekq,
        nstart: iw,
        nend: iw + nw - 1,
        sig_dw,
        sig_gamma: gamma,
        e_lk,
        indinv: (0..ncouls.max(ngpown)).map(|row| (row % (ncouls + 1)) as i32).collect(),
        nvband: nvband as i32,
        efermi,
        vcoul: (0..ncouls).map(|_| r.between(0.1, 2.0)).collect(),
        sexcut,
        ..header(nbands, ngpown, ncouls)
    };
    let wx = header.wx();
    let largest = wx.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
    let half = if nw > 1 { 0.5 * (wx[1] - wx[0]).abs() } else { 0.0 };

    let mut eps: Vec<Complex64> = (0..ncouls * ngpown).map(|_| r.complex()).collect();
    let mut wtilde: Vec<Complex64> = Vec::with_capacity(eps.len());
    for eps in &mut eps {
        let family = if family == Family::Mixed { FAMILIES[r.below(9)] } else { family };
        let w = wx[r.below(wx.len())];
        let im = if real { 0.0 } else { r.pick(&[0.0, 0.3, -0.01, 1e-9, 2.0]) };
        let plain = Complex64::new(r.between(0.05, 20.0), im);
        wtilde.push(match family {
            _ if r.below(4) == 0 => plain,
            Family::Edges => {
                let of_energies = [largest / 512.0, largest / 32.0, half / 16.0, half];
                let others = [2e-6 * gamma, 1e-6 * gamma, 1e-30, 1e30, 1e12];
                let edge = r.pick(&[&of_energies[..], &others].concat());
                let size = r.beside(edge);
                if real { Complex64::new(size, 0.0) } else { size * Complex64::new(0.6, 0.8) }
            }
            Family::OnPoles => {
                let side = if r.below(2) == 0 { w } else { -w };
                let thin = r.pick(&[0.0, 0.0, 1e-155, 1e-300, 5e-324, 1e-30, 1e-17]);
                Complex64::new(r.beside(side), if real { 0.0 } else { thin })
            }
            Family::Branches => {
                let distance = r.pick(&[gamma, w.abs() / 500.0, w.abs() / 499.0]);
                let leg = (distance * distance - im * im).max(0.0).sqrt();
                let side = if r.below(2) == 0 { leg } else { -leg };
                Complex64::new(w + r.beside(side), im)
            }
            Family::Cutoff => {
                let (a, b) = (1.0 + 1.0 / sexcut, (1.0 - 1.0 / sexcut).max(0.0));
                let (c, d) = (1.0 + 0.5 / sexcut, 1.0 - 0.5 / sexcut);
                let ratio = r.pick(&[a.sqrt(), b.sqrt(), c, d, 1.0]);
                Complex64::new(r.beside(w.abs() / ratio.max(0.1)), im)
            }
            Family::Nothing => {
                *eps *= r.pick(&[0.0, 0.0, 1.0, 1e-100, 1e-160, 1e-310, 1e40]);
                let next = [0.0, -0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-7];
                match r.below(3) {
                    0 => Complex64::new(r.pick(&next), r.pick(&next)),
                    1 => Complex64::new(r.pick(&next), r.between(-3.0, 3.0)),
                    _ => Complex64::new(r.between(-3.0, 3.0), r.pick(&next)),
                }
            }
            Family::Equal => Complex64::new(
                r.pick(&[0.02, 0.1, 0.5, 3.0, 12.0]) * r.between(0.9, 1.1),
                if real { 0.0 } else { 0.01 },
            ),
            Family::Ranges => {
                let size = r.pick(&[1e-150, 1e-20, 1.0, 1e10, 1e60, 1e74]) * r.between(0.5, 2.0);
                let size = if largest > 1e75 { size.min(1e3) } else { size };
                let is_near = r.below(2) == 0;
                let pole =
                    if is_near { Complex64::new(r.beside(w.abs()), im) } else { size.into() };
                if pole.norm() <= size { pole } else { size.into() }
            }
            Family::Cancelling | Family::Spacings | Family::Mixed => plain,
        });
    }
    let mut aqsn: Vec<Complex64> = (0..ncouls * nbands).map(|_| r.complex()).collect();
    let mut aqsm_local: Vec<Complex64> = (0..ngpown * nbands).map(|_| r.complex()).collect();
    if family == Family::Equal || family == Family::Cancelling {
        let sign = if family == Family::Equal { 1.0 } else { -1.0 };
        for n in (1..nbands).filter(|n| family == Family::Equal || n % 2 == 1) {
            for ig in 0..ncouls {
                aqsn[n * ncouls + ig] = aqsn[(n - 1) * ncouls + ig] * sign;
            }
            for igp in 0..ngpown {
                aqsm_local[n * ngpown + igp] = aqsm_local[(n - 1) * ngpown + igp];
            }
        }
    }
    let matrices = Matrices { wtilde, eps, aqsn, aqsm_local };
    let name = format!(
        "{family:?} {seed}: {nbands} × {ngpown} × {ncouls} × {nw}, gamma {gamma}, sexcut {sexcut}, dw {sig_dw}, top {top}, {}",
        if real { "real" } else { "any" }
    );
    let problem = matrices.problem(&name, Origin::Made, header).ok()?;
    if family != Family::Spacings {
        return Some(problem);
    }
    let spaced = changed(problem, |_, wx, _| {
        for band in wx.chunks_mut(nw) {
            let last = band.len() - 1;
            band[last] += match r.below(4) {
                0 => 0.0,
                1 => 2f64.powi(-(r.below(50) as i32)),
                2 => r.between(-3.0, 3.0),
                _ => band[last] * 16.0 * f64::EPSILON,
            };
        }
    });
    spaced.ok()
}
