//! The README's programs in C and Fortran, compiled and run as they stand there.

use std::process::Command;

use crate::Outcome;
use crate::built::{library, package, printed, program, root};

/// The real parts of `-vcoul·½ω̃·eps·M·(q − p)` and `½vcoul·ω̃·eps·M·q`, q = 1/(w − ω̃), p = 1/(w + ω̃), w = 3, summed over
/// both G by NumPy.
const PRINTS: &str = "SX - X 1.1416, CH -0.7410";

fn prints(compiler: &mut Command, [language, file]: [&str; 2]) -> Outcome {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let begin = format!("```{language}\n");
    let (_, block) = readme.split_once(&begin).ok_or(format!("README has no {begin}"))?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(file), block.split("```").next().unwrap_or_default())?;
    let program = program(compiler.arg(file), folder.path(), &library("libgpp_c.a")?)?;
    assert_eq!(printed(&mut Command::new(program))?, PRINTS);
    Ok(())
}

pub fn in_c() -> Outcome {
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Werror", "-I"]).arg(package().join("include"));
    prints(&mut cc, ["c", "readme.c"])
}

pub fn in_fortran() -> Outcome {
    let mut gfortran = Command::new("gfortran");
    gfortran.args(crate::fortran::modules()?);
    prints(&mut gfortran, ["fortran", "readme.f90"])
}
