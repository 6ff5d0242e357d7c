//! A number that counts the operations done on it: what a body computes, counted by running it.
//!
//! Host only. Additions of a product count as one fused operation, as the compilers make them; the
//! source is taken as it stands, before anything is hoisted or expanded.

use core::cell::Cell;
use core::cmp::Ordering;
use core::ops::{Add, Div, Mul, Neg, Rem, Sub};

use num_traits::{Num, One, Zero};
use std::thread_local;

use crate::real::Real;

/// Operations counted, each on one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Additions and subtractions.
    pub add: u64,
    /// Multiplications.
    pub mul: u64,
    /// Additions of a product, fused.
    pub fma: u64,
    /// Divisions by and of anything.
    pub div: u64,
    /// Divisions of one: reciprocals.
    pub rcp: u64,
    /// Square roots.
    pub sqrt: u64,
    /// Comparisons.
    pub compare: u64,
}

impl Counts {
    /// Element by element.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            add: self.add + other.add,
            mul: self.mul + other.mul,
            fma: self.fma + other.fma,
            div: self.div + other.div,
            rcp: self.rcp + other.rcp,
            sqrt: self.sqrt + other.sqrt,
            compare: self.compare + other.compare,
        }
    }

    /// As many for `all` where these are for `some` of them; none for none.
    pub fn scaled(self, all: usize, some: usize) -> Counts {
        let times = |count: u64| count * all as u64 / some.max(1) as u64;
        Counts {
            add: times(self.add),
            mul: times(self.mul),
            fma: times(self.fma),
            div: times(self.div),
            rcp: times(self.rcp),
            sqrt: times(self.sqrt),
            compare: times(self.compare),
        }
    }

    /// Floating-point operations: a fused one is two, a division, reciprocal or root is one.
    pub fn flops(self) -> u64 {
        self.add + self.mul + 2 * self.fma + self.div + self.rcp + self.sqrt
    }
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts {
        add: 0, mul: 0, fma: 0, div: 0, rcp: 0, sqrt: 0, compare: 0,
    }) };
}

/// What this thread has counted since it was last asked.
pub fn take() -> Counts {
    COUNTS.take()
}

fn count(change: impl FnOnce(&mut Counts)) {
    COUNTS.with(|counts| {
        let mut now = counts.get();
        change(&mut now);
        counts.set(now);
    });
}

fn one_more(operations: &mut u64) {
    *operations += 1;
}

/// A number whose operations are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    value: f64,
    /// A product not added to anything yet.
    product: bool,
}

impl Counted {
    fn plain(value: f64) -> Counted {
        Counted { value, product: false }
    }

    fn sum(self, other: Counted, value: f64) -> Counted {
        count(|counts| {
            if self.product || other.product {
                counts.mul -= 1;
                counts.fma += 1;
            } else {
                counts.add += 1;
            }
        });
        Counted::plain(value)
    }
}

impl Add for Counted {
    type Output = Counted;

    fn add(self, other: Counted) -> Counted {
        self.sum(other, self.value + other.value)
    }
}

impl Sub for Counted {
    type Output = Counted;

    fn sub(self, other: Counted) -> Counted {
        self.sum(other, self.value - other.value)
    }
}

impl Mul for Counted {
    type Output = Counted;

    fn mul(self, other: Counted) -> Counted {
        count(|counts| one_more(&mut counts.mul));
        Counted { value: self.value * other.value, product: true }
    }
}

impl Div for Counted {
    type Output = Counted;

    fn div(self, other: Counted) -> Counted {
        let reciprocal = self.value == 1.0;
        count(|counts| one_more(if reciprocal { &mut counts.rcp } else { &mut counts.div }));
        Counted::plain(self.value / other.value)
    }
}

impl Rem for Counted {
    type Output = Counted;

    fn rem(self, other: Counted) -> Counted {
        Counted::plain(self.value % other.value)
    }
}

/// Free: every operation takes its operands with a sign.
impl Neg for Counted {
    type Output = Counted;

    fn neg(self) -> Counted {
        Counted { value: -self.value, ..self }
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        self.value == other.value
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Counted) -> Option<Ordering> {
        count(|counts| counts.compare += 1);
        self.value.partial_cmp(&other.value)
    }
}

impl From<Counted> for f64 {
    fn from(counted: Counted) -> f64 {
        counted.value
    }
}

impl Zero for Counted {
    fn zero() -> Counted {
        Counted::plain(0.0)
    }

    fn is_zero(&self) -> bool {
        self.value == 0.0
    }
}

impl One for Counted {
    fn one() -> Counted {
        Counted::plain(1.0)
    }
}

impl Num for Counted {
    type FromStrRadixErr = <f64 as Num>::FromStrRadixErr;

    fn from_str_radix(text: &str, radix: u32) -> Result<Counted, Self::FromStrRadixErr> {
        f64::from_str_radix(text, radix).map(Counted::plain)
    }
}

impl Real for Counted {
    fn of(value: f64) -> Counted {
        Counted::plain(value)
    }

    fn value(self) -> f64 {
        self.value
    }

    fn sqrt(self) -> Counted {
        count(|counts| counts.sqrt += 1);
        Counted::plain(self.value.sqrt())
    }

    fn abs(self) -> Counted {
        Counted { value: self.value.abs(), ..self }
    }

    fn settle(self) -> Counted {
        self
    }

    fn approximate_reciprocal(self) -> Counted {
        count(|counts| one_more(&mut counts.rcp));
        Counted::plain(crate::intrinsics::approximate_reciprocal(self.value))
    }

    fn upper(self) -> f32 {
        self.value.upper()
    }

    fn upper_unless(self, unless: bool) -> Counted {
        Counted { value: self.value.upper_unless(unless), ..self }
    }

    fn flushed(self) -> Counted {
        Counted { value: self.value.flushed(), ..self }
    }
}
