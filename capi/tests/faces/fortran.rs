//! Programs in Fortran: the examples, compiled with all warnings against the static library.

#[path = "../../../tests/common/mpirun.rs"]
mod mpirun;

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use mpirun::mpirun;

use crate::Outcome;
use crate::built::{LIBRARIES, compile, library, root, run};

const MODULES: [&str; 2] = ["capi/fortran/gpp.f90", "examples/fortran/miniapp.f90"];

/// Debian's name of flang.
pub const FLANG: &str = "flang-new-19";

fn built(compiler: &str, example: &str, folder: &Path) -> Result<PathBuf, Failed> {
    let root = root().canonicalize()?;
    let program = folder.join("program");
    let flags: &[&str] = match compiler {
        FLANG => &["-std=f2018", "-O2", "-Werror"],
        _ => &["-std=f2018", "-O1", "-Wall", "-Werror", "-fcheck=all", "-ffpe-summary=none"],
    };
    let sources =
        MODULES.into_iter().chain([example]).map(|source| root.join(source).into_os_string());
    let rest =
        [library("libgpp_c.a")?.into_os_string(), "-o".into(), program.clone().into_os_string()];
    let all = flags.iter().map(Into::into).chain(sources).chain(rest);
    compile(compiler, folder, all.chain(LIBRARIES.map(Into::into)))?;
    Ok(program)
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

/// All kinds of arrays.
pub fn arrays(compiler: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built(compiler, "capi/tests/fortran/arrays.f90", folder.path())?;
    let printed = String::from_utf8(run(&mut Command::new(program))?.stdout)?;
    assert_eq!(printed.trim(), "arrays.f90: all as expected");
    Ok(())
}

/// A share of the columns on each rank; three ranks have shares of different sizes.
pub fn ranks() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built("mpif90", "examples/fortran/ranks.f90", folder.path())?;
    for ranks in ["2", "3"] {
        let mut command = mpirun();
        command.args(["-n", ranks]).arg(&program).arg("cpu");
        let printed = String::from_utf8(run(&mut command)?.stdout)?;
        assert_eq!(printed.trim(), format!("gpp on {ranks} ranks: as expected"));
    }
    Ok(())
}
