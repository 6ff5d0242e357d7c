//! The program; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpp::process::startup::began();
    gpp::cli::main()
}
