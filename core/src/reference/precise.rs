//! The defining formula in double-double numbers, for problems small enough: terms and sums have some 30
//! digits, so that whatever differs is an error of the kernels.

use num_complex::Complex;
use twofloat::TwoFloat;

use crate::error::Result;
use crate::problem::{Bands, Extents, SlabView};
use crate::progress::Progress;
use crate::reference::term::{
    Energy, Evaluation, Part, Sum, Terms, UNDERFLOW, VANISHING, growth, size, times,
};

type Number = Complex<TwoFloat>;

pub fn evaluate(terms: Terms) -> Result<Evaluation> {
    terms.total(column, Progress::NONE)
}

/// The sums over `n` and `ig` for one `igp` of a slab, energy by energy: of `ssx` and of `sch`.
fn column(bands: &Bands, slab: SlabView, igp: usize, energies: &[usize]) -> Vec<[Part<Number>; 2]> {
    let Extents { nbands, ncouls, nw, .. } = bands.extents();
    let limits = bands.limits();
    let number = |z: Complex<f64>| Complex { re: TwoFloat::from(z.re), im: TwoFloat::from(z.im) };
    let scaled = |z: Number, x: f64| Complex { re: z.re * x, im: z.im * x };

    let vcoul = slab.vcoul_loc()[igp];
    let mut sums = vec![[Part::ZERO; 2]; energies.len()];
    for n in 0..nbands {
        let aqsm = number(slab.aqsm_local().column(n)[igp].conj());
        let of_igp = growth(vcoul.abs()) * growth(size(aqsm)) * growth(bands.occ()[n]);
        for ig in 0..ncouls {
            let at = igp * ncouls + ig;
            let (wtilde, eps) = (slab.wtilde()[at], slab.eps()[at]);
            let aqsn = number(bands.aqsn()[n * ncouls + ig]);
            let ach = scaled(times(aqsm, aqsn), vcoul);
            let grown = of_igp * growth(size(aqsn)) * growth(size(eps));
            let asx = scaled(ach, bands.occ()[n]);
            for (&iw, sum) in energies.iter().zip(&mut sums) {
                let energy = Energy::of(bands.wx()[n * nw + iw], limits);
                let term = energy.term::<TwoFloat>(wtilde, eps);
                let values = [(term.ssx, asx), (term.sch, ach)];
                for (part, (value, factor)) in values.into_iter().enumerate() {
                    let (value, factor) = (times(value, factor), size(factor));
                    let underflow = UNDERFLOW * grown * growth(term.quotients[part]);
                    let magnitude = size(value) + VANISHING[part] * factor * size(eps) + underflow;
                    let undecided = factor * term.undecided[part];
                    sum[part].merge(&Part { sum: value, magnitude, undecided });
                }
            }
        }
    }
    sums
}

impl Sum for Number {
    const ZERO: Number = Complex { re: TwoFloat::from_f64(0.0), im: TwoFloat::from_f64(0.0) };

    fn merge(&mut self, other: &Number) {
        *self = Complex { re: self.re + other.re, im: self.im + other.im };
    }

    fn value(&self) -> Complex<f64> {
        Complex::new(self.re.into(), self.im.into())
    }
}
