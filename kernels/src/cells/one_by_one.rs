//! Pairs whose moments do not tell their sum, by the definition.

use num_complex::Complex;

use super::place::BANDS;
use super::series::way;
use super::sums::add;
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::formula::{Pair, Term, TermFn};
use crate::intrinsics::WARP;
use crate::pairs::{Part, Pole};
use crate::real::Real;
use crate::sums::VALUES;

/// Adds, pair by pair, what moments do not give.
///
/// # Safety
/// As [`block`](super::block).
#[inline(always)]
pub unsafe fn one_by_one<R: Real, T: Team<R>>(
    a: &CellsArguments,
    team: &T,
    part: &Part,
    first: u32,
    term: impl TermFn<R> + Copy,
) {
    let limits = a.limits();
    let bands = BANDS.min(a.nbands - first.min(a.nbands));
    team.warps(|warp| {
        // The energies of a warp are those that its threads add to above.
        let mut word = warp;
        while word * WARP < a.nw {
            for n in first..first + bands {
                // SAFETY: in range.
                let occ = unsafe { a.occ(n) };
                let mut left = team.ballot(|lane| {
                    let iw = word * WARP + lane;
                    // SAFETY: a band and an energy in range.
                    iw < a.nw
                        && way(unsafe { a.wx::<R>(iw, n) }, part, occ != 0.0, &limits).is_none()
                });
                while left != 0 {
                    let iw = word * WARP + left.trailing_zeros();
                    left &= left - 1;
                    // SAFETY: as above, and pairs of the part.
                    let sums = team.sum(|lane| unsafe {
                        let w = a.wx::<R>(iw, n);
                        let mut sums = [R::zero(); VALUES];
                        let mut at = part.begin + lane;
                        while at < part.end {
                            let pole = Pole::read(a.poles, at);
                            let found = term(&pair(&pole), w, &limits);
                            add_term(a, &pole, n, occ, found, &mut sums);
                            at += WARP;
                        }
                        sums
                    });
                    team.first(|| add(team, iw, sums));
                }
            }
            word += BANDS / WARP;
        }
    });
}

/// The factors of a pair.
#[inline(always)]
fn pair<R: Real>(pole: &Pole) -> Pair<R> {
    let wtilde = Complex::new(R::of(pole.wtilde), R::zero());
    let (wtilde2, eps) = (wtilde * wtilde, R::complex(pole.eps));
    Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }
}

/// Adds the term of a pair.
///
/// # Safety
/// As [`block`](super::block), the pair and the band in range.
#[inline(always)]
unsafe fn add_term<R: Real>(
    a: &CellsArguments,
    pole: &Pole,
    n: u32,
    occ: f64,
    Term { ssx, sch }: Term<R>,
    sums: &mut [R; VALUES],
) {
    // SAFETY: in range.
    let (m, vcoul) =
        unsafe { (a.matngmatmgp::<R>(pole, n), R::of(*a.vcoul_loc.add(pole.igp as usize))) };
    let asx = ssx * (vcoul * R::of(occ)) * m;
    let ach = sch * (vcoul * R::of(0.5)) * m;
    let [asx_re, asx_im, ach_re, ach_im] = sums;
    (*asx_re, *asx_im) = (*asx_re - asx.re, *asx_im - asx.im);
    (*ach_re, *ach_im) = (*ach_re + ach.re, *ach_im + ach.im);
}
