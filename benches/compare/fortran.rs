//! The other side on a CPU: the reference loops in Fortran with OpenMP (`benches/fortran`), which gfortran compiles
//! here and now, run on the same arrays, with as many threads, in the same process as ours.

use std::ffi::c_int;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use gpp::problem::{Extents, Problem, Sums, memory};
use libloading::Library;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::run;

const PROBLEM: &str = include_str!("../fortran/problem.f90");
const ENTRY: &str = include_str!("../fortran/entry.f90");
/// v0 of the paper.
const PAPER: (&str, &str) = ("paper", include_str!("../fortran/paper.f90"));
/// The last loops of the talk, which have copies of the arrays in another layout.
const TALK: (&str, &str) = ("talk", include_str!("../fortran/talk.f90"));

/// Flags of every build. Vectors of 512 bits are asked for: on some CPUs gfortran prefers the slower
/// 256.
const FLAGS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp"]
} else {
    &["-O3", "-mcpu=native", "-fopenmp"]
};

/// All builds: the loops, and a flag of their own. gfortran makes vectors of selections if comparisons may not trap,
/// which changes no result and is part of -ffast-math.
const BUILDS: [((&str, &str), Option<&str>); 5] = [
    (PAPER, None),
    (PAPER, Some("-ffast-math")),
    (TALK, None),
    (TALK, Some("-fno-trapping-math")),
    (TALK, Some("-ffast-math")),
];

/// The arguments of the loops; `problem.f90` has the same.
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

/// A build, compiled and loaded, with the procedures of `entry.f90`.
pub struct Build {
    /// The loops and their own flag, as in `talk -ffast-math`.
    pub name: String,
    has_copies: bool,
    place: unsafe extern "C" fn(*const Arrays),
    sum: unsafe extern "C" fn(*const Arrays, c_int, *mut Complex64),
    release: unsafe extern "C" fn(),
}

/// All builds for this CPU, and what gfortran says of its version.
pub fn compile(gfortran: &Path) -> Result<(Vec<Build>, String)> {
    let version = run(gfortran, Path::new("."), ["--version"])?;
    let compiler = version.lines().next().unwrap_or("unknown gfortran").trim().to_string();
    let builds: Result<_> =
        BUILDS.par_iter().map(|&(loops, flag)| Build::compile(loops, flag, gfortran)).collect();
    Ok((builds?, compiler))
}

impl Build {
    fn compile(
        (loops, source): (&str, &str),
        flag: Option<&str>,
        gfortran: &Path,
    ) -> Result<Build> {
        let folder = tempfile::tempdir()?;
        let mut objects = Vec::new();
        for (name, source) in [("problem", PROBLEM), ("loops", source), ("entry", ENTRY)] {
            let file = format!("{name}.f90");
            std::fs::write(folder.path().join(&file), source)?;
            let flags = FLAGS.iter().copied().chain(flag);
            run(gfortran, folder.path(), ["-fPIC", "-c", &file].into_iter().chain(flags))?;
            objects.push(format!("{name}.o"));
        }
        // Linked without -ffast-math, which would have the library change how this whole program treats
        // the smallest numbers.
        let link = ["-shared", "-fopenmp", "-o", "loops.so"].map(String::from);
        run(gfortran, folder.path(), link.into_iter().chain(objects))?;
        // SAFETY: a library of our own sources, whose start does nothing but that of OpenMP; the procedures are those
        // of `entry.f90`, with the arguments declared there.
        unsafe {
            // OpenMP's threads outlive a calculation, so what they run is never unloaded.
            let library = Box::leak(Box::new(Library::new(folder.path().join("loops.so"))?));
            Ok(Build {
                name: [loops, flag.unwrap_or_default()].join(" ").trim_end().to_string(),
                has_copies: loops == TALK.0,
                place: *library.get(b"gpp_place\0")?,
                sum: *library.get(b"gpp_sum\0")?,
                release: *library.get(b"gpp_release\0")?,
            })
        }
    }

    /// Seconds and sums of one calculation on so many threads.
    pub fn sum(&mut self, problem: &Problem, threads: usize) -> Result<(f64, Sums)> {
        let extents = problem.extents();
        if self.has_copies {
            memory::require("copies of the arrays in Fortran", extents.bytes())?;
        }
        let Extents { nbands, ngpown, ncouls, nw } = extents;
        let limits = problem.limits();
        let arrays = Arrays {
            nbands: nbands.try_into()?,
            ngpown: ngpown.try_into()?,
            ncouls: ncouls.try_into()?,
            nw: nw.try_into()?,
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
        let threads = threads.try_into()?;
        let mut sums = vec![Complex64::new(f64::NAN, f64::NAN); 2 * nw];
        // SAFETY: the problem checked that its arrays have these dimensions; two sums for each energy are written.
        let seconds = unsafe {
            (self.place)(&arrays);
            let begin = Instant::now();
            (self.sum)(&arrays, threads, sums.as_mut_ptr());
            let seconds = begin.elapsed().as_secs_f64();
            (self.release)();
            seconds
        };
        let (asx, ach) = sums.chunks_exact(2).map(|of_energy| (of_energy[0], of_energy[1])).unzip();
        Ok((seconds, Sums { asx, ach }))
    }
}
