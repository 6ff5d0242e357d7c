//! Blocks of P, the two products, and the matrices that come of them: what threads of a processor do.

use std::ops::Range;

use gpp_cpu::level::Level;
use gpp_cpu::poles::{self, Pairs};
use num_complex::Complex64;
use rayon::prelude::*;

use super::parts::{self, ranges};
use super::products::{View, complex, planes, planes_mut, three};
use super::{Sums, Task};

/// igp of a block of P, and ig.
pub const IGP: usize = 64;
pub const IG: usize = 256;

/// Numbers that a thread has packed for a product at most.
const PACKED: usize = 1 << 18;

/// Columns m that a thread takes at a time.
pub const COLUMNS: usize = 64;

/// Blocks for each thread between two waits, so that all have about as much to do.
pub const EACH: usize = 8;

/// The kinds of P, in the order in which they are made: `sch` of all bands, `ssx` of those that are occupied.
pub const KINDS: usize = 2;

/// What does not change.
pub struct Run<'a> {
    pub task: Task<'a>,
    pub level: Level,
    /// The row of A that an igp is, where it has one.
    pub rows: Vec<Option<usize>>,
}

/// A of a band n, in planes.
pub struct Operands {
    /// `A_l(ig)`, l running fastest.
    a: Vec<f64>,
    /// `vcoul(igp) · conj(A_m(igp))`, igp running fastest.
    v: Vec<f64>,
}

/// What a thread works with: blocks of P of both kinds, and products.
struct Scratch {
    p: [Vec<f64>; KINDS],
}

