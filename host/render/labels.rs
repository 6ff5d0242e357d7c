//! Where the names of dots stand in a chart.

/// Pixels of a dot's side, and from a dot to its name.
const DOT: i32 = 10;
const GAP: i32 = 6;

/// Rows above and below a dot that are tried.
const ROWS: i32 = 4;

/// A box in pixels: left, top, right, bottom.
#[derive(Clone, Copy)]
struct Area([i32; 4]);

impl Area {
    fn at((x, y): (i32, i32), (width, height): (i32, i32)) -> Area {
        Area([x, y, x + width, y + height])
    }

    fn meets(&self, other: &Area) -> bool {
        let ([left, top, right, bottom], other) = (self.0, other.0);
        left < other[2] && other[0] < right && top < other[3] && other[1] < bottom
    }
}

/// What has its place in a chart: dots and the names beside them.
pub struct Labels {
    taken: Vec<Area>,
}

impl Labels {
    /// Of a chart with these dots.
    pub fn new(dots: impl IntoIterator<Item = (i32, i32)>) -> Labels {
        let area = |(x, y)| Area::at((x - DOT / 2, y - DOT / 2), (DOT, DOT));
        Labels { taken: dots.into_iter().map(area).collect() }
    }

    /// How far from a dot its name stands, by the name's left upper corner: beside it above, or below,
    /// where that is `below`; where something is there on the other side, and then farther off.
    pub fn place(&mut self, dot: (i32, i32), size: (i32, i32), below: bool) -> (i32, i32) {
        let (width, height) = size;
        let (above, under) = (|row: i32| -height - 3 - row * height, |row: i32| 5 + row * height);
        let of_row = |row: i32| {
            let rows = if below { [under(row), above(row)] } else { [above(row), under(row)] };
            [GAP, -GAP - width].into_iter().flat_map(move |x| rows.map(|y| (x, y)))
        };
        let area = |(x, y)| Area::at((dot.0 + x, dot.1 + y), size);
        let is_free = |shift: &(i32, i32)| {
            let own = area(*shift);
            !self.taken.iter().any(|other| other.meets(&own))
        };
        let mut all = (0..ROWS).flat_map(of_row);
        let first = if below { (GAP, under(0)) } else { (GAP, above(0)) };
        let shift = all.find(is_free).unwrap_or(first);
        self.taken.push(area(shift));
        shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_close_dots_do_not_meet() {
        let dots: Vec<(i32, i32)> = (0..8).map(|at| (100 + at, 200 + 5 * at)).collect();
        let mut labels = Labels::new(dots.iter().copied());
        for (at, &dot) in dots.iter().enumerate() {
            labels.place(dot, (60, 15), at % 2 == 1);
        }
        let names = &labels.taken[dots.len()..];
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].iter().any(|other| other.meets(name)), "{at}");
            assert!(!labels.taken[..dots.len()].iter().any(|dot| dot.meets(name)), "{at}");
        }
    }

    #[test]
    fn a_dot_alone_has_its_name_beside_it() {
        let mut labels = Labels::new([(50, 50), (500, 50)]);
        assert_eq!(labels.place((50, 50), (20, 15), false), (6, -18));
        assert_eq!(labels.place((500, 50), (20, 15), true), (6, 5));
    }
}
