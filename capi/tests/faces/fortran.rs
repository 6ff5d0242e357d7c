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

/// All kinds of arrays.
pub fn arrays(compiler: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built(compiler, "capi/tests/fortran/arrays.f90", folder.path())?;
    assert_eq!(printed(&mut Command::new(program))?, "arrays.f90: all as expected");
    Ok(())
}

/// The module with other default kinds.
pub fn kinds(compiler: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (integer, real) = ("-fdefault-integer-8", "-fdefault-real-8");
    for kinds in [&[integer][..], &[real], &[integer, real]] {
        let warnings: &[&str] = if compiler == FLANG { &[] } else { &["-Wall", "-Wextra"] };
        let mut compiler = Command::new(compiler);
        compiler
            .args(["-std=f2018", "-Werror", "-c"])
            .args(warnings)
            .args(kinds)
            .arg(&modules()?[0]);
        run(compiler.current_dir(folder.path()))?;
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

/// The module and the routine of docs/berkeleygw.md, in both of BerkeleyGW's flavours.
pub fn page() -> Outcome {
    let (folder, root) = (tempfile::tempdir()?, root().canonicalize()?);
    let text = std::fs::read_to_string(root.join("docs/berkeleygw.md"))?;
    let files = [
        ("library_gpp.inc", "#include \"f_defs.h\""),
        ("sigma_gpp_library.inc", "subroutine sigma_gpp_library()"),
    ];
    for (file, begin) in files {
        let mut blocks = text.split("```fortran\n").filter_map(|block| block.split("```").next());
        let block = blocks.find(|block| block.trim_start().starts_with(begin));
        std::fs::write(folder.path().join(file), block.ok_or(format!("no block with {begin}"))?)?;
    }
    for flavour in ["-UCPLX", "-DCPLX"] {
        let mut compiler = Command::new("gfortran");
        compiler.args([
            "-cpp",
            "-Wall",
            "-Werror",
            "-fcheck=all",
            "-O1",
            "-ffpe-summary=none",
            "-I.",
        ]);
        compiler.args([flavour, "-I"]).arg(root.join("capi/tests/fortran"));
        compiler.args(modules()?).arg(root.join("capi/tests/fortran/page.f90"));
        let program = program(&mut compiler, folder.path(), &library("libgpp_c.a")?)?;
        assert_eq!(printed(&mut Command::new(program))?, "page.f90: all as expected", "{flavour}");
    }
    Ok(())
}
