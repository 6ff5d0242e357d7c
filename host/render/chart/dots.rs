//! The dots of a chart: a version's colour, a level's shape, and where a pointer meets which.

use std::f64::consts::TAU;

use super::axes::{Axes, unit};
use super::scene::{Dot, Place};
use crate::analysis::levels::Level;
use crate::analysis::roofline::Point;
use crate::catalogue::order;

/// Colours of versions in their order, over again: of equal lightness, so that each can be read on a
/// light and on a dark background, and neighbours far apart in hue.
const COLORS: [[u8; 3]; 14] = [
    [0xed, 0x4a, 0x49],
    [0x03, 0x99, 0x53],
    [0x7e, 0x75, 0xff],
    [0xc7, 0x5e, 0x00],
    [0x05, 0xa3, 0x8e],
    [0xa1, 0x55, 0xda],
    [0xba, 0x7f, 0x01],
    [0x03, 0x91, 0x9d],
    [0xd0, 0x52, 0xbe],
    [0x90, 0x82, 0x00],
    [0x03, 0x99, 0xcb],
    [0xd7, 0x3a, 0x7d],
    [0x6f, 0x9e, 0x04],
    [0x12, 0x7c, 0xf4],
];

/// Pixels from a shape's middle to its corners, and to the end of where a pointer meets it.
const MARK: f64 = 6.0;
const REACH: f64 = 13.0;

/// Pixels below which dots are in one place.
const SAME: f64 = 0.5;

/// Corners of a level's shape around its middle, and whether it is an outline.
pub fn mark(level: Level, (x, y): Place) -> (Vec<Place>, bool) {
    let (corners, turn, size) = match level {
        Level::Hbm => (24, 0.0, 0.88),
        Level::L2 | Level::L2AndFabric => (4, TAU / 8.0, 1.1),
        Level::L1 => (3, -TAU / 4.0, 1.15),
        Level::Shared => (4, 0.0, 1.1),
    };
    (polygon((x, y), corners, turn, size * MARK), level == Level::L2AndFabric)
}

fn polygon((x, y): Place, corners: u32, turn: f64, size: f64) -> Vec<Place> {
    let angle = |at: u32| turn + TAU * f64::from(at) / f64::from(corners);
    (0..corners).map(|at| (x + size * angle(at).cos(), y + size * angle(at).sin())).collect()
}

/// The dots of some points, in their versions' colours, those of other names in one each; each has its own
/// part of the chart, also where dots lie on each other. Behind the first `counted` are outlines, by the operations
/// that are executed.
pub fn dots(points: Vec<Point>, counted: usize, axes: &Axes) -> Vec<Dot> {
    let places: Vec<Place> =
        points.iter().map(|point| axes.place(point.intensity, point.flops_per_s)).collect();
    let mut names: Vec<String> = points.iter().map(|point| point.version.clone()).collect();
    names.dedup();
    let dot = |(index, point): (usize, Point)| {
        let at = places[index];
        let (mark, hollow) = mark(point.level, at);
        let executed = index >= counted;
        let told = format!(
            "{} {}: {:.2} FLOP/byte, {}{}",
            point.version,
            point.level.name(),
            point.intensity,
            rate(point.flops_per_s, 2, "FLOP/s"),
            if executed { ", executed" } else { "" }
        );
        let among = || names.iter().position(|name| *name == point.version).unwrap_or(0);
        let color = COLORS[order::place(&point.version).unwrap_or_else(among) % COLORS.len()];
        Dot { point, told, at, mark, hollow: hollow || executed, hit: hit(index, &places), color }
    };
    points.into_iter().enumerate().map(dot).collect()
}

/// A rate of a GPU's size or of a processor's.
pub fn rate(value: f64, digits: usize, of: &str) -> String {
    let (size, prefix) = unit(value);
    format!("{:.digits$} {prefix}{of}", value / size)
}

