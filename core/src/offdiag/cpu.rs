//! Σ as a matrix on a CPU: blocks of P that stay in its caches, and real matrix products.
//!
//! For each band n and energy, threads take a few igp each, make P for some ig ([`gpp_cpu::definition`]) and multiply
//! it by A of all l, ig after ig: `U = Aᵀ P`. Then threads take a few m each and add `U · vcoul · conj(A_m)` of all
//! igp. Each element is added in the order of n and igp: bits do not depend on threads.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use gemm_common::Parallelism;
use gemm_f64::gemm::f64::get_gemm_fn;
use gpp_cpu::definition::{self, DefinitionPairs};
use gpp_cpu::pool::{DefaultThreads, Pool};
use gpp_cpu::simd::Level;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::devices::cpu::CpuDevice;
use crate::devices::{Advance, Control, Device};
use crate::error::Result;
use crate::offdiag::images::together;
use crate::offdiag::{MatrixSums, MatrixTask, MatrixWorker, ranges};
use crate::schedule::StepPipeline;

/// igp of a block of P, and ig.
const IGP: usize = 64;
const IG: usize = 256;

/// Numbers that a thread has packed for a product at most.
const PACKED: usize = 1 << 18;

/// Columns m that a thread takes at a time.
const COLUMNS: usize = 64;

/// Blocks for each thread between two waits, so that all have about as much to do.
const EACH: usize = 8;

/// The kinds of P, in the order in which they are made: `sch` of all bands, `ssx` of those that are occupied. For Σ alone
/// the first one is `sch − 2·occ·ssx`, and the second one is not multiplied.
const KINDS: usize = 2;

pub struct MatrixOnCpu<'a> {
    task: MatrixTask<'a>,
    name: &'a str,
    level: Level,
    pool: Arc<Pool>,
    /// The row of A of each igp, if it has one.
    rows: Vec<Option<usize>>,
    columns: Vec<Range<usize>>,
    /// Bands n and energies whose U are in memory at a time, and energies whose totals are.
    n_at_a_time: usize,
    iw_at_a_time: usize,
    together: usize,
    sums: Option<MatrixSums>,
    seconds: f64,
}

/// A of a band n, in planes.
struct BandOperands {
    /// `A_l(ig)`, l running fastest.
    a: Vec<f64>,
    /// `vcoul(igp) · conj(A_m(igp))`, igp running fastest.
    v: Vec<f64>,
}

impl StepPipeline<MatrixSums> for MatrixOnCpu<'_> {
    fn device(&self) -> &str {
        self.name
    }

    fn has_room(&self) -> bool {
        self.sums.is_none()
    }

    fn begin(&mut self, part: usize, advance: Advance) -> Result<bool> {
        let (sums, seconds) = self.sum(self.task.part(part), advance);
        Control { advance, stop: self.task.stop }.check()?;
        self.sums = Some(sums);
        self.seconds += seconds;
        Ok(true)
    }

    fn finish(&mut self, _: Advance) -> Result<Option<MatrixSums>> {
        Ok(self.sums.take())
    }
}

