//! Σ alone, for which each band has one pole of a pair instead of two.

pub mod v15 {
    //! v15: Σ alone: one quotient for each band instead of two.
    //!
    //! Quasiparticle energies need only the sum `Σ = ach + asx`. With the occupation `f`, `q = 1/(w − ω̃)`, zero near the
    //! pole, and `p = 1/(w + ω̃)`, a term of Σ is `½sch − f·ssx = ½ω̃·eps·((1 − f)·q + f·p)` in both branches, and
    //! `½ω̃·eps·q` if the cutoff drops `ssx`. So a plain band has one quotient, `p`, and no branch; at an energy below zero
    //! a band of occupation 1 has `p` or, beyond the cutoff, `q`: integers are compared for that. If no energy of a plain band is near `−ω̃`, two
    //! energies share a reciprocal, as in v13's far bands; with real poles three at equal distances do. Σ is returned in `ach`.
    //!
    //! It keeps half as many sums as v13, so with real poles a thread has registers for four `igp`. Each class of
    //! bands continues the sums of the class before: a loop that kept finished sums as well as its own would spill
    //! registers. In most loops a block stages two bands for each of its warps: half as many barriers.
    //!
    //! Lines of the nest: 6, 7, 8, 10.

    use core::array::from_fn;
    use core::hint::select_unpredictable;

    use num_complex::Complex64;

    use crate::arrays::Arrays;
    use crate::formula::{
        ThreadSums, reciprocal_unless, term, term_and_derivative, windowed, windowed_and_derivative,
    };
    use crate::intrinsics::sqrt;
    use crate::kernel::{GpuVersion, Kernel, Loops, entries};
    use crate::plan::{Plan, Poles};
    use crate::threads::each;
    use crate::tiling::{PairSource, StagedPairs, TilePlace, TileShape, add};
    use crate::versions::v10::{ComplexPole, Factor, factors, joined as with_im};
    use crate::versions::v12::{RealPole, SHAPE as OF_TWO};
    use crate::versions::{v12, v13};

    version! {
        id: "v15", change: "Σ alone: one quotient for each band instead of two",
        source: "docs/versions.md", kernels: [REAL, WINDOWED, ANY], beyond: &v12::GPU, capability: (7, 0)
    }

    /// As many `igp` a block as v13's, in half the warps.
    pub const SHAPE: TileShape = TileShape { tile: 4, warps: 4 };

    pub const REAL: Kernel = Kernel {
        is_sigma_alone: true,
        loops: Loops::Tiled(SHAPE),
        threads: SHAPE.threads(),
        max_registers: Some(168),
        entries: entries!(
            tiled real_sums::<NW, NW>, SHAPE, term:
            gpp_v15_real_nw1 = 1 registers 128,
            gpp_v15_real_nw2 = 2,
            gpp_v15_real_nw3 = 3,
        ),
        ..v13::REAL
    };

    /// [`REAL`]; pairs with a quotient within the window are fallback pairs.
    pub const WINDOWED: Kernel = Kernel {
        poles: Poles::Windowed,
        entries: entries!(
            tiled real_sums::<NW, NW>, SHAPE, windowed:
            gpp_v15_real_windowed_nw1 = 1 registers 128,
            gpp_v15_real_windowed_nw2 = 2,
            gpp_v15_real_windowed_nw3 = 3,
        ),
        ..REAL
    };

    pub const ANY: Kernel = Kernel {
        is_sigma_alone: true,
        poles: Poles::AnySize,
        entries: entries!(tiled any_sums::<NW, NW>, OF_TWO, term: gpp_v15),
        ..v13::REAL
    };

    /// Σ alone and its derivative with respect to ω at one energy: of each quotient that is summed the square is summed too.
    pub static DERIVATIVE: GpuVersion = GpuVersion {
        capability: GPU.capability,
        ..GpuVersion::new(&VERSION, &[DERIVATIVE_REAL, DERIVATIVE_WINDOWED, DERIVATIVE_ANY])
    };