/// What is nearer to a dot than to any other, within reach. Dots in one place share it in upright strips, the
/// first on the left.
fn hit(index: usize, places: &[Place]) -> Vec<Place> {
    let far = |one: usize, other: usize| {
        (places[one].0 - places[other].0).hypot(places[one].1 - places[other].1)
    };
    let here: Vec<usize> = (0..places.len()).filter(|&other| far(index, other) < SAME).collect();
    let own = places[here[0]];
    let mut area = polygon(own, 16, TAU / 32.0, REACH);
    for other in (0..places.len()).filter(|other| !here.contains(other)) {
        let (far, to) = (far(here[0], other), places[other]);
        let middle = (f64::midpoint(own.0, to.0), f64::midpoint(own.1, to.1));
        area = nearer(&area, ((to.0 - own.0) / far, (to.1 - own.1) / far), middle);
    }
    let left = area.iter().fold(f64::INFINITY, |least, at| least.min(at.0));
    let right = area.iter().fold(f64::NEG_INFINITY, |most, at| most.max(at.0));
    let before = here.iter().filter(|&&other| other < index).count();
    let strip = |of: usize| left + (right - left) * of as f64 / here.len() as f64;
    area = nearer(&area, (-1.0, 0.0), (strip(before), own.1));
    nearer(&area, (1.0, 0.0), (strip(before + 1), own.1))
}

/// The part of a polygon that is not beyond a line, which is given by the direction beyond and a point.
fn nearer(area: &[Place], toward: Place, on: Place) -> Vec<Place> {
    let beyond = |at: Place| (at.0 - on.0) * toward.0 + (at.1 - on.1) * toward.1;
    let mut left = Vec::new();
    for (at, &from) in area.iter().enumerate() {
        let to = area[(at + 1) % area.len()];
        let (a, b) = (beyond(from), beyond(to));
        if a <= 0.0 {
            left.push(from);
        }
        if (a < 0.0 && b > 0.0) || (a > 0.0 && b < 0.0) {
            let part = a / (a - b);
            left.push((from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1)));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a polygon that turns one way holds a place.
    fn holds(area: &[Place], at: Place) -> bool {
        let turn = |i: usize| {
            let (a, b) = (area[i], area[(i + 1) % area.len()]);
            (b.0 - a.0) * (at.1 - a.1) - (b.1 - a.1) * (at.0 - a.0)
        };
        area.len() > 2 && (0..area.len()).all(|i| turn(i) >= -1e-9)
    }

    #[test]
    fn a_pointer_meets_one_dot_where_several_are() {
        let places = [(10.0, 10.0), (11.0, 10.0), (10.5, 12.0), (10.0, 10.0), (80.0, 80.0)];
        let places = [&places[..], &[(10.1, 10.0), (90.0, 9.0), (90.0, 9.0), (90.1, 9.0)]].concat();
        let hits: Vec<_> = (0..places.len()).map(|index| hit(index, &places)).collect();
        for (index, area) in hits.iter().enumerate() {
            let of =
                |part: fn(&Place) -> f64| area.iter().map(part).sum::<f64>() / area.len() as f64;
            let middle = (of(|at| at.0), of(|at| at.1));
            for (other, area) in hits.iter().enumerate() {
                assert_eq!(holds(area, middle), other == index, "{index} {other}");
            }
        }
        for x in 0..40 {
            let at = (f64::from(x) + 0.237, 9.31 + f64::from(x % 3));
            assert!(hits.iter().filter(|area| holds(area, at)).count() <= 1, "{at:?}");
        }
        assert!(!holds(&hits[0], (80.0, 80.0)) && holds(&hits[4], (80.0, 90.0)));
    }

    #[test]
    fn colours_are_read_on_white_and_on_black() {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        for [r, g, b] in COLORS {
            let light = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
            // Contrast of graphics by WCAG 2.
            assert!(1.05 / (light + 0.05) >= 3.0 && (light + 0.05) / 0.06 >= 3.0, "{r} {g} {b}");
        }
    }
}
