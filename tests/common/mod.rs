//! What the tests share: where the data is, and problems made to order.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod arrays;
pub mod double;
pub mod families;
pub mod matrices;
pub mod on_device;
pub mod running;
pub mod stand_in;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpp::output::Progress;
use gpp::problem::plan::batches;
use gpp::problem::{Batch, CheckedBands, Even, Header, Origin, Problem, Slab};
use num_complex::Complex64;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub const QUIET: Progress = Progress { shown: false };

/// Tests that measure memory, and those beside them in one binary, take turns.
pub fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files of `data/fixtures` that hold sums. Those of an independent program come first.
pub const FIXTURES: [&str; 12] = [
    "plain",
    "edge",
    "poles",
    "three-energies",
    "real/silicon-q0",
    "real/silicon-offdiag",
    "real/silicon-spin",
    "real/gaas-q0",
    "real/gaas-skipped",
    "real/gaas-imaginary",
    "real/gaas-complex",
    "real/gaas-grid",
];

/// Those of BerkeleyGW's own calls and sums.
pub fn real() -> impl Iterator<Item = &'static str> {
    FIXTURES.into_iter().filter(|name| name.starts_with("real/"))
}

/// Files of `data/fixtures/hard` that are refused.
pub const REFUSED: [&str; 3] =
    ["hard/09-v10-v13-w-1e155", "hard/13-negative-sexcut", "hard/17-v1-v13-wtilde-1e78"];

/// The other files there, which every version must sum.
pub fn hard() -> Vec<String> {
    let files = std::fs::read_dir(repository("data/fixtures/hard")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let names = paths.map(|path| format!("hard/{}", path.file_stem().unwrap().display()));
    let mut names: Vec<String> = names.filter(|name| !REFUSED.contains(&&name[..])).collect();
    names.sort();
    assert!(names.len() >= 17, "{names:?}");
    names
}

/// A path inside the repository. Test binaries may be carried elsewhere and run from its root.
pub fn repository(path: &str) -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from).join(path)
}

/// A file that is not there yet, in a folder that lasts as long as the first of both.
pub fn place(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

pub fn fixture_path(name: &str) -> PathBuf {
    repository(&format!("data/fixtures/{name}.dat"))
}

pub fn fixture(name: &str) -> Problem {
    gpp::problem::input_file::read(&fixture_path(name), QUIET).unwrap()
}

/// A call that has to fail says this.
pub fn assert_fails<T>(result: gpp::error::Result<T>, says: &str) {
    let error = result.err().expect("an error").to_string();
    assert!(error.contains(says), "no `{says}` in `{error}`");
}

/// Which branches the terms of a made problem take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Mixed,
    First,
    /// The second only: the width covers everything.
    Second,
    /// None: all modes have vanished within the width.
    Neither,
    /// As mixed, everything below zero cut off.
    CutOff,
    /// As mixed, all modes real, some negative.
    Real,
}

pub const KINDS: [Kind; 6] =
    [Kind::Mixed, Kind::First, Kind::Second, Kind::Neither, Kind::CutOff, Kind::Real];

pub struct Random(ChaCha8Rng);

impl Random {
    pub fn of(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn complex(&mut self) -> Complex64 {
        Complex64::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0))
    }

    fn mode(&mut self, kind: Kind) -> Complex64 {
        match kind {
            Kind::First => Complex64::new(self.between(30.0, 60.0), self.between(-1.0, 1.0)),
            Kind::Second => Complex64::new(self.between(1.0, 9.0), self.between(-1.0, 1.0)),
            Kind::Neither => Complex64::ZERO,
            Kind::Mixed | Kind::CutOff | Kind::Real => match (self.0.next_u64() % 16, kind) {
                (0, _) => Complex64::ZERO,
                (1, _) => Complex64::new(1e-7, 0.0),
                (2, _) => Complex64::new(1e12, 0.0),
                (3, Kind::Real) => Complex64::new(self.between(-9.0, 0.0), 0.0),
                (3, _) => Complex64::new(0.0, self.between(0.1, 9.0)),
                (4..10, _) | (_, Kind::Real) => Complex64::new(self.between(0.1, 9.0), 0.0),
                _ => Complex64::new(self.between(0.1, 9.0), self.between(-0.5, 0.5)),
            },
        }
    }
}

