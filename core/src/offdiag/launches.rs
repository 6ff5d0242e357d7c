//! What the kernels are given for a group of bands n at an energy.

use std::ops::Range;

use gpp_kernels::arrays;
use gpp_kernels::offdiag::first::First;
use gpp_kernels::offdiag::gather::Gather;
use gpp_kernels::offdiag::odd::OddPairs;
use gpp_kernels::offdiag::poles::{Limits, Odd};
use gpp_kernels::offdiag::second::Second;

use super::images::{GROUP, Shape};

/// Where the arrays are, on a device or here.
#[derive(Clone, Copy)]
pub struct Place {
    /// A of the group.
    pub a: *const f64,
    /// The image of poles.
    pub poles: *const f64,
    /// Odd pairs, where those of an igp begin, and of how many igp there are some.
    pub odd: (*const Odd, *const u32, u32),
    /// The row of A of each igp.
    pub rows: *const u32,
    /// Coulomb interaction of each igp.
    pub vcoul: *const f64,
    /// `w` of all n at each energy, of which P is made and of odd pairs.
    pub w: [*const f64; 2],
    /// Weights of all n, for `sch` and for `ssx`.
    pub weights: [*const f64; 2],
    /// U of a group.
    pub u: *mut f64,
    /// V of a group.
    pub v: *mut f64,
}

/// A group's items at an energy, of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The group.
    pub group: usize,
    /// How many of its n.
    pub count: usize,
    /// The energy.
    pub iw: usize,
    /// Whether they are of `ssx`.
    pub exchange: bool,
    /// Whether V is made: at the first energy. It is the same at the others.
    pub gathers: bool,
}

/// The launches of a batch, in their order; odd pairs are launched where there are any.
pub struct Launches {
    /// The first product.
    pub first: First,
    /// Odd pairs.
    pub odd: OddPairs,
    /// V.
    pub gather: Gather,
    /// The second product.
    pub second: Second,
}

impl Launches {
    /// Of a batch of a task of `nbands` bands n, whose sums are added to `sums`.
    pub fn of(
        place: &Place,
        shape: &Shape,
        nbands: usize,
        limits: (Limits, arrays::Limits),
        batch: Batch,
        sums: *mut f64,
    ) -> Launches {
        let Batch { group, count, iw, exchange, .. } = batch;
        let Shape { fragments, steps, right, .. } = *shape;
        let Place { a, u, v, .. } = *place;
        let [w, of_odd] = place.w.map(|w| w.wrapping_add(iw * nbands + group * GROUP));
        let weights = place.weights[usize::from(exchange)].wrapping_add(group * GROUP);
        let (count, group) = (count as u32, shape.group());
        let (Limits { first, sexcut }, limits) = limits;
        let (pairs, begins, columns) = place.odd;
        let arrays::Limits { limittwo, limitone, sexcut: cutoff } = limits;
        let exchange = exchange.into();
        Launches {
            first: First {
                a,
                poles: place.poles,
                w,
                u,
                steps,
                count,
                fragments,
                group,
                right,
                first,
                sexcut,
            },
            odd: OddPairs {
                a,
                pairs,
                begins,
                w: of_odd,
                u,
                columns,
                steps,
                count,
                fragments,
                group,
                right,
                exchange,
                limittwo,
                limitone,
                sexcut: cutoff,
            },
            gather: Gather {
                a,
                rows: place.rows,
                vcoul: place.vcoul,
                weights,
                v,
                steps,
                count,
                fragments,
                group,
                igp: right * 8,
                right: shape.second,
            },
            second: Second {
                u,
                v,
                sums,
                items: count,
                slots: shape.slots,
                steps: right,
                left: fragments,
                right: shape.second,
            },
        }
    }
}

/// The batches of a group, in the order of their launches: `sch` of all its n at each energy, then `ssx` up to the last
/// that is occupied.
pub fn batches(occ: &[f64], iw: Range<usize>, group: usize) -> Vec<Batch> {
    let own = &occ[group * GROUP..occ.len().min((group + 1) * GROUP)];
    let occupied = own.iter().rposition(|&occ| occ != 0.0).map_or(0, |last| last + 1);
    let kinds = [(own.len(), false), (occupied, true)].into_iter().filter(|(count, _)| *count > 0);
    let of_kind = |(count, exchange)| {
        let first = iw.start;
        iw.clone().map(move |iw| Batch { group, count, iw, exchange, gathers: iw == first })
    };
    kinds.flat_map(of_kind).collect()
}
