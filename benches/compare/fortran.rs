//! The other side on a CPU: the reference loops in Fortran with OpenMP (`benches/fortran`), compiled
//! here and now by gfortran and run on the same arrays, with as many threads, in the same process as
//! ours.

use std::ffi::{OsStr, c_int};
use std::marker::PhantomData;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use libloading::Library;
use num_complex::Complex64;
use rayon::prelude::*;

use gpp::devices::{SlabSums, Upload};
use gpp::error::{Error, Result};
use gpp::output::memory;
use gpp::problem::{Extents, Problem};

/// What is compiled before the loops, and after them.
const PROBLEM: &str = include_str!("../fortran/problem.f90");
const ENTRY: &str = include_str!("../fortran/entry.f90");

/// Loops in Fortran.
#[derive(Debug)]
pub struct Loops {
    /// Name.
    pub id: &'static str,
    source: &'static str,
    /// Whether they have copies of the arrays, re-laid out.
    relaid: bool,
}

/// As in the paper, v0.
pub static PAPER: Loops =
    Loops { id: "paper", source: include_str!("../fortran/paper.f90"), relaid: false };

/// As the talk ends.
pub static TALK: Loops =
    Loops { id: "talk", source: include_str!("../fortran/talk.f90"), relaid: true };

/// Flags of every build. Vectors of 512 bits are asked for: on some CPUs gfortran prefers the slower
/// 256.
const FLAGS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp"]
} else {
    &["-O3", "-mcpu=native", "-fopenmp"]
};

/// Loops and how they are compiled.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The loops.
    pub loops: &'static Loops,
    /// The flag that this build has beside those of all.
    pub flag: Option<&'static str>,
}

/// All builds. gfortran makes vectors of selections where comparisons may not trap, which changes no
/// result and is part of -ffast-math.
pub static BUILDS: [Build; 5] = [
    Build { loops: &PAPER, flag: None },
    Build { loops: &PAPER, flag: Some("-ffast-math") },
    Build { loops: &TALK, flag: None },
    Build { loops: &TALK, flag: Some("-fno-trapping-math") },
    Build { loops: &TALK, flag: Some("-ffast-math") },
];

impl Build {
    /// Name: the loops and their own flag, as in `talk -ffast-math`.
    pub fn name(&self) -> String {
        let flag = self.flag.map(|flag| format!(" {flag}"));
        self.loops.id.to_string() + &flag.unwrap_or_default()
    }

    /// All flags.
    pub fn flags(&self) -> Vec<&'static str> {
        FLAGS.iter().copied().chain(self.flag).collect()
    }
}

/// What the loops are given; `problem.f90` has the same.
#[repr(C)]
struct Arrays {
    nbands: c_int,
    ngpown: c_int,
    ncouls: c_int,
    nw: c_int,
    limittwo: f64,
    limitone: f64,
    sexcut: f64,
    wtilde: *const Complex64,
    eps: *const Complex64,
    aqsn: *const Complex64,
    aqsm_local: *const Complex64,
    wx: *const f64,
    vcoul_loc: *const f64,
    occ: *const f64,
}

type Place = unsafe extern "C" fn(*const Arrays);
type Sum = unsafe extern "C" fn(*const Arrays, c_int, *mut Complex64);
type Release = unsafe extern "C" fn();

/// A build, compiled and loaded.
pub struct Loaded {
    /// Which one.
    pub build: &'static Build,
    place: Place,
    sum: Sum,
    release: Release,
}

/// All builds, loaded.
pub struct Builds {
    /// What gfortran says of its version.
    pub compiler: String,
    /// The builds, in the order of [`BUILDS`].
    pub builds: Vec<Loaded>,
}

fn failed(what: String) -> Error {
    Error::Io(what)
}

impl Builds {
    /// Compiles all builds for this CPU and loads them.
    ///
    /// # Errors
    /// [`Error::Io`] without gfortran or with its message.
    pub fn compile(gfortran: &Path) -> Result<Builds> {
        let version = run(gfortran, Path::new("."), ["--version"])?;
        let compiler = version.lines().next().unwrap_or("unknown gfortran").trim().to_string();
        let builds: Result<_> =
            BUILDS.par_iter().map(|build| Loaded::compile(build, gfortran)).collect();
        Ok(Builds { compiler, builds: builds? })
    }
}

