//! The program; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpp::output::program_began();
    gpp::program::main()
}
