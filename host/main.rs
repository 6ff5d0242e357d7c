//! The program; everything it does is in the library.

use std::process::ExitCode;

use gpp::allocation::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    gpp::output::program_began();
    gpp::cli::main()
}