    const DERIVATIVE_REAL: Kernel = Kernel {
        has_derivative: true,
        entries: entries!(derivative real_sums::<1, NW>, SHAPE, term_and_derivative: gpp_v15_derivative_real),
        ..REAL
    };

    const DERIVATIVE_WINDOWED: Kernel = Kernel {
        has_derivative: true,
        entries: entries!(
            derivative real_sums::<1, NW>, SHAPE, windowed_and_derivative: gpp_v15_derivative_real_windowed
        ),
        ..WINDOWED
    };

    const DERIVATIVE_ANY: Kernel = Kernel {
        has_derivative: true,
        entries: entries!(derivative any_sums::<1, NW>, OF_TWO, term_and_derivative: gpp_v15_derivative),
        ..ANY
    };

    const ZERO: Complex64 = Complex64::new(0.0, 0.0);

    /// The sums of `NW` energies; if `SUMS` are more, of one energy and the derivative.
    #[inline(always)]
    unsafe fn real_sums<const NW: usize, const SUMS: usize>(
        a: &Arrays,
        place: TilePlace,
    ) -> ThreadSums<SUMS> {
        const T: usize = SHAPE.tile as usize;
        let (plan, pairs) = (&a.plan, StagedPairs::<T, 4, 2, false>(place));
        // In loops that need many registers for a pole, fewer elements are on their way.
        let by_one = StagedPairs::<T, 4, 1, false>(place);
        let poles: [RealPole; T] = from_fn(|t| RealPole::from_wtilde(a, pairs.wtilde(a, t)));

        let mut far = [[ZERO; SUMS]; T];
        pairs.bands(a, plan.far_begin..a.nbands, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                add(&mut far[t], m, with_square(quotients(w, -poles[t].wtilde, plan)));
            });
        });
        pairs.bands(a, 0..plan.plain_far, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                add(&mut far[t], m, with_square(quotients(w, poles[t].wtilde, plan)));
            });
        });
        let mut single = far.map(|far| if SUMS == NW { joined(far, plan) } else { far });
        pairs.bands(a, plan.occupied..plan.far_begin, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                add(&mut single[t], m, with_square(w.map(|w| poles[t].quotient(w))));
            });
        });
        pairs.bands(a, plan.plain_far..plan.plain, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<T>(|t| {
                let p = |w: f64| reciprocal_unless(false, w + poles[t].wtilde);
                add(&mut single[t], band.matngmatmgp(t), with_square(w.map(p)));
            });
        });
        let cut = poles.map(|pole| Cutoff::from_wtilde(a, pole.wtilde.into()));
        by_one.bands(a, plan.plain..plan.full, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<T>(|t| {
                let one = |w: f64| {
                    let c = opposite_if(cut[t].takes(w), poles[t].wtilde);
                    reciprocal_unless(false, w + c)
                };
                add(&mut single[t], band.matngmatmgp(t), with_square(w.map(one)));
            });
        });
        by_one.bands(a, plan.full..plan.occupied, |n, band| {
            let (w, occ): ([f64; NW], f64) = (plan.energies(n), a.occ(n));
            each::<T>(|t| {
                let both = from_fn(|e| match e {
                    e if e < NW => poles[t].of_occupied(a, w[e], occ),
                    _ => poles[t].square_of_occupied(a, w[0], occ),
                });
                add(&mut single[t], band.matngmatmgp(t), both);
            });
        });
        let mut sums = ThreadSums::zero();
        each::<T>(|t| {
            let half = pairs.weight(a, t) * (poles[t].wtilde * 0.5);
            each::<SUMS>(|e| sums.ach[e] = sums.ach[e] + half * single[t][e]);
        });
        if NW < SUMS {
            // The derivative of a quotient is its square but for the sign.
            sums.ach[NW] = -sums.ach[NW];
        }
        sums
    }

    /// Factors of `NW` energies; if `SUMS` are more, that of one energy and its square.
    #[inline(always)]
    fn with_square<const NW: usize, const SUMS: usize>(factors: [f64; NW]) -> [f64; SUMS] {
        from_fn(|e| if e < NW { factors[e] } else { factors[0] * factors[0] })
    }

    /// What `M` of a far band is multiplied with for `1/(w + c)`. Of two energies with the mean `x − c`: `1/(x² − h²)` and
    /// `x/(x² − h²)`. Of three at the distance `d = 2h`, the second one at `x − c`: `R = 1/(x(x² − d²))`, `x·R` and `x²·R`.
    #[inline(always)]
    fn quotients<const NW: usize>(w: [f64; NW], c: f64, plan: &Plan) -> [f64; NW] {
        if NW == 1 {
            return [reciprocal_unless(false, w[0] + c); NW];
        }
        let (x, factor) = match NW {
            2 => (w[0] + (c + plan.half), 1.0),
            _ => (w[1] + c, 4.0),
        };
        let difference = x * x - factor * plan.square;
        let one = reciprocal_unless(false, if NW == 2 { difference } else { x * difference });
        from_fn(|e| match e {
            0 => one,
            1 => x * one,
            _ => x * (x * one),
        })
    }

    /// The sums of `M/(w + c)`, from those of `M` times [`quotients`].
    #[inline(always)]
    fn joined<const NW: usize>(far: [Complex64; NW], plan: &Plan) -> [Complex64; NW] {
        let (one, x, square) = (far[0], far[1 % NW], far[2 % NW]);
        let (h, d) = (plan.half, 2.0 * plan.half);
        match NW {
            1 => far,
            2 => from_fn(|e| if e == 0 { x + one * h } else { x - one * h }),
            _ => from_fn(|e| match e {
                0 => square + x * d,
                1 => square - one * (d * d),
                _ => square - x * d,
            }),
        }
    }

    /// As [`real_sums`]. The factor `[one, re]` of a quotient is followed by its [`square`].
    #[inline(always)]
    unsafe fn any_sums<const NW: usize, const SUMS: usize>(
        a: &Arrays,
        place: TilePlace,
    ) -> ThreadSums<SUMS> {
        let (plan, pairs) = (&a.plan, StagedPairs::<2, 8, 2, false>(place));
        let poles: [ComplexPole; 2] = from_fn(|t| ComplexPole::from_wtilde(a, pairs.wtilde(a, t)));

        let mut far = [[[ZERO; 2]; SUMS]; 2];
        pairs.bands(a, plan.far_begin..a.nbands, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                poles[t].add_far::<NW, SUMS>(&mut far[t], band.matngmatmgp(t), w, -1.0, plan);
            });
        });
        let mut single = from_fn(|t| poles[t].joined::<NW, SUMS>(far[t], -1.0, plan));
        pairs.bands(a, plan.occupied..plan.far_begin, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                add_factors::<NW, SUMS>(&mut single[t], m, |e| poles[t].quotient(w[e]));
            });
        });
        each::<2>(|t| conjugate::<NW, SUMS>(&mut single[t]));
        pairs.bands(a, plan.plain_far..plan.plain, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                let m = band.matngmatmgp(t);
                add_factors::<NW, SUMS>(&mut single[t], m, |e| poles[t].far_factor(w[e], 1.0));
            });
        });
        if plan.plain < plan.occupied {
            let cut: [Cutoff; 2] = from_fn(|t| Cutoff::from_wtilde(a, pairs.wtilde(a, t)));
            pairs.bands(a, plan.plain..plan.full, |n, band| {
                let w: [f64; NW] = plan.energies(n);
                each::<2>(|t| {
                    let m = band.matngmatmgp(t);
                    each::<NW>(|e| {
                        let is_cut = cut[t].takes(w[e]);
                        let x = w[e] + opposite_if(is_cut, poles[t].re);
                        let one = reciprocal_unless(false, x * x + poles[t].im2);
                        add(&mut single[t][e], m, [opposite_if(is_cut, one), x * one]);
                        if NW < SUMS {
                            let [im, re] = square([one, x * one]);
                            let re = re - select_unpredictable(is_cut, one, 0.0);
                            add(&mut single[t][NW], m, [opposite_if(is_cut, im), re]);
                        }
                    });
                });
            });
            pairs.bands(a, plan.full..plan.occupied, |n, band| {
                let (w, occ): ([f64; NW], f64) = (plan.energies(n), a.occ(n));
                each::<2>(|t| {
                    let m = band.matngmatmgp(t);
                    each::<NW>(|e| add(&mut single[t][e], m, poles[t].of_occupied(a, w[e], occ)));
                    if NW < SUMS {
                        add(&mut single[t][NW], m, poles[t].square_of_occupied(a, w[0], occ));
                    }
                });
            });
        }
        let mut sums = ThreadSums::zero();
        add_sums::<NW, SUMS>(a, pairs, &mut sums, single);

        let mut far = [[[ZERO; 2]; SUMS]; 2];
        pairs.bands(a, 0..plan.plain_far, |n, band| {
            let w: [f64; NW] = plan.energies(n);
            each::<2>(|t| {
                poles[t].add_far::<NW, SUMS>(&mut far[t], band.matngmatmgp(t), w, 1.0, plan);
            });
        });
        let far = from_fn(|t| poles[t].joined::<NW, SUMS>(far[t], 1.0, plan));
        add_sums::<NW, SUMS>(a, pairs, &mut sums, far);
        if NW < SUMS {
            sums.ach[NW] = -sums.ach[NW];
        }
        sums
    }

    /// Of the square of a quotient with the factor `[one, re]`, half of the imaginary part over `Im ω̃`, and half of the
    /// real part and of `one`: the square of the size is `one`.
    #[inline(always)]
    fn square([one, re]: Factor) -> Factor {
        [re * one, re * re]
    }

    /// Makes of sums of `M` times factors those with the other sign of the factors' imaginary parts.
    #[inline(always)]
    fn conjugate<const NW: usize, const SUMS: usize>(sums: &mut [[Complex64; 2]; SUMS]) {
        if NW < SUMS {
            let ([one, _], [im, re]) = (sums[0], sums[NW]);
            sums[NW] = [-im, re - one];
        }
        each::<NW>(|e| sums[e][0] = -sums[e][0]);
    }

    /// Adds `m` times the factors of `NW` energies; if there are more sums, of one and of its [`square`].
    #[inline(always)]
    fn add_factors<const NW: usize, const SUMS: usize>(
        sums: &mut [[Complex64; 2]; SUMS],
        m: Complex64,
        factor: impl Fn(usize) -> Factor,
    ) {
        each::<SUMS>(|e| add(&mut sums[e], m, if e < NW { factor(e) } else { square(factor(0)) }));
    }

    /// The energies below zero at which the cutoff takes `ssx` of a pair's full bands, far from `ω̃`: bits of numbers of one
    /// sign are in the order of their sizes.
    #[derive(Clone, Copy)]
    struct Cutoff {
        least: u64,
        /// From there to the largest one.
        width: u64,
    }

    impl Cutoff {
        /// `|w² − ω̃²| < |ω̃|²/sexcut`.
        #[inline(always)]
        fn from_wtilde(a: &Arrays, wtilde: Complex64) -> Cutoff {
            let square = wtilde * wtilde;
            let bound = wtilde.norm_sqr() / a.limits.sexcut;
            let reach = sqrt(at_least_zero(bound * bound - square.im * square.im));
            let [least, most] = [square.re - reach, square.re + reach];
            let [least, most] = [least, most].map(|of| (-sqrt(at_least_zero(of))).to_bits());
            Cutoff { least, width: most - least }
        }

        #[inline(always)]
        fn takes(self, w: f64) -> bool {
            w.to_bits().wrapping_sub(self.least) < self.width
        }
    }

    /// `x`; zero if it is negative or NaN.
    #[inline(always)]
    fn at_least_zero(x: f64) -> f64 {
        if x > 0.0 { x } else { 0.0 }
    }

    /// `−x` if `is_opposite`, else `x`.
    #[inline(always)]
    fn opposite_if(is_opposite: bool, x: f64) -> f64 {
        f64::from_bits(x.to_bits() ^ u64::from(is_opposite) << 63)
    }

    impl RealPole {
        /// `(1 − occ)·q + occ·p`, or `q` if the cutoff takes `ssx`: `((1 − occ)·s + occ·d)/(d·s)`, near the pole `occ/s`.
        #[inline(always)]
        fn of_occupied(&self, a: &Arrays, w: f64, occ: f64) -> f64 {
            let (d, s, z, near) = self.denominators(w);
            let cut = self.is_cut(a, w, z);
            let share = select_unpredictable(cut, 0.0, occ);
            let both = select_unpredictable(cut, 1.0, (1.0 - occ) * s + occ * d);
            let (numerator, denominator) =
                (select_unpredictable(near, share, both), select_unpredictable(near, s, z));
            numerator * reciprocal_unless(false, select_unpredictable(cut, d, denominator))
        }

        /// The same with the squares of `q` and `p`, `q` zero near the pole.
        #[inline(always)]
        fn square_of_occupied(&self, a: &Arrays, w: f64, occ: f64) -> f64 {
            let (d, s, z, near) = self.denominators(w);
            let cut = self.is_cut(a, w, z);
            let share = select_unpredictable(cut, 0.0, occ);
            let q = reciprocal_unless(near, select_unpredictable(near, 1.0, d));
            let p = reciprocal_unless(cut, select_unpredictable(cut, 1.0, s));
            (1.0 - share) * q * q + share * p * p
        }
    }

    impl ComplexPole {
        /// `(1 − occ)·q + occ·p`, or `q` if the cutoff takes `ssx`, with the sign of `p`'s imaginary part.
        #[inline(always)]
        fn of_occupied(&self, a: &Arrays, w: f64, occ: f64) -> Factor {
            let ([d, d2], [s, s2], near, cut) = self.denominators(a, w);
            let share = select_unpredictable(cut, 0.0, occ);
            let q = (1.0 - share) * reciprocal_unless(near, d2);
            let p = share * reciprocal_unless(cut, s2);
            [p - q, s * p + d * q]
        }

        /// The [`square`] of both, `q` zero near the pole.
        #[inline(always)]
        fn square_of_occupied(&self, a: &Arrays, w: f64, occ: f64) -> Factor {
            let ([d, d2], [s, s2], near, cut) = self.denominators(a, w);
            let share = select_unpredictable(cut, 0.0, occ);
            let (q, p) = (reciprocal_unless(near, d2), reciprocal_unless(cut, s2));
            let ([q_im, q_re], [p_im, p_re]) = (square([q, d * q]), square([p, s * p]));
            [share * p_im - (1.0 - share) * q_im, share * p_re + (1.0 - share) * (q_re - q)]
        }

        /// Of `1/(w + ω̃)` if `sign` is 1, of `1/(w − ω̃)` if it is −1, neither of them near.
        #[inline(always)]
        fn far_factor(&self, w: f64, sign: f64) -> Factor {
            let x = w + sign * self.re;
            let one = reciprocal_unless(false, x * x + self.im2);
            [one, x * one]
        }

        /// Adds `m` times the factor of a far band's only energy; else `T = m·R` and `w·T`, of a register and of constant
        /// memory, then `y·T` and `w·y·T`, of three energies also `y²·T` and `w·y²·T`. With the mean energy `w`, the outer
        /// ones `r` from it, `x = w + sign·Re ω̃` and `y = x² + (Im ω̃)² − r²`, `1/R = |x − r|²·|x + r|² = y² + (2r·Im ω̃)²`,
        /// of three times `|x|² = y + r²`; the squares with `(Im ω̃)²`. If there are more sums than energies, of one and
        /// its [`square`]: `R = 1/y`, and `R·T` in the place of `y·T`.
        #[inline(always)]
        fn add_far<const NW: usize, const SUMS: usize>(
            &self,
            sums: &mut [[Complex64; 2]; SUMS],
            m: Complex64,
            w: [f64; NW],
            sign: f64,
            plan: &Plan,
        ) {
            if SUMS == 1 {
                return add_factors::<NW, SUMS>(sums, m, |e| self.far_factor(w[e], sign));
            }
            let (w, [_, r2]) = (w[NW / 3], reach::<NW>(plan));
            let x = w + to_mean::<NW>(sign * self.re, plan);
            let y = x * x + (self.im2 - r2);
            let outer = y * y + 4.0 * r2 * self.im2;
            let one = reciprocal_unless(false, [y, outer, outer * (y + r2)][NW - 1]);
            let mut product = m * one;
            each::<SUMS>(|e| {
                if e + 1 == SUMS {
                    let last = if NW == 1 { one } else { y };
                    return add(&mut sums[e], product, [last, last * w]);
                }
                product = if e == 0 { product } else { product * y };
                sums[e][0] = sums[e][0] + product;
                sums[e][1] = sums[e][1] + product * w;
            });
        }

        /// The sums of `M` times each energy's own factor, from those of [`ComplexPole::add_far`].
        #[inline(always)]
        fn joined<const NW: usize, const SUMS: usize>(
            &self,
            far: [[Complex64; 2]; SUMS],
            sign: f64,
            plan: &Plan,
        ) -> [[Complex64; 2]; SUMS] {
            if SUMS == 1 {
                return far;
            }
            let ([r, r2], im2) = (reach::<NW>(plan), self.im2);
            let far = far.map(|[of, w]| [of, w + of * to_mean::<NW>(sign * self.re, plan)]);
            // Of three, |x|² is in 1/R too.
            let outer = |k: usize, f: usize| match NW {
                3 => far[(k + 1) % SUMS][f] + far[k % SUMS][f] * r2,
                _ => far[k % SUMS][f],
            };
            let (factor, of_factor) =
                (outer(1, 0) + outer(0, 0) * (2.0 * r2), outer(0, 1) * (2.0 * r));
            let (re, of_re) = (outer(1, 1), outer(1, 0) * r - outer(0, 0) * (2.0 * r * im2));
            let mean = |f: usize| far[2 % SUMS][f] + far[0][f] * (4.0 * r2 * im2);
            from_fn(|e| match (NW, e) {
                (1, 0) => far[0],
                (1, _) => [far[1 % SUMS][1], far[0][0] - far[1 % SUMS][0] * im2],
                (_, 0) => [factor + of_factor, re + of_re],
                (3, 1) => [mean(0), mean(1)],
                _ => [factor - of_factor, re - of_re],
            })
        }
    }

    /// How far the outer ones of a far band's energies are from their mean, and the square.
    #[inline(always)]
    fn reach<const NW: usize>(plan: &Plan) -> [f64; 2] {
        let factor = [0.0, 1.0, 2.0][NW - 1];
        [factor * plan.half, factor * factor * plan.square]
    }

    /// What the first of two energies, the only one or the middle one of three, is added to for `x`.
    #[inline(always)]
    fn to_mean<const NW: usize>(re: f64, plan: &Plan) -> f64 {
        if NW == 2 { re + plan.half } else { re }
    }

    /// Adds what the sums of `M` times factors stand for, with `−Im ω̃` in the factors' imaginary part; if `SUMS` are more, also
    /// that of [`square`].
    #[inline(always)]
    unsafe fn add_sums<const NW: usize, const SUMS: usize>(
        a: &Arrays,
        pairs: impl PairSource<2>,
        sums: &mut ThreadSums<SUMS>,
        mut of_factors: [[[Complex64; 2]; SUMS]; 2],
    ) {
        each::<2>(|t| {
            let (wtilde, half) = factors(a, pairs, t);
            if NW < SUMS {
                let ([one, _], [im, re]) = (of_factors[t][0], of_factors[t][NW]);
                of_factors[t][NW] = [im * 2.0, re * 2.0 - one];
            }
            each::<SUMS>(|e| {
                sums.ach[e] = sums.ach[e] + half * with_im(of_factors[t][e], -wtilde.im);
            });
        });
    }
}
