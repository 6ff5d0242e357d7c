//! The README's examples in C and Fortran, with the arrays around them, compiled and run.

use std::process::Command;

use crate::Outcome;
use crate::built::{library, package, printed, program, root};
use crate::fortran::modules;

const C: &str = "#include <stdio.h>
#include \"gpp.h\"

int main(void) {
    gpp_complex wtilde[] = {{10, 0}, {12, 0}}, eps[] = {{0.5, 0}, {0.1, 0}}, aqs[] = {{1, 0}, {0.2, 0.1}};
    double vcoul[] = {2, 1}, e[] = {-3}, occ[] = {1}, omega[] = {0, 1};
    int32_t inv_igp_index[] = {1}, indinv[] = {1, 2};
    gpp_screening screening = {
        .ncouls = 2, .ngpown = 1, .ng = 2, .wtilde = wtilde, .ld_wtilde = 2, .eps = eps, .ld_eps = 2,
        .vcoul = vcoul, .inv_igp_index = inv_igp_index, .indinv = indinv};
    gpp_bands bands = {
        .nbands = 1, .aqsn = aqs, .ld_aqsn = 2, .aqsm = aqs, .ld_aqsm = 2, .e = e, .occ = occ};
    int64_t nw = 2;
    gpp_complex asx[2] = {{0, 0}}, ach[2] = {{0, 0}};
README
    printf(\"%.4e %.4e\\n\", asx[0].re, ach[0].re);
    return 0;
}
";

const FORTRAN: &str = "program readme
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
README
  if (status /= gpp_ok) error stop 'sums'
  print '(2es12.4)', real(asx(1)), real(ach(1))
end program
";

/// Compiles the README's block in a language within a program, which prints the real parts of the first energy's sums.
fn prints(
    compiler: &mut Command,
    [language, file]: [&str; 2],
    text: &str,
    expected: &str,
) -> Outcome {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let begin = format!("```{language}\n");
    let (_, block) = readme.split_once(&begin).ok_or(format!("README has no {begin}"))?;
    let block = block.split("```").next().unwrap_or_default();
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(file), text.replace("README\n", block))?;
    let program = program(compiler.arg(file), folder.path(), &library("libgpp_c.a")?)?;
    assert_eq!(printed(&mut Command::new(program))?, expected);
    Ok(())
}

pub fn in_c() -> Outcome {
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Werror", "-I"]).arg(package().join("include"));
    prints(&mut cc, ["c", "readme.c"], C, "1.1416e+00 -7.4095e-01")
}

pub fn in_fortran() -> Outcome {
    let mut gfortran = Command::new("gfortran");
    gfortran.args(modules()?);
    prints(&mut gfortran, ["fortran", "readme.f90"], FORTRAN, "1.0037E+00 -1.3225E+00")
}
