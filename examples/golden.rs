//! Golden sums of built-in systems as `data/golden.json` holds them, or, with bands, elements as
//! `data/golden-matrices.json` does:
//!
//! ```sh
//! cargo run --release --example golden -- tiny                          # at the system's own energies
//! cargo run --release --example golden -- tiny --energies 0:1:2         # at others
//! cargo run --release --example golden -- tiny,demo --bands 1,16,32     # elements between these bands
//! ```

use clap::Parser;
use gpp::problem::grid::{Even, Grid};
use gpp::problem::systems::{self, DEFAULT_SEED};
use gpp::progress::Progress;
use gpp::record::plain;
use gpp::reference::matrix::{self, GoldenMatrix, Sample};
use gpp::reference::{self, At, Golden};
use gpp::setup::Source;
use gpp_core::offdiag::{Synthesised, Task};

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

    /// As many energies with the system's own spacing
    #[arg(long, conflicts_with = "energies")]
    nw: Option<usize>,

    /// Elements of the matrix between these bands, counted from 1, in place of sums
    #[arg(long, value_delimiter = ',')]
    bands: Vec<usize>,
}

fn main() -> Result<(), gpp::error::Error> {
    let Args { systems, seed, energies, nw, mut bands } = Args::parse();
    let progress = Progress { shown: true };
    let grid = energies.map(Grid::Even).or(nw.map(Grid::Count));
    bands.sort_unstable();
    bands.dedup();
    let (mut sums, mut matrices) = (Vec::new(), Vec::new());
    for name in &systems {
        let system = systems::find(name)?;
        let problem = Source::System(system, seed).at(grid.clone()).load(progress)?;
        let at = At::of(problem.header());
        let Some(&last) = bands.last() else {
            let at = grid.as_ref().map(|_| at);
            let evaluated = reference::evaluate(&problem, progress)?.sums;
            sums.push(Golden { system: system.name.clone(), seed, at, sums: evaluated });
            continue;
        };
        let synthesised = Synthesised::new(system, seed, last);
        let task = Task::new(&problem, &synthesised);
        let of_bands = bands.iter().map(|band| band - 1).collect();
        let sample = Sample { bands: of_bands, energies: (0..problem.nw()).collect() };
        let elements = matrix::evaluate(&task, &sample, progress);
        let (system, bands) = (system.name.clone(), bands.clone());
        matrices.push(GoldenMatrix { system, seed, at, bands, elements });
    }
    println!("{}", if bands.is_empty() { plain(&sums) } else { plain(&matrices) });
    Ok(())
}
