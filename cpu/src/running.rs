//! Sums over bands that lose nothing however many bands there are.

use crate::lanes::{ComplexLanes, Lanes};

/// Sums of some energies over bands, [`CHAIN`](crate::compensated::CHAIN) of them at a time.
#[derive(Clone, Copy)]
pub struct Running<L, const NW: usize> {
    /// Of the bands since [`Running::settle`].
    pub part: [ComplexLanes<L>; NW],
    total: [ComplexLanes<L>; NW],
    lost: [ComplexLanes<L>; NW],
}

impl<L: Lanes, const NW: usize> Running<L, NW> {
    /// Nothing summed yet.
    #[inline(always)]
    pub fn zero(token: L::Token) -> Self {
        let zero = [ComplexLanes::zero(token); NW];
        Running { part: zero, total: zero, lost: zero }
    }

    /// Adds the part to the total, and what that rounds off to what is lost (D. E. Knuth, TAOCP 2,
    /// 4.2.2, theorem B).
    #[inline(always)]
    pub fn settle(&mut self, token: L::Token) {
        for e in 0..NW {
            let (part, total, lost) = (self.part[e], self.total[e], self.lost[e]);
            let (re, lost_re) = two_sum(total.re, part.re);
            let (im, lost_im) = two_sum(total.im, part.im);
            self.total[e] = ComplexLanes::new(re, im);
            self.lost[e] = lost.add(ComplexLanes::new(lost_re, lost_im));
            self.part[e] = ComplexLanes::zero(token);
        }
    }

    /// The sum of energy `e`, settled.
    #[inline(always)]
    pub fn sum(&self, e: usize) -> ComplexLanes<L> {
        self.total[e].add(self.lost[e])
    }
}

/// `a + b` and what it rounds off.
#[inline(always)]
fn two_sum<L: Lanes>(a: L, b: L) -> (L, L) {
    let sum = a.add(b);
    let own = sum.sub(a);
    (sum, a.sub(sum.sub(own)).add(b.sub(own)))
}

/// Goes through the bands of `begin..end` of a place and settles the sums now and then. A function with
/// a closure would be compiled without the level's instructions.
macro_rules! over_bands {
    ($place:ident, $begin:expr, $end:expr, [$($sum:ident),+], $band:ident => $body:block) => {
        let (mut begin, end) = ($begin, $end);
        while begin < end {
            let stop = end.min(begin + $crate::compensated::CHAIN);
            for row in $place.rows::<NW>(begin, stop) {
                let $band = $place.band(row);
                $body
            }
            $($sum.settle($place.token);)+
            begin = stop;
        }
    };
}
pub(crate) use over_bands;