impl MatrixWorker for MatrixOnCpu<'_> {
    fn start(&mut self) -> Result<()> {
        (self.sums, self.seconds) = (None, 0.0);
        Ok(())
    }

    fn ahead(&self) -> usize {
        1
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl<'a> MatrixOnCpu<'a> {
    pub fn new(host: &'a CpuDevice, task: MatrixTask<'a>) -> Result<MatrixOnCpu<'a>> {
        let pool = host.pool(DefaultThreads::Cores)?;
        let (header, nw) = (task.problem.header(), task.nw());
        let items = (EACH * pool.threads()).div_ceil(header.ngpown.div_ceil(IGP));
        let together = together(nw, 8 * 3 * KINDS * task.bands() * task.bands());
        Ok(MatrixOnCpu {
            name: &host.info().id,
            level: host.level(),
            pool,
            rows: header.rows().collect(),
            columns: ranges(0..task.bands(), COLUMNS).collect(),
            n_at_a_time: items.div_ceil(nw).min(header.nbands),
            iw_at_a_time: items.min(together),
            together,
            sums: None,
            seconds: 0.0,
            task,
        })
    }

    /// Bytes of the host's memory in addition to the task's own arrays.
    pub fn needs(&self) -> u64 {
        let MatrixOnCpu { task, n_at_a_time, iw_at_a_time, together, .. } = self;
        let (bands, ngpown) = (task.bands(), self.rows.len());
        let ncouls = task.problem.header().ncouls;
        let operands = n_at_a_time * 3 * bands * (ncouls + ngpown) + 2 * bands * ncouls;
        let products = n_at_a_time * iw_at_a_time * KINDS * 3 * bands * ngpown;
        // Totals in planes, and the matrices of all parts, of one that is added to it and of the next.
        let matrices = 2 * task.planes() * (1 + task.parts().min(2));
        let sums = KINDS * (3 * together + matrices) * bands * bands;
        let blocks = self.pool.threads() * (KINDS * 3 * IGP * IG + PACKED);
        8 * (operands + products + sums + blocks) as u64
    }

    /// The sums of bands n, and seconds of the products.
    fn sum(&self, n: Range<usize>, advance: Advance) -> (MatrixSums, f64) {
        let MatrixOnCpu { task, pool, columns, .. } = self;
        let nw = task.nw();
        let mut sums = MatrixSums::zero(task.bands(), task.planes());
        let (mut seconds, mut finished) = (0.0, 0);
        for energies in ranges(0..nw, self.together) {
            let mut totals: Vec<Vec<f64>> = (0..energies.len() * KINDS)
                .flat_map(|_| columns.iter().map(|m| vec![0.0; 3 * task.bands() * m.len()]))
                .collect();
            let chunks = ranges(n.clone(), self.n_at_a_time);
            for some in chunks.take_while(|_| !task.stop.is_asked()) {
                let operands: Vec<BandOperands> =
                    pool.install(|| some.clone().map(|n| self.operands(n)).collect());
                for iw in ranges(energies.clone(), self.iw_at_a_time) {
                    let products = Instant::now();
                    pool.install(|| {
                        let first = (iw.start - energies.start) * KINDS * columns.len();
                        self.add(&some, &iw, &operands, &mut totals[first..]);
                    });
                    seconds += products.elapsed().as_secs_f64();
                    finished += some.len() * iw.len();
                    advance(finished as f64 / (n.len() * nw) as f64);
                }
            }
            for (iw, totals) in energies.zip(totals.chunks_exact(KINDS * columns.len())) {
                sums.take(task.at, iw, |l, m| {
                    let element = l + task.bands() * (m % COLUMNS);
                    let [hole, exchange] = [0, 1].map(|kind| {
                        let [re, im, both] = planes(&totals[kind * columns.len() + m / COLUMNS]);
                        complex([re[element], im[element], both[element]])
                    });
                    [exchange, hole]
                });
            }
        }
        (sums, seconds)
    }

    fn operands(&self, n: usize) -> BandOperands {
        let (problem, bands) = (self.task.problem, self.task.bands());
        let (ncouls, vcoul) = (problem.header().ncouls, problem.vcoul_loc());
        let mut columns = vec![Complex64::ZERO; bands * ncouls];
        columns.par_chunks_mut(ncouls).enumerate().for_each(|(l, column)| {
            if !self.task.stop.is_asked() {
                self.task.elements.column(l, n, column);
            }
        });
        let of_igp = |m: usize, igp: usize| {
            let a = self.rows[igp].map_or(Complex64::ZERO, |row| columns[m * ncouls + row]);
            a.conj() * vcoul[igp]
        };
        BandOperands {
            a: in_planes(bands, ncouls, |ig, l| columns[l * ncouls + ig]),
            v: in_planes(self.rows.len(), bands, of_igp),
        }
    }

    /// Adds bands n at some energies to the totals, which begin with the first of these.
    fn add(
        &self,
        n: &Range<usize>,
        iw: &Range<usize>,
        operands: &[BandOperands],
        totals: &mut [Vec<f64>],
    ) {
        let (columns, bands, ngpown) = (&self.columns, self.task.bands(), self.rows.len());
        let igp: Vec<Range<usize>> = ranges(0..ngpown, IGP).collect();
        let blocks = igp.len();
        let items = n.len() * iw.len() * blocks;
        let made = |scratch: &mut [Vec<f64>; KINDS], item: usize| {
            let (at, igp) = (item / blocks, &igp[item % blocks]);
            let (n_at, iw) = (at / iw.len(), iw.start + at % iw.len());
            self.first(scratch, n.start + n_at, iw, &operands[n_at], igp)
        };
        let scratch = || [(); KINDS].map(|()| vec![0.0; 3 * IGP * IG]);
        // For each n, energy and block: U of both kinds.
        let u: Vec<[Vec<f64>; KINDS]> =
            (0..items).into_par_iter().with_max_len(1).map_init(scratch, made).collect();
        let some = &mut totals[..iw.len() * KINDS * columns.len()];
        some.par_iter_mut().with_max_len(1).enumerate().for_each(|(at, total)| {
            let (m, kind) = (&columns[at % columns.len()], at / columns.len() % KINDS);
            let iw_at = at / columns.len() / KINDS;
            for (n_at, of_n) in operands.iter().enumerate() {
                let item = (n_at * iw.len() + iw_at) * blocks;
                for (u, igp) in u[item..item + blocks].iter().map(|u| &u[kind]).zip(&igp) {
                    if u.is_empty() || self.task.stop.is_asked() {
                        continue;
                    }
                    let v = planes(&of_n.v).map(|plane| &plane[m.start * ngpown + igp.start..]);
                    let lengths = [bands, igp.len(), m.len()];
                    add_products(planes_mut(total), (planes(u), bands), (v, ngpown), lengths);
                }
            }
        });
    }

    /// U of a block of igp in planes, l running fastest; empty if the band has no such P.
    fn first(
        &self,
        scratch: &mut [Vec<f64>; KINDS],
        n: usize,
        iw: usize,
        operands: &BandOperands,
        igp: &Range<usize>,
    ) -> [Vec<f64>; KINDS] {
        let (problem, bands) = (self.task.problem, self.task.bands());
        let ncouls = problem.header().ncouls;
        let (w, occ) = (problem.wx()[n * problem.nw() + iw], problem.occ()[n]);
        let is_alone = self.task.sigma_alone;
        let kinds = if occ == 0.0 || is_alone { 1 } else { KINDS };
        let mut sums = [0; KINDS].map(|_: usize| Vec::new());
        sums[..kinds].fill(vec![0.0; 3 * bands * igp.len()]);
        let some = igp.start * ncouls..igp.end * ncouls;
        let (wtilde, eps) = (&problem.wtilde()[some.clone()], &problem.eps()[some]);
        for ig in ranges(0..ncouls, IG).take_while(|_| !self.task.stop.is_asked()) {
            let pairs = DefinitionPairs { wtilde, eps, ncouls, ig: ig.clone(), stride: IG };
            let [sch, ssx] = scratch.each_mut().map(|p| planes_mut(p));
            let ssx = (occ != 0.0).then_some(ssx);
            definition::make(self.level, &pairs, (w, self.task.problem.limits()), sch, ssx);
            if is_alone && occ != 0.0 {
                let [sch, ssx] = &mut *scratch;
                sch.iter_mut().zip(ssx).for_each(|(sch, ssx)| *sch -= 2.0 * occ * *ssx);
            }
            let a = planes(&operands.a).map(|plane| &plane[ig.start * bands..]);
            for (p, sums) in scratch.iter().zip(&mut sums[..kinds]) {
                let lengths = [bands, ig.len(), igp.len()];
                add_products(planes_mut(sums), (a, bands), (planes(p), IG), lengths);
            }
        }
        for (sums, factor) in sums[..kinds].iter_mut().zip([0.5, -occ]) {
            let [re, im, both] = planes_mut(sums);
            for ((re, im), both) in re.iter_mut().zip(im).zip(both) {
                let u = factor * complex([*re, *im, *both]);
                (*re, *im, *both) = (u.re, u.im, u.re + u.im);
            }
        }
        sums
    }
}

