//! What holds on every device: slabs and workers change no bit, and slabs are distinguished by more than their range.

use gpp::catalogue::{BackEnd, Version, ch_of_bands, versions};
use gpp::devices::gpu::Gpu;
use gpp::devices::{Control, Device, Worker};
use gpp::engine::Engine;
use gpp::error::{Error, Result};
use gpp::kernels::arrays::Layout;
use gpp::kernels::kernel::{Dimensions, Kernel};
use gpp::kernels::versions::ALL;
use gpp::measure::same_bits;
use gpp::problem::arrays::{ARRAYS, ArraySpec, Of};
use gpp::problem::{Extents, Problem, Slab, Sums};
use gpp::reference::{self, Outcome, verify_version};
use gpp_core::offdiag::gpu::{MatrixOnGpu, MatrixVersion, version_for};
use gpp_core::offdiag::{MatrixSums, MatrixTask, MatrixWorker, MatrixWorkers};
use num_complex::Complex64;

use super::{Kind, Matrices, QUIET, first_batch, made, matrices};

fn engine<'a>(
    device: &'a dyn Device,
    problem: &'a Problem,
    igp: usize,
    workers: usize,
) -> Result<Engine<'a>> {
    let workers = (0..workers).map(|_| device.worker(problem)).collect::<Result<_>>()?;
    Engine::new(&gpp_core::ranks::Alone, problem, igp, workers)
}

/// The sums of two runs, which have the same bits.
pub fn summed(
    device: &dyn Device,
    problem: &Problem,
    kernel: Version,
    igp: usize,
    workers: usize,
) -> Result<Sums> {
    let mut engine = engine(device, problem, igp, workers)?;
    let [first, again] = [engine.run(kernel)?.sums, engine.run(kernel)?.sums];
    assert!(same_bits(&first, &again), "{} of {}: two runs differ", kernel.id(), problem.name());
    Ok(first)
}

pub fn matrix(gpu: &Gpu, task: &MatrixTask, version: &'static MatrixVersion) -> Result<MatrixSums> {
    let version = version_for(gpu, Some(version), task.bands())?;
    let worker: Box<dyn MatrixWorker> = Box::new(MatrixOnGpu::new(gpu, *task, version)?);
    let workers = vec![worker];
    Ok(MatrixWorkers::new(*task, workers, &gpp_core::ranks::Alone).sum(&|_| ())?.0)
}

/// Most bytes that a device needs for the arrays of the bands and of `slabs` slabs in one layout, with sums and pairs.
pub fn device_bytes(slab: Extents, slabs: u64) -> u64 {
    let layouts = [
        Layout::Original,
        Layout::Swapped,
        Layout::Planned,
        Layout::Listed,
        Layout::Single,
        Layout::Clusters,
    ];
    let most = |of: &ArraySpec| layouts.map(|layout| of.bytes(slab, layout)).into_iter().max();
    let arrays = |part| ARRAYS.into_iter().filter(move |array| array.belongs_to == part);
    let bytes = |part| arrays(part).filter_map(&most).sum::<u64>();
    let Extents { nbands, ngpown, ncouls, nw } = slab;
    // Fallback pairs are no more than one of 16, or all pairs are sorted.
    let begins: Vec<u32> = (0..=ngpown).map(|igp| (igp * ncouls / 16) as u32).collect();
    let dimensions = Dimensions {
        nbands: nbands as u32,
        ngpown: ngpown as u32,
        ncouls: ncouls as u32,
        nw: nw as u32,
        fallback_begins: &begins,
        clusters: u32::MAX,
    };
    let partial_sums = |kernel: &Kernel| {
        let grid = kernel.grid(&dimensions);
        let values = kernel.values([nbands, nw.min(kernel.holds())].map(|count| count as u64));
        u64::from(grid.per_group() + 1) * u64::from(grid.groups) * values * 8
    };
    let kernels = ALL.iter().flat_map(|gpu| gpu.kernels);
    let besides = (ngpown * ncouls * 8) as u64 + kernels.map(partial_sums).max().unwrap_or(0);
    bytes(Of::Bands) + slabs * (bytes(Of::Slab) + besides)
}