/// What the compiler prints.
fn run(
    gfortran: &Path,
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String> {
    let output = Command::new(gfortran).args(arguments).current_dir(folder).output();
    let output = output.map_err(|e| {
        failed(format!(
            "{} cannot be run ({e}): install gfortran with OpenMP or name it with --compiler",
            gfortran.display()
        ))
    })?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let first = errors.lines().find(|line| line.to_lowercase().contains("error"));
        return Err(failed(format!("{}: {}", gfortran.display(), first.unwrap_or("failed"))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Loaded {
    fn compile(build: &'static Build, gfortran: &Path) -> Result<Loaded> {
        let folder = tempfile::tempdir().map_err(|e| failed(format!("no room: {e}")))?;
        let sources = [PROBLEM, build.loops.source, ENTRY];
        let mut objects = Vec::new();
        for (name, source) in ["problem", "loops", "entry"].into_iter().zip(sources) {
            let file = format!("{name}.f90");
            std::fs::write(folder.path().join(&file), source)
                .map_err(|e| failed(format!("no room: {e}")))?;
            let arguments = ["-fPIC", "-c", &file].into_iter().chain(build.flags());
            run(gfortran, folder.path(), arguments)?;
            objects.push(format!("{name}.o"));
        }
        // Linked without -ffast-math, which would have the library change how this whole program treats
        // the smallest numbers.
        let link = ["-shared", "-fopenmp", "-o", "loops.so"].map(String::from);
        run(gfortran, folder.path(), link.into_iter().chain(objects))?;
        let cannot =
            |e: libloading::Error| failed(format!("{} cannot be loaded: {e}", build.name()));
        // SAFETY: a library of our own sources, whose start does nothing but that of OpenMP.
        let library = unsafe { Library::new(folder.path().join("loops.so")) }.map_err(cannot)?;
        // OpenMP's threads outlive a calculation, so what they run is never unloaded.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: these are the procedures of `entry.f90`, with the arguments declared there.
        unsafe {
            Ok(Loaded {
                build,
                place: *library.get::<Place>(b"gpp_place\0").map_err(cannot)?,
                sum: *library.get::<Sum>(b"gpp_sum\0").map_err(cannot)?,
                release: *library.get::<Release>(b"gpp_release\0").map_err(cannot)?,
            })
        }
    }

    /// Puts a problem where the loops find it, re-laid out where they want that.
    ///
    /// # Errors
    /// [`Error::Memory`] where the copies do not fit.
    ///
    /// # Panics
    /// Never: the extents of a problem are 32-bit.
    pub fn place<'a>(&'a mut self, problem: &'a Problem) -> Result<Placed<'a>> {
        let extents = problem.extents();
        if self.build.loops.relaid {
            memory::require("copies of the arrays in Fortran", extents.bytes())?;
        }
        let Extents { nbands, ngpown, ncouls, nw } = extents;
        let of = |extent: usize| c_int::try_from(extent).expect("files have 32-bit extents");
        let limits = problem.limits();
        let arrays = Arrays {
            nbands: of(nbands),
            ngpown: of(ngpown),
            ncouls: of(ncouls),
            nw: of(nw),
            limittwo: limits.limittwo,
            limitone: limits.limitone,
            sexcut: limits.sexcut,
            wtilde: problem.wtilde().as_ptr(),
            eps: problem.eps().as_ptr(),
            aqsn: problem.aqsn().as_ptr(),
            aqsm_local: problem.aqsm_local().as_ptr(),
            wx: problem.wx().as_ptr(),
            vcoul_loc: problem.vcoul_loc().as_ptr(),
            occ: problem.occ().as_ptr(),
        };
        // SAFETY: the problem checked that its arrays have these extents.
        unsafe { (self.place)(&arrays) };
        Ok(Placed { loaded: self, arrays, nw, problem: PhantomData })
    }
}

/// A problem that a build has in place.
pub struct Placed<'a> {
    loaded: &'a Loaded,
    arrays: Arrays,
    nw: usize,
    problem: PhantomData<&'a Problem>,
}

impl Placed<'_> {
    /// One calculation by so many threads.
    pub fn sum(&mut self, threads: usize) -> SlabSums {
        let mut sums = vec![Complex64::new(f64::NAN, f64::NAN); 2 * self.nw];
        let threads = threads.min(c_int::MAX as usize) as c_int;
        let begin = Instant::now();
        // SAFETY: the arrays are borrowed; two sums for each energy are written.
        unsafe { (self.loaded.sum)(&self.arrays, threads, sums.as_mut_ptr()) };
        let seconds = begin.elapsed().as_secs_f64();
        let values = bytemuck::cast_slice(&sums).to_vec();
        SlabSums { values, groups: 1, seconds, blocks: None, upload: Upload::default() }
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        // SAFETY: what was placed is there, and nobody uses it any more.
        unsafe { (self.loaded.release)() };
    }
}
