//! The interfaces for C and Fortran: the header, the symbols of the shared library, programs in both languages, and
//! thousands of wrong arguments. What needs a tool that is not here is reported as ignored, and says so.

mod border;
mod built;
mod c;
mod fortran;
mod readme;

use libtest_mimic::{Arguments, Failed, Trial};

type Outcome = Result<(), Failed>;

fn main() {
    let arguments = Arguments::from_args();
    let missing = |tools: &[&str], required: &str| {
        let missing: Vec<&str> = tools.iter().copied().filter(|tool| !built::has(tool)).collect();
        let ignored = !missing.is_empty() && std::env::var_os(required).is_none();
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
    type Test = (&'static str, fn() -> Outcome, bool);
    let trials: [Test; 18] = [
        ("the header is what cbindgen makes", c::generated, false),
        ("the header is C and C++", c::compiles, false),
        ("the shared library shows nothing but gpp_", c::symbols, no_elf),
        ("a program in C", || c::on("cpu"), no_elf),
        ("what a process does around calls", c::border, no_elf),
        ("a program in C under valgrind", c::watched, no_elf || no_valgrind),
        ("a program in C on the GPU", || c::on("gpu"), no_gpu),
        ("wrong arguments by the thousand", border::wrong_arguments, false),
        ("the README's C", readme::in_c, no_elf),
        ("the README's Fortran", readme::in_fortran, no_elf || no_fortran),
        ("a program in Fortran", || fortran::on("cpu"), no_elf || no_fortran),
        ("a program in Fortran on the GPU", || fortran::on("gpu"), no_gpu || no_fortran),
        ("arrays in Fortran, by gfortran", || fortran::arrays("gfortran"), no_elf || no_fortran),
        ("arrays in Fortran, by flang", || fortran::arrays(fortran::FLANG), no_elf || no_flang),
        ("the routine for BerkeleyGW", fortran::berkeleygw, no_elf || no_fortran),
        ("other kinds, by gfortran", || fortran::kinds("gfortran"), no_fortran),
        ("other kinds, by flang", || fortran::kinds(fortran::FLANG), no_flang),
        ("ranks in Fortran", fortran::ranks, no_elf || no_mpi),
    ];
    let trial = |(name, test, ignored): Test| Trial::test(name, test).with_ignored_flag(ignored);
    libtest_mimic::run(&arguments, trials.into_iter().map(trial).collect()).exit();
}