/// `igp` of a group of the kernels that sum this problem; `None` if the slab is one.
pub fn group(problem: &Problem, kernel: Version) -> Option<usize> {
    kernel.igp_of_group(problem.outline())
}

/// Slabs of whole groups on several workers give the bits of the whole, the paper's grids those of the same slabs on one,
/// shares of sorted pairs those of a run before.
/// Returns how often parts of a grouped problem were compared.
pub fn slabs(
    device: &dyn Device,
    problem: &Problem,
    kernels: impl Iterator<Item = Version>,
) -> Result<usize> {
    let (ngpown, mut compared) = (problem.header().ngpown, 0);
    let reference = reference::for_problem(problem, QUIET)?;
    for kernel in kernels {
        let group = group(problem, kernel);
        let whole = group.map(|_| summed(device, problem, kernel, ngpown, 1)).transpose()?;
        let cases = match group {
            Some(group) => {
                [(1, 1), (1, 5), (2, 2), (3, 5), (5, 2)].map(|(n, of)| (n * group, of)).to_vec()
            }
            None => vec![(7, 3), (48, 3), (ngpown, 3)],
        };
        for (igp, workers) in cases {
            let what = format!("{} of {}: {igp} igp on {workers}", kernel.id(), problem.name());
            let parted = summed(device, problem, kernel, igp, workers)?;
            match &whole {
                Some(whole) => assert!(same_bits(whole, &parted), "{what}"),
                None => {
                    // Workers share out the sorted pairs of one slab.
                    let workers = if igp < ngpown { 1 } else { workers };
                    let one = summed(device, problem, kernel, igp, workers)?;
                    assert!(same_bits(&one, &parted), "{what}");
                    let found = verify_version(kernel, problem, &parted, reference.as_ref());
                    let (_, found) = found.unwrap();
                    assert_eq!(found.outcome, Outcome::Passed, "{what}");
                }
            }
            compared += usize::from(group.is_some() && igp < ngpown);
        }
    }
    Ok(compared)
}

/// CH of each band at energy `at` (0-based), or the static CH, in slabs of `igp`; two runs have the same bits.
pub fn of_bands(
    device: &dyn Device,
    (problem, at): (&Problem, Option<usize>),
    by: BackEnd,
    igp: usize,
    workers: usize,
) -> Result<Vec<Complex64>> {
    let mut engine = engine(device, problem, igp, workers)?;
    let kernel = ch_of_bands(by, at.is_none());
    let mut run = || engine.run_with(kernel, Some(&[at.unwrap_or(0)]), Control::none());
    let [first, again] = [run()?.sums, run()?.sums];
    assert!(same_bits(&first, &again), "{} of {}: two runs differ", kernel.id(), problem.name());
    Ok(first.ach)
}

/// The same by the formula, one term after the other, with Σ|terms| and the sizes of terms whose branch rounding decides.
pub fn by_formula(problem: &Problem, at: Option<usize>) -> Vec<(Complex64, [f64; 2])> {
    let (header, limits) = (problem.header(), problem.limits());
    let (ncouls, is_close) = (header.ncouls, |a: f64, b: f64| (a - b).abs() < 1e-14 * b);
    let of_band = |(n, aqsn): (usize, &[Complex64])| {
        let (mut sum, mut sizes) = (Complex64::ZERO, [0.0; 2]);
        for igp in 0..header.ngpown {
            let aqsm = problem.slab().aqsm_local().whole().unwrap()[n * header.ngpown + igp];
            let factor = aqsm.conj() * problem.vcoul_loc()[igp] * 0.5;
            for (ig, aqsn) in aqsn.iter().enumerate() {
                let pair = igp * ncouls + ig;
                let (wtilde, eps) = (problem.wtilde()[pair], problem.eps()[pair]);
                let (mut sch, mut is_undecided) = (-eps, false);
                if let Some(iw) = at {
                    let wdiff = problem.bands().energies(n)[iw] - wtilde;
                    let delw = wtilde / wdiff;
                    let [a, b] = [wdiff.norm_sqr(), delw.norm_sqr()];
                    is_undecided = is_close(a, limits.limittwo) || is_close(b, limits.limitone);
                    let is_first = a > limits.limittwo && b < limits.limitone;
                    sch = if is_first || is_undecided { delw * eps } else { Complex64::ZERO };
                }
                let size = factor.norm() * sch.norm() * aqsn.norm();
                sizes[0] += size;
                sizes[1] += if is_undecided { size } else { 0.0 };
                sum += if sch == Complex64::ZERO { sch } else { factor * (sch * aqsn) };
            }
        }
        (sum, sizes)
    };
    problem.aqsn().chunks_exact(ncouls).enumerate().map(of_band).collect()
}

