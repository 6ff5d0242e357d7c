//! Golden sums of built-in systems as `data/golden.json` has them:
//!
//! ```sh
//! cargo run --release --example golden -- tiny                          # at the system's own energies
//! cargo run --release --example golden -- tiny --energies 0:1:2         # at others
//! ```

use clap::Parser;
use gpp::output::Progress;
use gpp::problem::System;
use gpp::problem::synthesis::DEFAULT_SEED;
use gpp::problem::{EnergyGrid, Even};
use gpp::record::plain;
use gpp::reference::{self, Golden, GoldenEnergies};
use gpp::setup::{ProblemInput, ProblemSource};

/// Evaluate golden sums of built-in systems and print them as JSON
#[derive(Parser)]
struct Args {
    /// Built-in systems, several with commas
    #[arg(value_delimiter = ',', required = true)]
    systems: Vec<String>,

    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,

    /// Other energies than the system's own
    #[arg(long, value_name = "FROM:TO:COUNT", allow_hyphen_values = true)]
    energies: Option<Even>,
}

fn main() -> Result<(), gpp::error::Error> {
    let Args { systems, seed, energies } = Args::parse();
    let progress = Progress { shown: true };
    let grid = energies.map(EnergyGrid::Even);
    let mut sums = Vec::new();
    for name in &systems {
        let system = System::find(name)?;
        let source = ProblemSource {
            input: ProblemInput::System(system, seed),
            energies: grid.clone(),
            time_ordered: None,
        };
        let problem = source.load(progress)?;
        let at = grid.as_ref().map(|_| GoldenEnergies::from_header(problem.header()));
        let evaluated = reference::evaluate(&problem, progress)?.sums;
        sums.push(Golden { system: system.name.clone(), seed, at, sums: evaluated });
    }
    println!("{}", plain(&sums));
    Ok(())
}
