//! Σ(ω), where the run was of more energies than the paper's.

use maud::{Markup, PreEscaped, html};

use crate::analysis::sigma::Sigma;
use crate::record::run::Run;
use crate::render::chart;

/// Energies of which a plot tells no more than a line of numbers.
const FEW: usize = 3;

/// The plot of the fastest version that passed.
pub(super) fn sigma(run: &Run) -> Markup {
    let Some(sigma) = Sigma::of_fastest(run).ok().filter(|sigma| sigma.rows.len() > FEW) else {
        return html! {};
    };
    let broken = sigma.broken().len();
    html! {
        p .note {
            "Screened exchange, Coulomb hole and their sum Σ at " (sigma.rows.len()) " energies, by "
            (sigma.result.version) ": a vertex an energy, nothing between. Energies are above the "
            "state’s."
            @if broken > 0 { " At " (broken) " of them a sum is no number: lines end there." }
        }
        figure { (PreEscaped(chart::sigma::inline(&sigma))) }
    }
}
