//! A chart as SVG. What is not the colour of a version or a curve has a class, so that a page may draw
//! it by its own colours; alone it follows the reader's taste.

use maud::{Markup, PreEscaped, html};

use super::scene::{CURVE, Dot, LONE, Place, Scene, Shape, Text, Tone};

/// Colours for readers who like it dark, where a chart stands alone.
const DARK: &str = "@media(prefers-color-scheme:dark){.paper{fill:#12161b}polyline.grid{stroke:#323b46}\
    polyline.ink,.step{stroke:#e4e9ef}text,polygon.ink{fill:#e4e9ef}}";

/// The text of a chart that stands alone.
pub fn alone(scene: &Scene) -> String {
    text(scene, true)
}

/// The text of a chart within a page.
pub fn inline(scene: &Scene) -> String {
    text(scene, false)
}

fn text(scene: &Scene, alone: bool) -> String {
    let (width, height) = scene.size;
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) font-family="system-ui, sans-serif"
            role="group" aria-label=(scene.title) {
            @if alone { style { (PreEscaped(DARK)) } }
            rect class="paper" width=(width) height=(height) fill=(color(Tone::Paper)) {}
            @for shape in &scene.shapes { (drawn(shape)) "\n" }
            @for dot in &scene.dots { (dotted(dot)) "\n" }
        }
    };
    markup.into_string()
}

fn drawn(shape: &Shape) -> Markup {
    match shape {
        Shape::Line { points, tone, width, opacity } => html! {
            polyline class=[class(*tone)] points=(joined(points)) fill="none" stroke=(color(*tone))
                stroke-width=(width) stroke-opacity=[(*opacity < 1.0).then_some(opacity)] {}
        },
        Shape::Area { points, tone } => html! {
            polygon class=[class(*tone)] points=(joined(points)) fill=(color(*tone)) {}
        },
        Shape::Curve { id, points, color: of } => curve(id, points, &color(Tone::Color(*of))),
        Shape::Step { version, points } => html! {
            polyline class="step" data-version=(version) points=(joined(points)) fill="none"
                stroke=(color(Tone::Ink)) stroke-opacity="0.25" {}
        },
        Shape::Text(text) => html! { (written(text, class(text.tone))) },
        Shape::Name { version, level, text, leader } => html! {
            g class="name" data-version=(version) data-level=(level) pointer-events="none" {
                @if let Some(line) = leader {
                    polyline class="ink" points=(joined(line)) fill="none" stroke=(color(text.tone))
                        stroke-width="0.8" stroke-opacity="0.6" {}
                }
                (written(text, class(text.tone)))
            }
        },
    }
}

fn curve(id: &str, points: &[Place], color: &str) -> Markup {
    html! {
        @if let [(x, y)] = points {
            circle class="curve" data-curve=(id) cx=(format!("{x:.1}")) cy=(format!("{y:.1}"))
                r=(LONE) fill=(color) {}
        } @else {
            polyline class="curve" data-curve=(id) points=(joined(points)) fill="none"
                stroke=(color) stroke-width=(CURVE) stroke-linejoin="round" {}
        }
    }
}

/// A text of the width that was left for it, whatever letters a viewer has.
fn written(text: &Text, class: Option<&str>) -> Markup {
    let (width, _) = text.size();
    let (x, y) = text.at;
    // From the top of the letters to the line that they stand on.
    let down = 0.95 * text.letters;
    let (x, y, turn) = if text.upright {
        let turn = format!("rotate(-90 {:.1} {y:.1})", x + down);
        (x + down, y, Some(turn))
    } else {
        (x, y + down, None)
    };
    html! {
        text class=[class] x=(format!("{x:.1}")) y=(format!("{y:.1}")) font-size=(text.letters)
            fill=(color(text.tone)) textLength=(format!("{width:.1}"))
            lengthAdjust="spacingAndGlyphs" transform=[turn] { (text.text) }
    }
}

fn dotted(dot: &Dot) -> Markup {
    let own = color(Tone::Color(dot.color));
    html! {
        g class="dot" data-version=(dot.point.version) data-level=(dot.point.level.name())
            tabindex="0" role="img" aria-label=(dot.told) data-told=(dot.told) {
            title { (dot.told) }
            polygon class="mark" points=(joined(&dot.mark)) stroke=(own) stroke-width="1.6"
                fill=(if dot.hollow { "none" } else { own.as_str() }) {}
            polygon class="hit" points=(joined(&dot.hit)) fill="#000" fill-opacity="0" {}
        }
    }
}

fn joined(points: &[Place]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

/// What a page knows a colour by.
fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Paper => Some("paper"),
        Tone::Grid => Some("grid"),
        Tone::Ink => Some("ink"),
        Tone::Color(_) => None,
    }
}

fn color(tone: Tone) -> String {
    let [r, g, b] = tone.rgb();
    format!("#{r:02x}{g:02x}{b:02x}")
}
