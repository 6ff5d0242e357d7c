//! Σ as a matrix on a processor: blocks of P that stay in its caches, and real matrix products.
//!
//! For each band n and energy, threads take a few igp each. They make P for these and some ig
//! ([`gpp_cpu::poles`]), multiply it by A of all l, and go on to the next ig: `U = Aᵀ P`. Then threads take a few m
//! each and add `U · vcoul · conj(A_m)` of all igp. Each element is added in the order of n and igp, whatever the
//! number of threads, and so are its bits.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use gemm_common::Parallelism;
use gemm_f64::gemm::f64::get_gemm_fn;
use gpp_cpu::level::Level;
use gpp_cpu::poles;
use gpp_cpu::poles::Pairs;
use gpp_cpu::pool::{Pool, Threads};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::devices::host::Host;
use crate::devices::{Device, Done};
use crate::error::{Error, Result};
use crate::offdiag::calculation::{Deal, Next, Worker};
use crate::offdiag::images::together;
use crate::offdiag::parts::{bands, ranges};
use crate::offdiag::{Summed, Sums, Task, parts};
use crate::problem::memory;

pub struct OnProcessor<'a> {
    run: Run<'a>,
    name: &'a str,
    pool: Arc<Pool>,
    /// Bands n and energies whose U are in memory at a time, and energies whose totals are.
    some: [usize; 3],
    columns: Vec<Range<usize>>,
}

impl<'a> OnProcessor<'a> {
    /// With the host's threads and vectors.
    pub fn new(host: &'a Host, task: Task<'a>) -> Result<OnProcessor<'a>> {
        let pool = host.pool(Threads::Cores)?;
        let (header, nw) = (task.problem.header(), task.nw());
        let items = (EACH * pool.threads()).div_ceil(header.ngpown.div_ceil(IGP));
        let together = together(nw, 8 * 3 * KINDS * task.bands() * task.bands());
        Ok(OnProcessor {
            some: [items.div_ceil(nw).min(header.nbands), items.min(together), together],
            columns: ranges(0..task.bands(), COLUMNS).collect(),
            run: Run { task, level: host.level(), rows: header.rows().collect() },
            name: &host.info().id,
            pool,
        })
    }

    /// Bytes of the host's memory beside the task's own arrays.
    pub fn needs(&self) -> u64 {
        self.run.bytes(self.pool.threads(), self.some)
    }

    /// The sums of a part, and seconds of the products; tells how much is done.
    fn part(&self, part: usize, done: &dyn Fn(f64)) -> (Sums, f64) {
        let OnProcessor { run, pool, columns, some: [some_n, some_w, together], .. } = self;
        let (task, n) = (&run.task, bands(&run.task, part));
        let nw = task.nw();
        let mut sums = Sums::zero(task.bands(), task.planes());
        let extent = |m: &Range<usize>| 3 * task.bands() * m.len();
        let mut seconds = 0.0;
        for energies in ranges(0..nw, *together) {
            let mut totals: Vec<Vec<f64>> = (0..energies.len() * KINDS)
                .flat_map(|_| columns.iter().map(|m| vec![0.0; extent(m)]))
                .collect();
            for some in ranges(n.clone(), *some_n).take_while(|_| !task.stop.is_asked()) {
                let operands: Vec<Operands> =
                    pool.install(|| some.clone().map(|n| run.operands(n)).collect());
                for iw in ranges(energies.clone(), *some_w) {
                    let products = Instant::now();
                    pool.install(|| {
                        let first = (iw.start - energies.start) * KINDS * columns.len();
                        run.add(&some, &iw, &operands, columns, &mut totals[first..]);
                    });
                    seconds += products.elapsed().as_secs_f64();
                    let before =
                        (energies.start * n.len() + (some.start - n.start) * energies.len()) as f64;
                    let own = (some.len() * (iw.end - energies.start)) as f64;
                    done((before + own) / (n.len() * nw) as f64);
                }
            }
            run.found(columns, &totals, energies, &mut sums);
        }
        (sums, seconds)
    }
}

