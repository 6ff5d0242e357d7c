//! What a chart is drawn of: lines, areas, texts and dots, in pixels from the left upper corner.

use std::path::Path;
use std::sync::Once;

use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, IntoFont, register_font};

use crate::error::ChartError;
use crate::roofline::Point;

/// Pixels of a chart of Σ(ω).
pub const SIZE: (u32, u32) = (960, 640);

/// Pixels across a curve, and from the middle of one that is a dot to its side.
pub const CURVE: f64 = 1.5;
pub const LONE: f64 = 2.0;

/// The letters' name among the drawing library's.
pub const FONT: &str = "chart";

pub type Place = (f64, f64);

/// What something is drawn with: a page, or a reader who likes it dark, may give the first three other colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Paper,
    Grid,
    /// Of axes, roofs and their texts.
    Ink,
    Color([u8; 3]),
}

impl Tone {
    /// Red, green and blue of a chart by itself.
    pub fn rgb(self) -> [u8; 3] {
        match self {
            Tone::Paper => [255, 255, 255],
            Tone::Grid => [232, 235, 239],
            Tone::Ink => [28, 35, 43],
            Tone::Color(rgb) => rgb,
        }
    }
}

pub enum Shape {
    Line {
        points: Vec<Place>,
        tone: Tone,
        width: f64,
        /// From 0 to 1.
        opacity: f64,
    },
    Area {
        points: Vec<Place>,
        tone: Tone,
    },
    /// A line through values, with a vertex for each; a dot where there is but one.
    Curve {
        id: String,
        points: Vec<Place>,
        color: [u8; 3],
    },
    /// The line from a dot to the next version's.
    Step {
        version: String,
        points: [Place; 2],
    },
    Text(Text),
    /// A dot's name, and the line that leads to it where the name stands apart.
    Name {
        version: String,
        /// The name of the dot's level.
        level: &'static str,
        text: Text,
        leader: Option<[Place; 2]>,
    },
}

pub struct Text {
    pub text: String,
    /// Left upper corner of its [`Text::size`]; of an upright one the left lower corner, its text
    /// running upwards.
    pub at: Place,
    pub letters: f64,
    pub tone: Tone,
    pub upright: bool,
}

impl Text {
    pub fn new(text: impl Into<String>, at: Place, letters: f64, tone: Tone) -> Text {
        Text { text: text.into(), at, letters, tone, upright: false }
    }

    /// Width and height along the text.
    pub fn size(&self) -> Place {
        size(&self.text, self.letters)
    }
}

pub fn size(text: &str, letters: f64) -> Place {
    // The same letters in each picture, whatever fonts the machine has.
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let found = (FONT, letters).into_font().layout_box(text);
    let width = found.map_or(0.6 * letters * text.len() as f64, |((left, _), (right, _))| {
        f64::from(right - left)
    });
    // The letters of a viewer may be wider.
    (1.1 * width, 1.2 * letters)
}

/// A dot, told of where a pointer rests on it or the keyboard's focus is.
pub struct Dot {
    /// The version, the level and what is drawn of them.
    pub point: Point,
    pub told: String,
    pub at: Place,
    pub mark: Vec<Place>,
    /// Whether the shape is an outline.
    pub hollow: bool,
    /// Where a pointer meets this dot and no other.
    pub hit: Vec<Place>,
    pub color: [u8; 3],
}

pub struct Scene {
    pub title: String,
    pub size: (u32, u32),
    /// What is behind the dots, in the order in which it is drawn.
    pub shapes: Vec<Shape>,
    pub dots: Vec<Dot>,
}

// A chart as SVG. What is not the colour of a version or a curve has a class, so that a page may draw
// it by its own colours; alone it follows the reader's taste.

/// Colours for readers who like it dark, where a chart stands alone.
const DARK: &str = "@media(prefers-color-scheme:dark){.paper{fill:#12161b}polyline.grid{stroke:#323b46}\
    polyline.ink,.step{stroke:#e4e9ef}text,polygon.ink{fill:#e4e9ef}}";

