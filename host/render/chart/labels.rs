//! Where the names of dots and roofs stand in a chart.

use super::scene::Place;

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

/// Directions that are tried.
const DIRECTIONS: u32 = 24;

/// Pixels farther off that a name stands rather than on a line, and that a line leads rather than
/// through a name or a dot.
const ON_LINE: f64 = 14.0;
const THROUGH_NAME: f64 = 150.0;
const THROUGH_DOT: f64 = 30.0;

/// A box in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left.
    pub left: f64,
    /// Top.
    pub top: f64,
    /// Right.
    pub right: f64,
    /// Bottom.
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

    /// Its point that is nearest to a place.
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
    /// The name's box.
    pub area: Area,
    /// From what is named to the name.
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

/// Boxes around an anchor, each with the anchor.
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
mod tests {
    use super::*;

    const FRAME: Area = Area { left: 0.0, top: 0.0, right: 800.0, bottom: 500.0 };

    #[test]
    fn names_of_close_dots_do_not_meet() {
        let dots: Vec<Place> =
            (0..30).map(|at| (300.0 + f64::from(at % 5), 200.0 + f64::from(at))).collect();
        let mut labels = Labels::new(FRAME, dots.iter().copied(), []);
        for &dot in &dots {
            labels.place(&[dot], (60.0, 15.0)).unwrap();
        }
        for (at, name) in labels.names.iter().enumerate() {
            assert!(!labels.names[..at].iter().any(|other| other.meets(name)), "{at}");
            assert!(!labels.dots.iter().any(|dot| dot.meets(name)), "{at}");
            assert!(FRAME.holds(name), "{at}");
        }
        assert!(labels.leaders.len() > 10);
    }

    #[test]
    fn a_dot_alone_has_its_name_beside_it() {
        let mut labels = Labels::new(FRAME, [(50.0, 50.0)], []);
        let placed = labels.place(&[(50.0, 50.0)], (20.0, 15.0)).unwrap();
        assert_eq!(placed.leader, None);
        assert!(distance((50.0, 50.0), placed.area.nearest((50.0, 50.0))) <= BESIDE);
    }

    #[test]
    fn a_name_is_rather_off_a_line_and_there_may_be_no_place() {
        let line = [(0.0, 60.0), (800.0, 60.0)];
        let mut labels = Labels::new(FRAME, [(50.0, 66.0)], [line]);
        let placed = labels.place(&[(50.0, 66.0)], (20.0, 15.0)).unwrap();
        assert!(!placed.area.crossed(line));
        assert_eq!(labels.place(&[(50.0, 66.0)], (900.0, 15.0)), None);
    }

    #[test]
    fn lines_cross_boxes_or_pass_them() {
        let area = Area::at((10.0, 10.0), (10.0, 10.0));
        assert!(area.crossed([(0.0, 0.0), (30.0, 30.0)]));
        assert!(area.crossed([(0.0, 15.0), (30.0, 15.0)]));
        assert!(!area.crossed([(0.0, 5.0), (30.0, 5.0)]));
        assert!(!area.crossed([(0.0, 0.0), (8.0, 8.0)]));
    }
}