impl Worker for OnProcessor<'_> {
    fn device(&self) -> &str {
        self.name
    }

    fn ahead(&self) -> usize {
        1
    }

    fn work(&mut self, worker: usize, deal: &Deal) -> Result<f64> {
        let mut seconds = 0.0;
        while let Next::Part(part) = deal.next(worker, true) {
            let (sums, time) = self.part(part, &|done| deal.tell(worker, done));
            deal.give(worker, part, sums);
            seconds += time;
        }
        Ok(seconds)
    }
}

/// Sums it on a processor, with the host's threads and vectors.
///
/// # Errors
/// [`Error::Memory`] before anything is allocated; [`Error::Stopped`].
pub fn on_processor(host: &Host, task: &Task, done: Done) -> Result<Summed> {
    let on_processor = OnProcessor::new(host, *task)?;
    memory::require(task.problem.name(), on_processor.needs())?;
    let (begun, all) = (Instant::now(), parts::count(task));
    let (mut sums, mut seconds) = (Sums::zero(task.bands(), task.planes()), 0.0);
    for part in 0..all {
        let of_part = |own| done((part as f64 + own) / all as f64);
        let (own, time) = on_processor.part(part, &of_part);
        if let Some(code) = task.stop.asked() {
            return Err(Error::Stopped { code, done: part, all, of: "parts" });
        }
        sums.add(&own);
        seconds += time;
    }
    Ok(Summed { sums, seconds, total: begun.elapsed().as_secs_f64() })
}

// Blocks of P, the two products, and the matrices that come of them: what threads of a processor do.

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

// Real matrix products, and complex ones made of three.

/// A matrix in a slice: element (row, column) at `row · strides.0 + column · strides.1`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub data: &'a [f64],
    pub rows: usize,
    pub columns: usize,
    pub strides: (usize, usize),
}

impl View<'_> {
    fn fits(&self) -> bool {
        let last = (self.rows - 1) * self.strides.0 + (self.columns - 1) * self.strides.1;
        last < self.data.len()
    }
}

/// `to += a · b`, or `to = a · b`: the columns of `to` follow each other.
///
/// # Panics
/// Where extents do not fit each other or the slices.
pub fn multiply(to: &mut [f64], a: View, b: View, adds: bool) {
    let (rows, columns, k) = (a.rows, b.columns, a.columns);
    assert!(rows > 0 && columns > 0 && k > 0 && k == b.rows, "extents of a product");
    assert!(a.fits() && b.fits() && rows * columns <= to.len(), "room for a product");
    let stride = |stride: usize| stride as isize;
    // SAFETY: all elements named by extents and strides are in their slices, as asserted, and `to` is borrowed alone.
    unsafe {
        get_gemm_fn()(
            rows,
            columns,
            k,
            to.as_mut_ptr(),
            stride(rows),
            1,
            adds,
            a.data.as_ptr(),
            stride(a.strides.1),
            stride(a.strides.0),
            b.data.as_ptr(),
            stride(b.strides.1),
            stride(b.strides.0),
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Real parts, imaginary parts and their sums, one plane after the other in a slice.
pub fn planes(all: &[f64]) -> [&[f64]; 3] {
    let (re, rest) = all.split_at(all.len() / 3);
    let (im, both) = rest.split_at(rest.len() / 2);
    [re, im, both]
}

pub fn planes_mut(all: &mut [f64]) -> [&mut [f64]; 3] {
    let third = all.len() / 3;
    let (re, rest) = all.split_at_mut(third);
    let (im, both) = rest.split_at_mut(third);
    [re, im, both]
}

/// The three products `Re·Re`, `Im·Im` and `(Re + Im)·(Re + Im)` of complex matrices in planes.
pub fn three(to: [&mut [f64]; 3], a: [View; 3], b: [View; 3], adds: bool) {
    for ((to, a), b) in to.into_iter().zip(a).zip(b) {
        multiply(to, a, b, adds);
    }
}

/// Real and imaginary part of a sum of the [`three`] products.
pub fn complex([re, im, both]: [f64; 3]) -> [f64; 2] {
    [re - im, both - re - im]
}
