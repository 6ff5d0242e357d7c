//! Σ as a matrix: matrix elements in memory.

use gpp::devices::cpu::CpuDevice;
use gpp::kernels::offdiag::ItemKind;
use gpp::kernels::offdiag::pack::{FallbackPairs, Fold, PackV, THREADS};
use gpp::kernels::offdiag::product::{ProductSigma, ProductU};
use gpp::problem::Problem;
use gpp::reference::matrix::SampledElements;
use gpp_core::offdiag::cpu::MatrixOnCpu;
use gpp_core::offdiag::gpu::{ImageAddresses, Launches, MatrixVersion, batches};
use gpp_core::offdiag::images::{self, ImageShape};
use gpp_core::offdiag::{Elements, MatrixSums, MatrixTask, MatrixWorkers};
use num_complex::Complex64;

use super::{Random, remade};

pub fn on_cpu(task: &MatrixTask) -> gpp::error::Result<MatrixSums> {
    let device = CpuDevice::new();
    let worker = MatrixOnCpu::new(&device, *task)?;
    let mut workers = MatrixWorkers::new(*task, vec![Box::new(worker)], &gpp_core::ranks::Alone);
    Ok(workers.sum(&|_| ())?.0)
}

/// The problem whose sums are one element of the matrix: `aqsn` is A of band l, `aqsm` that of band m.
pub fn element(problem: &Problem, elements: &dyn Elements, [l, m]: [usize; 2]) -> Problem {
    let header = problem.header();
    let of_band = |band: usize| -> Vec<Complex64> {
        let mut all = vec![Complex64::ZERO; header.ncouls * header.nbands];
        let columns = all.chunks_exact_mut(header.ncouls).enumerate();
        columns.for_each(|(n, column)| elements.column(band, n, column));
        all
    };
    let of_rows = |column: &[Complex64]| -> Vec<Complex64> {
        header.rows().map(|row| row.map_or(Complex64::ZERO, |row| column[row])).collect()
    };
    remade(problem, |_, of| {
        of.aqsn = of_band(l);
        of.aqsm_local = of_band(m).chunks_exact(header.ncouls).flat_map(of_rows).collect();
    })
}

/// Matrix elements in memory: `(ncouls, nbands, bands)`.
pub struct Given {
    pub bands: usize,
    nbands: usize,
    ncouls: usize,
    pub all: Vec<Complex64>,
}

impl Given {
    pub fn of(problem: &Problem, bands: usize, seed: u64) -> Given {
        let (nbands, ncouls) = (problem.header().nbands, problem.header().ncouls);
        let mut random = Random::of(seed);
        let all = (0..ncouls * nbands * bands).map(|_| random.complex()).collect();
        Given { bands, nbands, ncouls, all }
    }

    /// Of two bands, a problem's own: `aqsn`, and `aqsm` in the rows that columns have.
    pub fn own(problem: &Problem) -> Given {
        let (nbands, ncouls) = (problem.header().nbands, problem.header().ncouls);
        let mut all = problem.aqsn().to_vec();
        for column in problem.slab().aqsm_local().columns() {
            let mut whole = vec![Complex64::ZERO; ncouls];
            let rows = problem.header().rows().zip(column);
            rows.for_each(|(row, element)| row.into_iter().for_each(|row| whole[row] = *element));
            all.extend(whole);
        }
        Given { bands: 2, nbands, ncouls, all }
    }

    /// With each odd n as the one before it, times a sign.
    pub fn in_pairs(mut self, sign: f64) -> Given {
        let ncouls = self.ncouls;
        for of_l in self.all.chunks_mut(self.nbands * ncouls) {
            for pair in of_l.chunks_exact_mut(2 * ncouls) {
                let (one, other) = pair.split_at_mut(ncouls);
                other.iter_mut().zip(one).for_each(|(other, one)| *other = *one * sign);
            }
        }
        self
    }
}

impl Elements for Given {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let at = (l * self.nbands + n) * self.ncouls;
        column.copy_from_slice(&self.all[at..at + self.ncouls]);
    }
}

// Launches as a GPU does them, block by block and warp by warp: their arguments are the kernel's, and what they point to
// lives.

