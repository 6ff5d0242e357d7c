//! A chart as a picture.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::scene::{CURVE, FONT, LONE, Place, Scene, Shape, Text, Tone};
use crate::error::ChartError;

type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

/// Draws a chart to a PNG file.
///
/// # Errors
/// [`ChartError::Drawing`].
pub fn png(path: &Path, scene: &Scene) -> Result<(), ChartError> {
    let area = BitMapBackend::new(path, scene.size).into_drawing_area();
    let all = || -> Result<(), DrawingAreaErrorKind<_>> {
        area.fill(&color(Tone::Paper))?;
        for shape in &scene.shapes {
            match shape {
                Shape::Line { points, tone, width, opacity } => {
                    line(&area, points, color(*tone).mix(*opacity), *width)?;
                }
                Shape::Area { points, tone } => filled(&area, points, color(*tone))?,
                Shape::Curve { points, color: of, .. } => {
                    curve(&area, points, color(Tone::Color(*of)))?
                }
                Shape::Step { points, .. } => {
                    line(&area, points, color(Tone::Ink).mix(0.25), 1.0)?;
                }
                Shape::Text(text) => write(&area, text)?,
                Shape::Name { text, leader, .. } => {
                    if let Some(leader) = leader {
                        line(&area, leader, color(text.tone).mix(0.7), 1.0)?;
                    }
                    write(&area, text)?;
                }
            }
        }
        for dot in &scene.dots {
            let own = color(Tone::Color(dot.color));
            if dot.hollow {
                let closed: Vec<Place> = dot.mark.iter().chain(&dot.mark[..1]).copied().collect();
                line(&area, &closed, own.to_rgba(), 2.0)?;
            } else {
                filled(&area, &dot.mark, own)?;
            }
        }
        area.present()
    };
    all().map_err(|e| ChartError::Drawing(e.to_string()))
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

fn line<'a>(area: &Area<'a>, points: &[Place], color: RGBAColor, width: f64) -> Drawn<'a> {
    area.draw(&PathElement::new(pixels(points), color.stroke_width(width.round().max(1.0) as u32)))
}

fn filled<'a>(area: &Area<'a>, points: &[Place], color: RGBColor) -> Drawn<'a> {
    area.draw(&Polygon::new(pixels(points), color.filled()))
}

fn curve<'a>(area: &Area<'a>, points: &[Place], color: RGBColor) -> Drawn<'a> {
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
    let font = (FONT, text.letters).into_font().color(&color(text.tone));
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

fn color(tone: Tone) -> RGBColor {
    let [r, g, b] = tone.rgb();
    RGBColor(r, g, b)
}