/// Rounding of sums over G, G′ and bands, relative to Σ|terms|: of the terms and of the additions of each index.
pub fn rounding(problem: &Problem) -> f64 {
    let Extents { nbands, ngpown, ncouls, .. } = problem.extents();
    (64 + nbands + ngpown + ncouls) as f64 * f64::EPSILON
}

pub fn bits(bands: &[Complex64]) -> Vec<[u64; 2]> {
    bands.iter().map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

pub fn assert_of_bands(what: &str, (problem, at): (&Problem, Option<usize>), found: &[Complex64]) {
    let expected = by_formula(problem, at);
    assert_eq!(found.len(), expected.len());
    for (n, (found, (expected, [size, undecided]))) in found.iter().zip(expected).enumerate() {
        let allowed = rounding(problem) * size + 2.0 * undecided + 1e-290;
        let name = problem.name();
        let off = (found - expected).norm();
        assert!(off <= allowed, "{what} of {name} at {at:?}, band {n}: {found}, not {expected}");
    }
}

pub fn compare(device: &dyn Device, by: BackEnd) -> Result<(), Error> {
    for (kind, at) in [Kind::Mixed, Kind::Real].into_iter().flat_map(|k| [(k, None), (k, Some(1))])
    {
        let problem = made([131, 149, 170, 2], kind, 12);
        let of = (&problem, at);
        let whole = of_bands(device, of, by, 149, 1)?;
        assert_of_bands(&format!("{by:?}"), of, &whole);
        for (igp, workers) in [(32, 1), (32, 4), (64, 2), (96, 3)] {
            let parted = of_bands(device, of, by, igp, workers)?;
            assert_eq!(bits(&parted), bits(&whole), "{igp} igp on {workers} workers");
        }
    }
    Ok(())
}

/// Two problems with the same bands and igp in turn through a worker of the first: the sums are each one's own.
pub fn two_problems(device: &dyn Device) -> Result<()> {
    for kind in [Kind::Mixed, Kind::Real] {
        let first = made([19, 85, 70, 2], kind, 12);
        let Matrices { mut wtilde, eps, aqsm_local, .. } = matrices(&first);
        wtilde.reverse();
        let slab = Slab::new(first.bands(), first.slab().igp(), wtilde, eps, aqsm_local).unwrap();
        let bands = std::sync::Arc::new(first.bands().clone());
        let second = Problem::from_slab("second", first.origin().clone(), bands, slab).unwrap();
        let of_device = |kernel: &Version| {
            device.back_end() == BackEnd::Cpu || kernel.back_end() == BackEnd::Gpu
        };
        let mut both = device.worker(&first)?;
        for kernel in versions().filter(of_device) {
            let batch = &first_batch(&first, kernel.holds(first.poles()));
            let mut own = device.worker(&second)?;
            let of = |worker: &mut dyn Worker, problem: &Problem| {
                worker.begin(problem.slab(), batch, kernel, Control::none())?;
                Ok::<_, Error>(worker.finish()?.values)
            };
            let own = of(own.as_mut(), &second)?;
            let mut in_turn = |problem| of(both.as_mut(), problem);
            let [one, two, again] = [in_turn(&first)?, in_turn(&second)?, in_turn(&first)?];
            assert_eq!(two, own, "{}", kernel.id());
            assert_eq!(one, again, "{}", kernel.id());
            assert_ne!(one, two, "{}", kernel.id());
        }
    }
    Ok(())
}
