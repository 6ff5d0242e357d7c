//! The program; everything it does is in the library.

use std::process::ExitCode;

use gpp::process::allocation::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    gpp::process::startup::began();
    gpp::cli::main()
}
