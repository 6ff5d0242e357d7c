//! The near field: pairs one at a time, by the definition.

use num_complex::Complex64;

use crate::formula::{Pair, Term, TermFn, VALUES};
use crate::intrinsics::WARP;
use crate::sigma::{Cluster, ClusterArguments, Pole, Target, Team, add};

/// Adds the near field of a cluster to the targets of a warp, those from `targets` on.
#[inline(always)]
pub unsafe fn add_near_field<C: Cluster, T: Team>(
    a: &ClusterArguments,
    team: &T,
    cluster: &C,
    first: u32,
    targets: u32,
    term: impl TermFn + Copy,
) {
    let (limits, bands) = (a.limits(), a.bands(first));
    let far_field = cluster.far_fields(limits);
    // A target has as many bands as any other, or one fewer.
    let mut from = 0;
    while from < bands {
        let band = |lane: u32| {
            let Target { iw, begin, .. } = Target::of(targets + lane, a);
            (iw, from + begin)
        };
        let mut near = team.ballot(|lane| {
            let (iw, b) = band(lane);
            iw < a.nw && b < bands && {
                let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
                far_field(w, occ != 0.0).is_none()
            }
        });
        while near != 0 {
            let target = near.trailing_zeros();
            near &= near - 1;
            let (iw, b) = band(target);
            let n = first + b;
            let sums = team.sum(|lane| {
                let (w, occ) = (a.wx(iw, n), a.occ(n));
                let mut sums = [0.0; VALUES];
                let pairs = cluster.pairs();
                let mut at = pairs.start + lane;
                while at < pairs.end {
                    let pole = C::pole(a, at);
                    let term = term(&pair(&pole), w, &limits);
                    add_term(a, &pole, n, occ, term, &mut sums);
                    at += WARP;
                }
                sums
            });
            team.first(|| add::<C, T>(team, targets + target, sums));
        }
        from += Target::of(targets, a).step;
    }
}

#[inline(always)]
unsafe fn add_term<W>(
    a: &ClusterArguments,
    pole: &Pole<W>,
    n: u32,
    occ: f64,
    Term { ssx, sch }: Term,
    sums: &mut [f64; VALUES],
) {
    let ([aqsm, aqsn], vcoul) = (a.elements(pole, n), *a.vcoul_loc.add(pole.igp as usize));
    let m = aqsm.conj() * aqsn;
    let asx = ssx * (vcoul * occ) * m;
    let ach = sch * (vcoul * 0.5) * m;
    let [asx_re, asx_im, ach_re, ach_im] = sums;
    (*asx_re, *asx_im) = (*asx_re - asx.re, *asx_im - asx.im);
    (*ach_re, *ach_im) = (*ach_re + ach.re, *ach_im + ach.im);
}

#[inline(always)]
fn pair(pole: &Pole<Complex64>) -> Pair {
    let wtilde = pole.wtilde;
    let (wtilde2, eps) = (wtilde * wtilde, pole.eps);
    Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }
}