impl Scene {
    /// The text of a chart that stands alone.
    pub fn svg(&self) -> String {
        text(self, true)
    }

    /// The text of a chart within a page, which brings the colours.
    pub fn inline(&self) -> String {
        text(self, false)
    }

    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        png(path, self)
    }
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

// A chart as a picture.

type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

fn png(path: &Path, scene: &Scene) -> Result<(), ChartError> {
    let area = BitMapBackend::new(path, scene.size).into_drawing_area();
    let all = || -> Result<(), DrawingAreaErrorKind<_>> {
        area.fill(&png_color(Tone::Paper))?;
        for shape in &scene.shapes {
            match shape {
                Shape::Line { points, tone, width, opacity } => {
                    line(&area, points, png_color(*tone).mix(*opacity), *width)?;
                }
                Shape::Area { points, tone } => filled(&area, points, png_color(*tone))?,
                Shape::Curve { points, color: of, .. } => {
                    png_curve(&area, points, png_color(Tone::Color(*of)))?
                }
                Shape::Step { points, .. } => {
                    line(&area, points, png_color(Tone::Ink).mix(0.25), 1.0)?;
                }
                Shape::Text(text) => write(&area, text)?,
                Shape::Name { text, leader, .. } => {
                    if let Some(leader) = leader {
                        line(&area, leader, png_color(text.tone).mix(0.7), 1.0)?;
                    }
                    write(&area, text)?;
                }
            }
        }
        for dot in &scene.dots {
            let own = png_color(Tone::Color(dot.color));
            if dot.hollow {
                let closed: Vec<Place> = dot.mark.iter().chain(&dot.mark[..1]).copied().collect();
                line(&area, &closed, own.to_rgba(), 2.0)?;
            } else {
                filled(&area, &dot.mark, own)?;
            }
        }
        area.present()
    };
    all().map_err(|e| ChartError(e.to_string()))
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

fn line<'a>(area: &Area<'a>, points: &[Place], color: RGBAColor, width: f64) -> Drawn<'a> {
    area.draw(&PathElement::new(pixels(points), color.stroke_width(width.round().max(1.0) as u32)))
}

fn filled<'a>(area: &Area<'a>, points: &[Place], color: RGBColor) -> Drawn<'a> {
    area.draw(&Polygon::new(pixels(points), color.filled()))
}

fn png_curve<'a>(area: &Area<'a>, points: &[Place], color: RGBColor) -> Drawn<'a> {
    if let [at] = *points {
        return area.draw(&Circle::new(pixel(at), LONE as i32, color.filled()));
    }
    // One by one: of a thick line in one piece the library cuts off sharp peaks.
    let apart = points.windows(2).filter(|ends| pixel(ends[0]) != pixel(ends[1]));
    for ends in apart {
        line(area, ends, color.to_rgba(), CURVE)?;
    }
    Ok(())
}

fn write<'a>(area: &Area<'a>, text: &Text) -> Drawn<'a> {
    let font = (FONT, text.letters).into_font().color(&png_color(text.tone));
    let (width, height) = text.size();
    let (x, y) = text.at;
    // In the middle of the room that is left for wider letters.
    let (middle, turned) = if text.upright {
        ((x + height / 2.0, y - width / 2.0), font.transform(FontTransform::Rotate270))
    } else {
        ((x + width / 2.0, y + height / 2.0), font)
    };
    let style = turned.pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&plotters::element::Text::new(text.text.as_str(), pixel(middle), style))
}

fn pixels(points: &[Place]) -> Vec<(i32, i32)> {
    points.iter().copied().map(pixel).collect()
}

fn pixel((x, y): Place) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

fn png_color(tone: Tone) -> RGBColor {
    let [r, g, b] = tone.rgb();
    RGBColor(r, g, b)
}
