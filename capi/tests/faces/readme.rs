//! The README's examples in C and Fortran, with the arrays around them, compiled and run.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use crate::Outcome;
use crate::built::{LIBRARIES, compile, library, package, root, run};

/// The README's block in a language.
fn block(language: &str) -> Result<String, Failed> {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let begin = format!("```{language}\n");
    let (_, rest) = readme.split_once(&begin).ok_or(format!("README has no {begin}"))?;
    Ok(rest.split("```").next().unwrap_or_default().into())
}

const C: [&str; 2] = [
    "#include <stdio.h>
#include \"gpp.h\"

int main(void) {
    gpp_complex wtilde[] = {{10, 0}, {12, 0}}, eps[] = {{0.5, 0}, {0.1, 0}}, aqs[] = {{1, 0}, {0.2, 0.1}};
    double vcoul[] = {2, 1}, e[] = {-3}, occ[] = {1}, omega[] = {0, 1};
    int32_t inv_igp_index[] = {1}, indinv[] = {1, 2};
",
    "    printf(\"%.4e %.4e\\n\", asx[0].re, ach[0].re);
    return 0;
}
",
];

/// The real parts of the first energy's sums, as the programs print them.
fn prints(program: &Path, expected: &str) -> Outcome {
    let output = run(&mut Command::new(program))?;
    assert_eq!(String::from_utf8(output.stdout)?.trim(), expected);
    Ok(())
}

/// In C.
pub fn in_c() -> Outcome {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("readme.c");
    let arrays = "    gpp_screening screening = {
        .ncouls = 2, .ngpown = 1, .ng = 2, .wtilde = wtilde, .ld_wtilde = 2, .eps = eps, .ld_eps = 2,
        .vcoul = vcoul, .inv_igp_index = inv_igp_index, .indinv = indinv};
    gpp_bands bands = {
        .nbands = 1, .aqsn = aqs, .ld_aqsn = 2, .aqsm = aqs, .ld_aqsm = 2, .e = e, .occ = occ};
    int64_t nw = 2;
    gpp_complex asx[2] = {{0, 0}}, ach[2] = {{0, 0}};
";
    std::fs::write(&source, [C[0], arrays, &block("c")?, C[1]].concat())?;
    let program = folder.path().join("readme");
    let mut arguments = vec!["-std=c11".into(), "-Wall".into(), "-Werror".into(), "-I".into()];
    arguments.push(package().join("include").into_os_string());
    arguments.extend([source.into_os_string(), "-o".into(), program.clone().into_os_string()]);
    arguments.push(library("libgpp_c.a")?.into_os_string());
    arguments.extend(LIBRARIES.map(Into::into));
    compile("cc", folder.path(), arguments)?;
    prints(&program, "1.1416e+00 -7.4095e-01")
}

/// In Fortran.
pub fn in_fortran() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = root().canonicalize()?;
    let source = folder.path().join("readme.f90");
    let text = format!(
        "program readme
  use gpp
  use miniapp, only: dp, make, nw
  implicit none
  complex(dp), allocatable :: wtilde_array(:, :), I_eps_array(:, :), aqsntemp(:, :), aqsmtemp(:, :)
  real(dp), allocatable :: vcoul(:), e(:), occ(:), omega(:)
  integer, allocatable :: inv_igp_index(:), indinv(:)
  complex(dp) :: asx(nw), ach(nw)
  type(gpp_calculator) :: calculator
  integer :: status
  call make(50, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega)
{}  if (status /= gpp_ok) error stop 'sums'
  print '(2es12.4)', real(asx(1)), real(ach(1))
end program
",
        block("fortran")?
    );
    std::fs::write(&source, text)?;
    let program = folder.path().join("readme");
    let mut arguments = vec![];
    for module in ["capi/fortran/gpp.f90", "examples/fortran/miniapp.f90"] {
        arguments.push(root.join(module).into_os_string());
    }
    arguments.extend([source.into_os_string(), library("libgpp_c.a")?.into_os_string()]);
    arguments.extend(["-o".into(), program.clone().into_os_string()]);
    arguments.extend(LIBRARIES.map(Into::into));
    compile("gfortran", folder.path(), arguments)?;
    prints(&program, "1.0037E+00 -1.3225E+00")
}