/// Makes a problem of so many bands, G′, G and energies: bands from −6 eV to 13 eV in no order, a third of them empty, one half occupied.
pub fn made(extents: [usize; 4], kind: Kind, seed: u64) -> Problem {
    let [nbands, ngpown, ncouls, nw] = extents;
    let mut random = Random::of(seed);
    let mut complex = |n: usize| -> Vec<Complex64> { (0..n).map(|_| random.complex()).collect() };
    let (eps, aqsn, aqsm_local) =
        (complex(ncouls * ngpown), complex(ncouls * nbands), complex(ngpown * nbands));
    let wtilde = (0..ncouls * ngpown).map(|_| random.mode(kind)).collect();
    let wfnkq_ekq: Vec<f64> = (0..nbands).map(|_| random.between(-6.0, 13.0)).collect();
    // The last occupied band is at the Fermi energy.
    let nvband = (2 * nbands).div_ceil(3);
    let header = Header {
        efermi: wfnkq_ekq[nvband - 1],
        wfnkq_ekq,
        nstart: if nw == 1 { 2 } else { 4 - nw },
        nend: if nw == 1 { 2 } else { 3 },
        sig_gamma: if matches!(kind, Kind::Second | Kind::Neither) { 100.0 } else { 0.5 },
        e_lk: 6.208,
        nvband: nvband as i32,
        vcoul: (0..ncouls).map(|_| random.between(0.1, 2.0)).collect(),
        sexcut: if kind == Kind::CutOff { 0.0 } else { 4.0 },
        ..header(nbands, ngpown, ncouls)
    };
    let matrices = Matrices { wtilde, eps, aqsn, aqsm_local };
    matrices.problem(&format!("{kind:?} {extents:?} {seed}"), Origin::Made, header).unwrap()
}

/// The sizes of a header, the places of its rows, and what most calls have for the formula.
pub fn header(nbands: usize, ngpown: usize, ncouls: usize) -> Header {
    let rows = ncouls.max(ngpown);
    Header {
        sig_ntband: nbands,
        gvec_ng: rows,
        ncoul: ncouls,
        epsmpi_ngpown_max: ngpown,
        peinf_ntband_max: nbands,
        nbands,
        ngpown,
        ncouls,
        peinf_indext_dist: (1..=nbands as i32).collect(),
        sig_dw: 1.0,
        sig_gamma: 0.5,
        inv_igp_index: (1..=ngpown as i32).collect(),
        // More columns than rows: those without a row of their own share the others'.
        indinv: (0..rows).map(|row| (row % ncouls) as i32 + 1).collect(),
        tol: 1e-6,
        sexcut: 4.0,
        ..Header::default()
    }
}

/// The large arrays: `wtilde`, `eps` `(ncouls, ngpown)`, `aqsn` `(ncouls, nbands)`, `aqsm_local` `(ngpown, nbands)`.
#[derive(Clone, Debug)]
pub struct Matrices {
    pub wtilde: Vec<Complex64>,
    pub eps: Vec<Complex64>,
    pub aqsn: Vec<Complex64>,
    pub aqsm_local: Vec<Complex64>,
}

impl Matrices {
    pub fn problem(
        self,
        name: &str,
        origin: Origin,
        header: Header,
    ) -> gpp::error::Result<Problem> {
        let Matrices { wtilde, eps, aqsn, aqsm_local } = self;
        let bands = CheckedBands::new(header, aqsn)?;
        let slab = Slab::new(&bands, 0..bands.header().ngpown, wtilde, eps, aqsm_local)?;
        Problem::from_slab(name, origin, bands.into(), slab)
    }
}

pub fn matrices(problem: &Problem) -> Matrices {
    Matrices {
        wtilde: problem.wtilde().to_vec(),
        eps: problem.eps().to_vec(),
        aqsn: problem.aqsn().to_vec(),
        aqsm_local: problem.slab().aqsm_local().columns().flatten().copied().collect(),
    }
}

