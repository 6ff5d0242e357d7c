//! Time over more and more devices, and the model of it; or over extents.

use maud::{Markup, html};

use super::sheet::Sheet;
use crate::record::scale::{Over, Scale};
use crate::render::results;
use crate::render::scale::{NOTHING, constants, points, predicted};

/// A scaling that is rated.
pub(super) fn scale(scale: &Scale) -> Markup {
    let over = scale.over;
    html! {
        p { "Over " (over.name()) ": " (scale.version) " on " (results::system(&scale.system)) "." }
        (Sheet::of(&points(scale), |_| None).markup())
        @if over != Over::Extents { p .note {
            "Strong: the system as it is; weak: each with the same part of its G′. Data in place, or "
            "from the host’s memory with its transfer in the time; slabs: one of the " (over.name())
            " with slabs of other sizes."
        } }
        @if let Some(model) = &scale.model {
            p { "Model: " (constants(model, over)) "." }
            @if model.predictions.is_empty() {
                p .note { (NOTHING) "." }
            } @else {
                (Sheet::of(&predicted(model, over), |_| None).markup())
                p .note { "The predictions take for granted that" }
                ul .note { @for text in &model.assumptions { li { (text) } } }
            }
        }
    }
}