// Complex matrix products, made of three real ones: `Re·Re`, `Im·Im` and `(Re + Im)·(Re + Im)`.

/// `to += a · b` of each plane. Matrices are column-major, of (rows, k), (k, columns) and (rows, columns). Columns of `to`
/// follow each other, those of `a` and `b` begin so many numbers apart. Panics if a matrix is not in its slice.
fn add_products(
    to: [&mut [f64]; 3],
    (a, lda): ([&[f64]; 3], usize),
    (b, ldb): ([&[f64]; 3], usize),
    [rows, k, columns]: [usize; 3],
) {
    let fits = |matrix: &[f64], rows: usize, columns: usize, ld: usize| {
        rows > 0 && columns > 0 && (columns - 1) * ld + rows <= matrix.len()
    };
    for ((to, a), b) in to.into_iter().zip(a).zip(b) {
        assert!(fits(to, rows, columns, rows) && fits(a, rows, k, lda) && fits(b, k, columns, ldb));
        // SAFETY: all elements are in their slices, as asserted; `to` is borrowed alone.
        unsafe {
            get_gemm_fn()(
                rows,
                columns,
                k,
                to.as_mut_ptr(),
                rows as isize,
                1,
                true,
                a.as_ptr(),
                lda as isize,
                1,
                b.as_ptr(),
                ldb as isize,
                1,
                1.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}

/// Columns in planes: element `of(column, row)`.
fn in_planes(
    rows: usize,
    columns: usize,
    of: impl Fn(usize, usize) -> Complex64 + Sync,
) -> Vec<f64> {
    let mut values = vec![0.0; 3 * rows * columns];
    let [re, im, both] = planes_mut(&mut values).map(|plane| plane.par_chunks_mut(rows));
    re.zip(im).zip(both).enumerate().for_each(|(column, ((re, im), both))| {
        for row in 0..rows {
            let z = of(column, row);
            (re[row], im[row], both[row]) = (z.re, z.im, z.re + z.im);
        }
    });
    values
}

/// Real parts, imaginary parts and their sums, one plane after the other in a slice.
fn planes(values: &[f64]) -> [&[f64]; 3] {
    let third = values.len() / 3;
    [&values[..third], &values[third..2 * third], &values[2 * third..]]
}

fn planes_mut(values: &mut [f64]) -> [&mut [f64]; 3] {
    let third = values.len() / 3;
    let (re, rest) = values.split_at_mut(third);
    let (im, both) = rest.split_at_mut(third);
    [re, im, both]
}

fn complex([re, im, both]: [f64; 3]) -> Complex64 {
    Complex64::new(re - im, both - re - im)
}
