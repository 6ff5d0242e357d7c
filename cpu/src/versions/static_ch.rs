//! The static CH, which BerkeleyGW's static remainder takes: of no journey, since it is another sum.
//!
//! A vector of pairs sums `aqsn` times the two parts of `aqsm` over all bands, four fused operations a band that
//! do not wait for each other, and multiplies by eps once. What it reads is laid out as for cpu:paired.

use gpp_kernels::plan::Poles;
use gpp_kernels::versions::static_ch::VERSION;

use super::hoisted;
use crate::lanes::{ComplexLanes, Lanes, array};
use crate::place::Place;
use crate::planned::{Fraction, PairSums, Planned};
use crate::running::{Running, over_bands};
use crate::version::{Cpu, Kernel};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    holds: 1,
    kernels: &[Kernel::of::<Planned<StaticCh>>()],
    ..hoisted::CPU
};

/// `−½·vcoul·eps·ΣM`, as the `ach` of one energy.
struct StaticCh;

impl Fraction for StaticCh {
    const POLES: Poles = Poles::Unread;

    #[inline(always)]
    fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW> {
        // Of aqsn times the real and times the imaginary part of aqsm.
        let mut sums = Running::<L, 2>::zero(place.token);
        over_bands!(place, 0, place.plan.order.len(), [sums], band => {
            sums.part[0] = sums.part[0].add_scaled(band.aqsn, band.aqsm.re);
            sums.part[1] = sums.part[1].add_scaled(band.aqsn, band.aqsm.im);
        });
        let (re, im) = (sums.sum(0), sums.sum(1));
        let m = ComplexLanes::new(re.re.add(im.im), re.im.sub(im.re));
        let ach = place.weight.scale(place.splat(-0.5)).mul(m);
        PairSums { asx: [place.zero(); NW], ach: array!(NW, _e => ach) }
    }
}