impl Run<'_> {
    /// Bytes beside the task's own.
    pub fn bytes(&self, threads: usize, [n, iw, together]: [usize; 3]) -> u64 {
        let bands = self.task.bands();
        let (ncouls, ngpown) = (self.task.problem.header().ncouls, self.rows.len());
        let operands = n * 3 * bands * (ncouls + ngpown) + 2 * bands * ncouls;
        let products = n * iw * KINDS * 3 * bands * ngpown;
        // Totals in planes, and the matrices of all parts, of one that is added to it and of the next.
        let matrices = 2 * self.task.planes() * (1 + parts::count(&self.task).min(2));
        let sums = KINDS * (3 * together + matrices) * bands * bands;
        8 * (operands + products + sums + threads * (KINDS * 3 * IGP * IG + PACKED)) as u64
    }

    /// Those of a band n.
    pub fn operands(&self, n: usize) -> Operands {
        let (bands, ngpown) = (self.task.bands(), self.rows.len());
        let (ncouls, vcoul) = (self.task.problem.header().ncouls, self.task.problem.vcoul_loc());
        let mut columns = vec![Complex64::ZERO; bands * ncouls];
        columns.par_chunks_mut(ncouls).enumerate().for_each(|(l, column)| {
            if self.task.stop.is_asked() {
                return;
            }
            self.task.elements.column(l, n, column);
        });
        let parts = |z: Complex64| [z.re, z.im, z.re + z.im];
        let mut a = vec![0.0; 3 * bands * ncouls];
        let [re, im, both] = planes_mut(&mut a);
        let of_ig =
            re.par_chunks_mut(bands).zip(im.par_chunks_mut(bands)).zip(both.par_chunks_mut(bands));
        of_ig.enumerate().for_each(|(ig, ((re, im), both))| {
            for l in 0..bands {
                [re[l], im[l], both[l]] = parts(columns[l * ncouls + ig]);
            }
        });
        let mut v = vec![0.0; 3 * bands * ngpown];
        let [re, im, both] = planes_mut(&mut v);
        let of_m = re
            .par_chunks_mut(ngpown)
            .zip(im.par_chunks_mut(ngpown))
            .zip(both.par_chunks_mut(ngpown));
        of_m.zip(columns.par_chunks(ncouls)).for_each(|(((re, im), both), column)| {
            for (igp, row) in self.rows.iter().enumerate() {
                let a = row.map_or(Complex64::ZERO, |row| column[row]);
                [re[igp], im[igp], both[igp]] = parts(a.conj() * vcoul[igp]);
            }
        });
        Operands { a, v }
    }

    /// Adds bands n at some energies to the totals, which begin with the first of these.
    pub fn add(
        &self,
        n: &Range<usize>,
        iw: &Range<usize>,
        operands: &[Operands],
        columns: &[Range<usize>],
        totals: &mut [Vec<f64>],
    ) {
        let igp: Vec<Range<usize>> = ranges(0..self.rows.len(), IGP).collect();
        let blocks = igp.len();
        let items = n.len() * iw.len() * blocks;
        let made = |scratch: &mut Scratch, item: usize| {
            let (at, igp) = (item / blocks, &igp[item % blocks]);
            let (n_at, iw) = (at / iw.len(), iw.start + at % iw.len());
            self.first(scratch, n.start + n_at, iw, &operands[n_at], igp)
        };
        let scratch = || Scratch { p: [(); KINDS].map(|()| vec![0.0; 3 * IGP * IG]) };
        // For each n, energy and block: U of both kinds.
        let u: Vec<[Vec<f64>; KINDS]> =
            (0..items).into_par_iter().with_max_len(1).map_init(scratch, made).collect();
        let some = &mut totals[..iw.len() * KINDS * columns.len()];
        some.par_iter_mut().with_max_len(1).enumerate().for_each(|(at, total)| {
            let (m, kind) = (&columns[at % columns.len()], at / columns.len() % KINDS);
            let iw_at = at / columns.len() / KINDS;
            for (n_at, of_n) in operands.iter().enumerate() {
                let item = (n_at * iw.len() + iw_at) * blocks;
                for (u, igp) in u[item..item + blocks].iter().zip(&igp) {
                    self.second(total, &u[kind], of_n, igp, m);
                }
            }
        });
    }

    /// U of a block of igp in planes, l running fastest; empty where the band has no such P.
    fn first(
        &self,
        scratch: &mut Scratch,
        n: usize,
        iw: usize,
        operands: &Operands,
        igp: &Range<usize>,
    ) -> [Vec<f64>; KINDS] {
        let (problem, bands) = (self.task.problem, self.task.bands());
        let ncouls = problem.header().ncouls;
        let (w, occ) = (problem.wx()[n * problem.nw() + iw], problem.occ()[n]);
        let kinds = if occ == 0.0 { 1 } else { KINDS };
        let mut sums = [0; KINDS].map(|_: usize| Vec::new());
        sums[..kinds].fill(vec![0.0; 3 * bands * igp.len()]);
        let some = igp.start * ncouls..igp.end * ncouls;
        let (wtilde, eps) = (&problem.wtilde()[some.clone()], &problem.eps()[some]);
        for ig in ranges(0..ncouls, IG).take_while(|_| !self.task.stop.is_asked()) {
            let pairs = Pairs { wtilde, eps, ncouls, ig: ig.clone(), stride: IG };
            let [sch, ssx] = scratch.p.each_mut().map(|p| planes_mut(p));
            let ssx = (kinds == KINDS).then_some(ssx);
            poles::make(self.level, &pairs, (w, self.task.limits()), sch, ssx);
            let a = planes(&operands.a).map(|plane| View {
                data: &plane[ig.start * bands..ig.end * bands],
                rows: bands,
                columns: ig.len(),
                strides: (1, bands),
            });
            for (p, sums) in scratch.p.iter().zip(&mut sums[..kinds]) {
                let p = planes(p).map(|data| View {
                    data,
                    rows: ig.len(),
                    columns: igp.len(),
                    strides: (1, IG),
                });
                three(planes_mut(sums), a, p, true);
            }
        }
        for (sums, factor) in sums[..kinds].iter_mut().zip([0.5, -occ]) {
            let [re, im, both] = planes_mut(sums);
            for ((re, im), both) in re.iter_mut().zip(im).zip(both) {
                let [u, v] = complex([*re, *im, *both]).map(|part| factor * part);
                (*re, *im, *both) = (u, v, u + v);
            }
        }
        sums
    }

    /// Adds `U · V` of a block of igp to the total of columns m, in planes.
    fn second(
        &self,
        total: &mut [f64],
        u: &[f64],
        operands: &Operands,
        igp: &Range<usize>,
        m: &Range<usize>,
    ) {
        if u.is_empty() || self.task.stop.is_asked() {
            return;
        }
        let (bands, ngpown) = (self.task.bands(), self.rows.len());
        let u = planes(u).map(|data| View {
            data,
            rows: bands,
            columns: igp.len(),
            strides: (1, bands),
        });
        let v = planes(&operands.v).map(|plane| View {
            data: &plane[m.start * ngpown + igp.start..],
            rows: igp.len(),
            columns: m.len(),
            strides: (1, ngpown),
        });
        three(planes_mut(total), u, v, true);
    }

    /// Fills in the matrices that the totals of some energies are.
    pub fn found(
        &self,
        columns: &[Range<usize>],
        totals: &[Vec<f64>],
        iw: Range<usize>,
        to: &mut Sums,
    ) {
        for (iw, totals) in iw.zip(totals.chunks_exact(KINDS * columns.len())) {
            to.take(self.task.at, iw, |l, m| {
                let at = l + self.task.bands() * (m % COLUMNS);
                let [hole, exchange] = [0, 1].map(|kind| {
                    let [re, im, both] = planes(&totals[kind * columns.len() + m / COLUMNS]);
                    let [re, im] = complex([re[at], im[at], both[at]]);
                    Complex64::new(re, im)
                });
                [exchange, hole]
            });
        }
    }
}
