//! The faces for C and Fortran: the header, the symbols of the shared library, programs in both languages
//! against the static one, and the border under thousands of wrong arguments.
//!
//! What needs a tool that is not here is reported as ignored, and says so.

mod border;
mod built;
mod c;
mod fortran;
mod header;
mod readme;

use std::env;

use libtest_mimic::{Arguments, Failed, Trial};

type Outcome = Result<(), Failed>;

fn main() {
    let arguments = Arguments::from_args();
    let missing = |tools: &[&str], required: &str| {
        let missing: Vec<&str> = tools.iter().copied().filter(|tool| !built::has(tool)).collect();
        let ignored = !missing.is_empty() && env::var_os(required).is_none();
        if ignored {
            eprintln!("SKIPPED on this machine: no {}", missing.join(", no "));
        }
        ignored
    };
    // The flags are those of a linker of ELF.
    let no_elf = !cfg!(target_os = "linux");
    let no_valgrind = missing(&["cc", "valgrind"], "GPP_REQUIRE_VALGRIND");
    let no_fortran = missing(&["gfortran"], "GPP_REQUIRE_GFORTRAN");
    let no_flang = missing(&[fortran::FLANG], "GPP_REQUIRE_FLANG");
    let no_mpi = missing(&["mpif90", "mpirun"], "GPP_REQUIRE_MPI");
    let no_gpu = no_elf || c::no_gpu();
    let no_cargo_c = missing(&["cargo-cinstall"], "GPP_REQUIRE_CARGO_C");
    let trials = vec![
        Trial::test("the header is what cbindgen makes", header::generated),
        Trial::test("the header is C and C++", header::compiles),
        Trial::test("the shared library shows nothing but gpp_", c::symbols)
            .with_ignored_flag(no_elf),
        Trial::test("a program in C", c::program).with_ignored_flag(no_elf),
        Trial::test("a program in C under valgrind", c::watched)
            .with_ignored_flag(no_valgrind || no_elf),
        Trial::test("a program in C on the GPU", c::on_gpu).with_ignored_flag(no_gpu),
        Trial::test("wrong arguments by the thousand", border::wrong_arguments),
        Trial::test("the README's C", readme::in_c).with_ignored_flag(no_elf),
        Trial::test("the README's Fortran", readme::in_fortran)
            .with_ignored_flag(no_fortran || no_elf),
        Trial::test("a program in Fortran", fortran::program)
            .with_ignored_flag(no_fortran || no_elf),
        Trial::test("a program in Fortran on the GPU", fortran::on_gpu)
            .with_ignored_flag(no_gpu || no_fortran),
        Trial::test("arrays in Fortran, by gfortran", fortran::arrays_by_gfortran)
            .with_ignored_flag(no_fortran || no_elf),
        Trial::test("arrays in Fortran, by flang", fortran::arrays_by_flang)
            .with_ignored_flag(no_flang || no_elf),
        Trial::test("ranks in Fortran", fortran::ranks).with_ignored_flag(no_mpi || no_elf),
        Trial::test("cargo cinstall", built::installed).with_ignored_flag(no_cargo_c),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}
