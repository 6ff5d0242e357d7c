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

/// Goes through the bands of `begin..end` of a place. A function with a closure would be compiled without the
/// level's instructions.
macro_rules! each_band {
    ($place:ident, $begin:expr, $end:expr, $band:ident => $body:block) => {
        for row in $place.rows::<NW>($begin, $end) {
            let $band = $place.band(row);
            $body
        }
    };
}
pub(crate) use each_band;

/// Goes through the bands of `begin..end` in chains and settles the sums after each.
macro_rules! over_chains {
    ($place:ident, $begin:expr, $end:expr, [$($sum:ident),+], $chain:ident => $body:block) => {
        let (mut begin, end) = ($begin, $end);
        while begin < end {
            let $chain = begin..end.min(begin + $crate::compensated::CHAIN);
            begin = $chain.end;
            $body
            $($sum.settle($place.token);)+
        }
    };
}
pub(crate) use over_chains;

/// `over_chains`, band after band.
macro_rules! over_bands {
    ($place:ident, $begin:expr, $end:expr, [$($sum:ident),+], $band:ident => $body:block) => {
        $crate::running::over_chains!($place, $begin, $end, [$($sum),+], chain => {
            $crate::running::each_band!($place, chain.start, chain.end, $band => $body);
        });
    };
}
pub(crate) use over_bands;

/// `over_bands` by spans: `$clear` for the bands of those that `$is_clear` holds of, `$body` for the others.
macro_rules! over_spans {
    (
        $place:ident, $spans:expr, $begin:expr, $end:expr, [$($sum:ident),+],
        $span:ident => $is_clear:expr, $band:ident => $clear:block, $body:block
    ) => {
        let mut spans = $spans.iter();
        $crate::running::over_chains!($place, $begin, $end, [$($sum),+], chain => {
            for begin in chain.clone().step_by($crate::place::SPAN) {
                let stop = chain.end.min(begin + $crate::place::SPAN);
                if spans.next().is_some_and(|$span| $is_clear) {
                    $crate::running::each_band!($place, begin, stop, $band => $clear);
                } else {
                    $crate::running::each_band!($place, begin, stop, $band => $body);
                }
            }
        });
    };
}
pub(crate) use over_spans;
