//! Programs in Fortran: the examples, compiled with all warnings against the static library.

#[path = "../../../tests/common/mpirun.rs"]
mod mpirun;

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use mpirun::mpirun;

use crate::Outcome;
use crate::built::{library, printed, program, root, run};

/// Debian's name of flang.
pub const FLANG: &str = "flang-new-19";

/// The modules that a program uses.
pub fn modules() -> Result<[PathBuf; 2], Failed> {
    let root = root().canonicalize()?;
    Ok(["capi/fortran/gpp.f90", "examples/fortran/miniapp.f90"].map(|module| root.join(module)))
}

fn built(compiler: &str, example: &str, folder: &Path) -> Result<PathBuf, Failed> {
    let flags: &[&str] = match compiler {
        FLANG => &["-std=f2018", "-O2", "-Werror"],
        _ => &["-std=f2018", "-O1", "-Wall", "-Werror", "-fcheck=all", "-ffpe-summary=none"],
    };
    let mut compiler = Command::new(compiler);
    compiler.args(flags).args(modules()?).arg(root().canonicalize()?.join(example));
    program(&mut compiler, folder, &library("libgpp_c.a")?)
}

/// The sums of the mini-app's loop on a device, and errors.
pub fn on(device: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built("gfortran", "examples/fortran/sigma.f90", folder.path())?;
    let output = run(Command::new(program).arg(device))?;
    let printed = String::from_utf8(output.stdout)?;
    assert!(printed.contains(": as expected"), "{printed}");
    assert_eq!(String::from_utf8(output.stderr)?, "");
    Ok(())
}

pub fn arrays(compiler: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built(compiler, "capi/tests/fortran/arrays.f90", folder.path())?;
    assert_eq!(printed(&mut Command::new(program))?, "arrays.f90: all as expected");
    Ok(())
}

pub fn kinds(compiler: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (integer, real) = ("-fdefault-integer-8", "-fdefault-real-8");
    for kinds in [&[integer][..], &[real], &[integer, real]] {
        let warnings: &[&str] = if compiler == FLANG { &[] } else { &["-Wall", "-Wextra"] };
        let mut compiler = Command::new(compiler);
        compiler.args(["-std=f2018", "-Werror", "-c"]).args(warnings).args(kinds);
        run(compiler.arg(&modules()?[0]).current_dir(folder.path()))?;
    }
    Ok(())
}

/// A share of the columns on each rank; three ranks have shares of different sizes.
pub fn ranks() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built("mpif90", "examples/fortran/ranks.f90", folder.path())?;
    for ranks in ["2", "3"] {
        let mut command = mpirun();
        command.args(["-n", ranks]).arg(&program).arg("cpu");
        assert_eq!(printed(&mut command)?, format!("gpp on {ranks} ranks: as expected"));
    }
    Ok(())
}

/// The module and the routine of examples/berkeleygw, in both of BerkeleyGW's flavours, for SX and CH and for their sum.
pub fn berkeleygw() -> Outcome {
    let (folder, root) = (tempfile::tempdir()?, root().canonicalize()?);
    for flavour in ["-UCPLX", "-DCPLX"] {
        let mut compiler = Command::new("gfortran");
        let flags = "-cpp -Wall -Werror -fcheck=all -O1 -ffpe-summary=none";
        compiler.args(flags.split(' ')).arg(flavour);
        for includes in ["capi/tests/fortran", "examples/berkeleygw"] {
            compiler.arg("-I").arg(root.join(includes));
        }
        compiler.args(modules()?).arg(root.join("capi/tests/fortran/berkeleygw.f90"));
        let program = program(&mut compiler, folder.path(), &library("libgpp_c.a")?)?;
        for alone in ["", "1"] {
            let said = printed(Command::new(&program).env("GPP_SIGMA_ALONE", alone))?;
            assert_eq!(said, "berkeleygw.f90: all as expected", "{flavour} {alone}");
        }
    }
    Ok(())
}