/// The first batch of energies for a kernel that holds so many.
pub fn first_batch(problem: &Problem, holds: usize) -> Batch {
    Batch::new(problem, batches(problem.nw(), holds).next().unwrap())
}

pub fn remade(problem: &Problem, change: impl FnOnce(&mut Header, &mut Matrices)) -> Problem {
    let (mut header, mut matrices) = (problem.header().clone(), matrices(problem));
    change(&mut header, &mut matrices);
    matrices.problem(problem.name(), problem.origin().clone(), header).unwrap()
}

/// The energies of a problem instead of its own.
#[derive(Clone, Debug)]
pub enum EnergyGrid {
    Even(Even),
    /// A number of energies with the problem's own spacing, from its first one on.
    Count(usize),
    /// In eV above `e_lk`.
    Listed(Vec<f64>),
}

impl EnergyGrid {
    pub fn apply_to(&self, header: &Header) -> Header {
        let header = Header { energies: None, ..header.clone() };
        match self {
            EnergyGrid::Even(even) => even.apply_to(&header),
            EnergyGrid::Count(count) => {
                Header { nend: (header.nstart + count).saturating_sub(1), ..header }
            }
            EnergyGrid::Listed(energies) => {
                let energies = energies.clone();
                Header { nstart: 1, nend: energies.len(), energies: Some(energies), ..header }
            }
        }
    }
}

pub fn at(problem: &Problem, grid: &EnergyGrid) -> gpp::error::Result<Problem> {
    let (header, matrices) = (grid.apply_to(problem.header()), matrices(problem));
    matrices.problem(problem.name(), problem.origin().clone(), header)
}

/// A problem at so many other energies, not at equal distances.
pub fn at_energies(made: &Problem, count: usize) -> Problem {
    let energies = (0..count).map(|i| 0.7 * i as f64 - 0.01 * (i * i) as f64 - 3.0).collect();
    at(made, &EnergyGrid::Listed(energies)).unwrap()
}

/// A problem with other poles, energies `wx(nw, nbands)` or occupations.
pub fn changed(
    problem: Problem,
    change: impl FnOnce(&mut [Complex64], &mut [f64], &mut [f64]),
) -> gpp::error::Result<Problem> {
    let (name, origin) = (problem.name().to_string(), problem.origin().clone());
    let (bands, igp) = (problem.bands().clone(), problem.slab().igp());
    let (mut wx, mut occ) = (bands.wx().to_vec(), bands.occ().to_vec());
    let Matrices { mut wtilde, eps, aqsm_local, .. } = matrices(&problem);
    change(&mut wtilde, &mut wx, &mut occ);
    let bands = bands.with_energies(wx, occ)?;
    let slab = Slab::new(&bands, igp, wtilde, eps, aqsm_local)?;
    Ok(Problem::from_slab(&name, origin, bands.into(), slab).expect("the slab is whole"))
}

pub fn assorted() -> impl Iterator<Item = Problem> {
    let nbands = [1, 1, 31, 33, 3, 65, 127, 129, 2];
    let ngpown = [1, 31, 1, 2, 33, 3, 2, 5, 127];
    let ncouls = [1, 33, 127, 1, 31, 129, 33, 257, 130];
    let each = (0..nbands.len()).flat_map(|at| (1..=3).map(move |nw| (at, nw)));
    let each = each.flat_map(move |(at, nw)| {
        let extents = [nbands[at], ngpown[at], ncouls[at], nw];
        let kinds = [Kind::Mixed, KINDS[(at + nw) % KINDS.len()]];
        kinds.map(|kind| made(extents, kind, (at * 3 + nw) as u64))
    });
    // More energies than the constant memory holds.
    each.chain([Kind::Mixed, Kind::Real].map(|kind| made([4100, 2, 35, 2], kind, 31)))
}

pub fn json(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json"));
    files.chain(folders.iter().flat_map(|folder| json(folder))).collect()
}
