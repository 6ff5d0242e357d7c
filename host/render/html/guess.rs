//! Predict, then reveal: who likes to may guess what a step does before its figures are shown. Hidden where
//! no script makes it work.

use maud::{Markup, html};

/// What the time may do: from and to which part of the time before, and in words.
const ANSWERS: [(f64, f64, &str); 5] = [
    (1.03, f64::INFINITY, "slower"),
    (0.97, 1.03, "the same within 3 %"),
    (0.8, 0.97, "up to a fifth less"),
    (0.5, 0.8, "a fifth to a half less"),
    (0.0, 0.5, "less than half"),
];

/// Before the cards.
pub(super) fn begin() -> Markup {
    html! {
        p .guesses hidden {
            label {
                input type="checkbox" data-guess;
                "Let me guess what a step does to the time before I see it. "
            }
            output #score {}
        }
    }
}

/// Of one card.
pub(super) fn ask(id: &str, before: &str) -> Markup {
    html! {
        fieldset .guess hidden {
            legend { "What does " b { (id) } " do to the time of " b { (before) } "?" }
            @for (from, to, words) in ANSWERS {
                button type="button" data-from=(from) data-to=[to.is_finite().then_some(to)] { (words) }
            }
            button type="button" .skip-guess { "just show it" }
        }
        p .answer role="status" hidden {}
    }
}
