//! The dots of a chart: a version's colour, a level's shape, and where a pointer meets which.

use std::f64::consts::TAU;

use crate::catalogue::order;
use crate::chart::scene::{Dot, Place};
use crate::chart::{Axes, unit};
use crate::roofline::{Level, Point};

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

// Where the names of dots and roofs stand in a chart.

/// Pixels that are left free around a name.
const PADDING: f64 = 1.5;

/// Pixels from a dot's middle to its side.
const DOT: f64 = 6.5;

/// Pixels from what is named to its name that are tried, and beyond which a line leads to it.
const DISTANCES: [f64; 16] = [
    9.0, 11.0, 14.0, 18.0, 23.0, 29.0, 36.0, 44.0, 54.0, 66.0, 80.0, 96.0, 115.0, 140.0, 175.0,
    220.0,
];
const BESIDE: f64 = 12.0;

const DIRECTIONS: u32 = 24;

/// Pixels farther off that a name stands rather than on a line, and that a line leads rather than
/// through a name or a dot.
const ON_LINE: f64 = 14.0;
const THROUGH_NAME: f64 = 150.0;
const THROUGH_DOT: f64 = 30.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// By its left upper corner and its size.
    pub fn at((left, top): Place, (width, height): Place) -> Area {
        Area { left, top, right: left + width, bottom: top + height }
    }

    /// Whether two boxes have a point in common.
    pub fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn holds(&self, other: &Area) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }

    fn wider(&self, by: f64) -> Area {
        Area {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    fn nearest(&self, (x, y): Place) -> Place {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    /// Whether a line crosses it: what of the line is left between each pair of sides.
    fn crossed(&self, [from, to]: [Place; 2]) -> bool {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut begin, mut end) = (0.0_f64, 1.0_f64);
        for (delta, low, high) in [
            (dx, self.left - from.0, self.right - from.0),
            (dy, self.top - from.1, self.bottom - from.1),
        ] {
            if delta == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return false;
                }
                continue;
            }
            let (near, far) = (low / delta, high / delta);
            begin = begin.max(near.min(far));
            end = end.min(near.max(far));
        }
        begin < end
    }
}

/// Where a name stands, and the line from what it names where it stands apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    pub area: Area,
    pub leader: Option<[Place; 2]>,
}

/// What has its place in a chart: dots, lines and the names beside them.
pub struct Labels {
    frame: Area,
    dots: Vec<Area>,
    lines: Vec<[Place; 2]>,
    names: Vec<Area>,
    leaders: Vec<[Place; 2]>,
}

impl Labels {
    /// Of a chart with these dots and lines; names stand within the frame.
    pub fn new(
        frame: Area,
        dots: impl IntoIterator<Item = Place>,
        lines: impl IntoIterator<Item = [Place; 2]>,
    ) -> Labels {
        let area = |(x, y): Place| Area::at((x - DOT, y - DOT), (2.0 * DOT, 2.0 * DOT));
        Labels {
            frame,
            dots: dots.into_iter().map(area).collect(),
            lines: lines.into_iter().collect(),
            names: Vec::new(),
            leaders: Vec::new(),
        }
    }

    /// Finds a place for a name of this size beside one of these anchors: over no other name and no dot, as
    /// near as can be, and off the lines where that can be. `None` where no place is free.
    pub fn place(&mut self, anchors: &[Place], size: Place) -> Option<Placed> {
        let tried = anchors.iter().flat_map(|&anchor| around(anchor, size));
        let free = tried.filter(|(_, area)| self.is_free(area));
        let rated = free.map(|(anchor, area)| {
            let placed = placed(anchor, area);
            (self.cost(anchor, &placed), placed)
        });
        let (_, best) = rated.min_by(|a, b| a.0.total_cmp(&b.0))?;
        self.names.push(best.area);
        self.leaders.extend(best.leader);
        Some(best)
    }

    fn is_free(&self, area: &Area) -> bool {
        let padded = area.wider(PADDING);
        self.frame.holds(area)
            && !self.dots.iter().chain(&self.names).any(|other| other.meets(&padded))
            && !self.leaders.iter().any(|leader| padded.crossed(*leader))
    }

    fn cost(&self, anchor: Place, placed: &Placed) -> f64 {
        let lines = self.lines.iter().filter(|line| placed.area.crossed(**line)).count();
        let through = |areas: &[Area], leader: [Place; 2]| {
            let own = |area: &Area| area.nearest(anchor) == anchor;
            areas.iter().filter(|area| !own(area) && area.crossed(leader)).count() as f64
        };
        let leader = placed.leader.map_or(0.0, |leader| {
            THROUGH_NAME * through(&self.names, leader) + THROUGH_DOT * through(&self.dots, leader)
        });
        distance(anchor, placed.area.nearest(anchor)) + ON_LINE * lines as f64 + leader
    }
}

fn around(anchor: Place, (width, height): Place) -> impl Iterator<Item = (Place, Area)> {
    DISTANCES.into_iter().flat_map(move |far| {
        (0..DIRECTIONS).map(move |at| {
            // From the right upwards on.
            let turn = std::f64::consts::TAU * (f64::from(at) + 2.0) / f64::from(DIRECTIONS);
            let (dx, dy) = (turn.cos(), -turn.sin());
            let middle =
                (anchor.0 + dx * (far + width / 2.0), anchor.1 + dy * (far + height / 2.0));
            let corner = (middle.0 - width / 2.0, middle.1 - height / 2.0);
            (anchor, Area::at(corner, (width, height)))
        })
    })
}

fn placed(anchor: Place, area: Area) -> Placed {
    let nearest = area.nearest(anchor);
    let apart = distance(anchor, nearest) > BESIDE;
    Placed { area, leader: apart.then_some([anchor, nearest]) }
}

fn distance(a: Place, b: Place) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

#[cfg(test)]
mod tests;