/// Does a launch of a kernel of U: of real or complex poles.
pub unsafe fn run_u(version: &MatrixVersion, complex: bool, kind: ItemKind, arguments: &ProductU) {
    let (tile, warp) = (version.tile_u, version.warp_u[usize::from(complex)][kind as usize]);
    for block in 0..arguments.blocks(tile) {
        // SAFETY: the caller's.
        (0..tile.warps()).for_each(|at| unsafe { warp(arguments, block, at) });
    }
}

pub unsafe fn run_sigma(version: &MatrixVersion, arguments: &ProductSigma) {
    let (tile, warp) = (version.tile_sigma, version.warp_sigma);
    for block in 0..arguments.blocks(tile) {
        // SAFETY: the caller's.
        (0..tile.warps()).for_each(|at| unsafe { warp(arguments, block, at) });
    }
}

pub unsafe fn add_fallback(pairs: &FallbackPairs) {
    for block in 0..pairs.blocks() {
        // SAFETY: the caller's.
        (0..THREADS).for_each(|thread| unsafe { pairs.thread(block, thread) });
    }
}

pub unsafe fn pack_v(pack: &PackV) {
    // SAFETY: the caller's.
    (0..pack.blocks() * THREADS).for_each(|index| unsafe { pack.element(index) });
}

pub unsafe fn fold(fold: &Fold) {
    // SAFETY: the caller's.
    (0..fold.blocks() * THREADS).for_each(|index| unsafe { fold.number(index) });
}

/// The sums of a task as a version computes them on a GPU: the same source on the host, warp by warp.
pub fn emulated(task: &MatrixTask, version: &'static MatrixVersion) -> MatrixSums {
    let shape = ImageShape::for_task(task, version);
    let (image, fallback) = images::poles(task, &shape);
    let (begins, scaled) = (images::begins(&fallback), images::scaled(task, &fallback));
    let (rows, vcoul) = images::rows(task, &shape);
    let (w, weights) = images::energies(task);
    let (mut u, mut v) = (vec![f64::NAN; shape.u()], vec![f64::NAN; shape.v()]);
    let nw = task.nw();
    let mut total = MatrixSums::zero(task.bands(), task.planes());
    let mut sums = vec![0.0; 2 * nw * shape.sums()];
    let mut folded = vec![f64::NAN; 2 * nw * shape.folded()];
    for part in 0..task.parts() {
        let mut a = vec![0.0; shape.a()];
        images::fill(task, &shape, part, &mut a);
        let place = ImageAddresses {
            a: a.as_ptr(),
            poles: image.as_ptr(),
            pairs: fallback.as_ptr(),
            begins: begins.as_ptr(),
            scaled: scaled.as_ptr(),
            columns: begins.len() as u32 - 1,
            rows: rows.as_ptr(),
            vcoul: vcoul.as_ptr(),
            w: w.as_ptr(),
            weights: weights.as_ptr(),
            u: u.as_mut_ptr(),
            v: v.as_mut_ptr(),
        };
        // SAFETY: the arrays are of this shape, and live.
        unsafe {
            for batch in &batches(task, 0..nw, part) {
                let first = (2 * batch.iw + batch.matrix(task)) * shape.sums();
                let sums = sums[first..][..shape.sums()].as_mut_ptr();
                let Launches { first, fallback, gather, second } =
                    Launches::for_batch(task, &shape, &place, batch, sums);
                run_u(version, !shape.real, batch.kind, &first);
                fallback.iter().for_each(|pairs| add_fallback(pairs));
                if batch.gathers {
                    pack_v(&gather);
                }
                run_sigma(version, &second);
            }
            fold(&shape.fold(sums.as_mut_ptr(), folded.as_mut_ptr(), 2 * nw as u32));
        }
        let mut found = MatrixSums::zero(task.bands(), task.planes());
        for (iw, values) in folded.chunks_exact(2 * shape.folded()).enumerate() {
            shape.take(&mut found, task.at, iw, values);
        }
        total.sx.iter_mut().zip(found.sx).for_each(|(to, from)| *to += from);
        total.ch.iter_mut().zip(found.ch).for_each(|(to, from)| *to += from);
    }
    total
}

pub fn sample_of_all(task: &MatrixTask) -> SampledElements {
    SampledElements { bands: (0..task.bands()).collect(), energies: (0..task.nw()).collect() }
}
