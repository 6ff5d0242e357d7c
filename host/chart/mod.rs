//! Charts as SVG and PNG, by one drawing for both.

mod roofline;
mod sums;

use std::io::Write;
use std::path::Path;
use std::sync::Once;

use image::ImageEncoder;
use maud::{PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Error, Result};
use crate::output::replace;

pub use roofline::Roofline;
pub use sums::Sizes;

/// Letters of a viewer's own font in an SVG, and of the font below in a PNG.
const FONT: &str = "sans-serif";

/// Heights of letters with what is above and below them.
const TITLE: f64 = 22.0;
const NAME: f64 = 18.0;

/// Of axes, roofs and texts.
const INK: RGBColor = RGBColor(28, 35, 43);

/// Pixels above a plot, for the title and a line of explanation, whose middle is here.
const HEAD: i32 = 66;
const EXPLAINED: i32 = 48;

/// Pixels before the name of an upright axis.
const EDGE: i32 = 8;

pub type Area<B> = DrawingArea<B, Shift>;
pub type Drawn<B> = std::result::Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// What can be drawn.
pub trait Chart {
    fn title(&self) -> String;

    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Draws onto a white area of that size.
    fn draw<B: DrawingBackend>(&self, on: &Area<B>) -> Drawn<B>;

    /// The chart as SVG, to stand alone.
    fn svg(&self) -> String {
        let (width, height) = self.size();
        let mut text = String::new();
        drawn(self, &SVGBackend::with_string(&mut text, self.size()).into_drawing_area());
        let inside = text.split_once("<svg").and_then(|(_, rest)| rest.split_once('>'));
        let inside = inside.map_or("", |(_, inside)| inside).replace("</svg>", "");
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
                viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(self.title()) {
                (PreEscaped(inside))
            }
        };
        markup.into_string()
    }

    /// The chart as SVG for a page: on the page's paper and with its ink.
    fn inline(&self) -> String {
        let RGBColor(r, g, b) = INK;
        let ink = format!("\"#{r:02X}{g:02X}{b:02X}\"");
        self.svg().replace(&ink, "\"currentColor\"").replace("\"#FFFFFF\"", "\"none\"")
    }

    fn png(&self) -> Vec<u8> {
        let (width, height) = self.size();
        let mut pixels = vec![0; 3 * width as usize * height as usize];
        let area = BitMapBackend::with_buffer(&mut pixels, self.size()).into_drawing_area();
        drawn(self, &area);
        drop(area);
        let mut bytes = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
        let written = encoder.write_image(&pixels, width, height, image::ColorType::Rgb8);
        written.expect("memory takes what is written");
        bytes
    }
}

fn drawn<B: DrawingBackend>(chart: &(impl Chart + ?Sized), area: &Area<B>) {
    // The same letters in each picture, whatever fonts the machine has.
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let all = area.fill(&WHITE).and_then(|()| chart.draw(area)).and_then(|()| area.present());
    all.expect("memory takes what is drawn, and the font is there");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    Svg,
    Png,
}

impl Picture {
    /// That of a file, by its name's ending.
    pub fn of(path: &Path) -> Result<Picture> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "svg" => Ok(Picture::Svg),
            "png" => Ok(Picture::Png),
            _ => Err(Error::write(path, "a plot's name ends in .svg or .png")),
        }
    }

    /// Writes a chart, whole or not at all.
    pub fn write(self, path: &Path, chart: &impl Chart) -> Result<()> {
        let bytes = match self {
            Picture::Svg => chart.svg().into_bytes(),
            Picture::Png => chart.png(),
        };
        replace(path, |file| file.write_all(&bytes))
    }
}

fn letters(size: f64) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// The same, placed by the middle of its height.
fn middle(size: f64, across: HPos) -> TextStyle<'static> {
    letters(size).pos(Pos::new(across, VPos::Center))
}

/// Pixels across a text.
fn width<B: DrawingBackend>(on: &Area<B>, text: &str, size: f64) -> i32 {
    // Without a font nothing is drawn, which drawing says. The letters of a viewer may be wider.
    on.estimate_text_size(text, &letters(size))
        .map_or(0, |(width, _)| (1.1 * f64::from(width)) as i32)
}

/// Draws a title at the top, and at the end of the line below it what is to be known; each is made to fit.
fn head<B: DrawingBackend>(
    on: &Area<B>,
    left: i32,
    title: &str,
    known: &str,
    room: i32,
) -> Drawn<B> {
    let right = on.dim_in_pixel().0 as i32 - 16;
    let fit = |text: &str, size: f64, room: i32| {
        size * (f64::from(room) / f64::from(width(on, text, size).max(1))).clamp(0.2, 1.0)
    };
    let size = fit(title, TITLE, right - left);
    on.draw_text(title, &middle(size, HPos::Left), (left, 20))?;
    let size = fit(known, NAME, room);
    on.draw_text(known, &middle(size, HPos::Right), (right, EXPLAINED))
}
