//! The defining formula in double-double numbers, for problems small enough: terms and sums have some 30
//! digits, so that whatever differs is an error of the kernels.

use num_complex::Complex;
use twofloat::TwoFloat;

use crate::error::Result;
use crate::problem::{Bands, Extents, SlabView, Sums};
use crate::reference::term::{
    Energy, Evaluation, Scale, Terms, UNDERFLOW, VANISHING, growth, size, times,
};

type Number = Complex<TwoFloat>;

pub fn evaluate(terms: Terms) -> Result<Evaluation> {
    let energies = terms.energies();
    let columns = terms.columns(|bands, slab, igp| column(bands, slab, igp, energies))?;
    let mut totals = vec![[Part::ZERO; 2]; energies.len()];
    for column in &columns {
        for (total, parts) in totals.iter_mut().zip(column) {
            for (total, part) in total.iter_mut().zip(parts) {
                total.add(part.sum, part.magnitude, part.undecided);
            }
        }
    }
    let rounded = |part: usize, factor: f64| {
        let sum = |total: &[Part; 2]| {
            let Complex { re, im } = total[part].sum;
            Complex::new(factor * f64::from(re), factor * f64::from(im))
        };
        totals.iter().map(sum).collect()
    };
    let sizes = |of: fn(&Part) -> f64| {
        totals.iter().map(|[ssx, sch]| [of(ssx), 0.5 * of(sch)]).collect::<Vec<_>>()
    };
    Ok(Evaluation {
        sums: Sums { asx: rounded(0, -1.0), ach: rounded(1, 0.5) },
        scale: Scale {
            magnitudes: sizes(|part| part.magnitude),
            undecided: sizes(|part| part.undecided),
        },
    })
}

/// The sums over `n` and `ig` for one `igp` of a slab, energy by energy: of `ssx` and of `sch`.
fn column(bands: &Bands, slab: SlabView, igp: usize, energies: &[usize]) -> Vec<[Part; 2]> {
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
                    sum[part].add(value, magnitude, factor * term.undecided[part]);
                }
            }
        }
    }
    sums
}

/// One sum, how large its terms are, and what rounding may decide of it.
#[derive(Clone, Copy)]
struct Part {
    sum: Number,
    magnitude: f64,
    undecided: f64,
}

impl Part {
    const ZERO: Part = Part {
        sum: Complex { re: TwoFloat::from_f64(0.0), im: TwoFloat::from_f64(0.0) },
        magnitude: 0.0,
        undecided: 0.0,
    };

    fn add(&mut self, sum: Number, magnitude: f64, undecided: f64) {
        self.sum = Complex { re: self.sum.re + sum.re, im: self.sum.im + sum.im };
        self.magnitude += magnitude;
        self.undecided += undecided;
    }
}
