//! The model's constants, fitted on the shortest of what one member took, and of the gather on what two took where
//! more than these were measured: it is of calculations that nothing else disturbs.

use super::task::{Kind, Task};
use crate::record::scale::{Constants, Data, Point, Scale};

/// The constants, and how many members the points have at most on which they were fitted; nothing where one
/// member's data was never in place.
pub fn fitted(scale: &Scale, kind: &Kind) -> Option<(Constants, usize)> {
    let of_one = |data: Data| {
        let is_one = move |point: &&Point| point.members == 1 && point.data == data;
        scale.points.iter().filter(is_one)
    };
    let [slab_s, igp_s] = kernels(of_one(Data::Place))?;

    let uploads = |point: &Point| point.shares.iter().map(|share| share.uploads_s).sum::<f64>();
    let seconds: f64 = of_one(Data::Host).map(uploads).sum();
    let bytes: f64 = of_one(Data::Host).map(|point| point.ngpown as f64 * kind.bytes).sum();

    let most = scale.points.iter().map(|point| point.members).max().unwrap_or(1);
    let gathers: Vec<_> = scale
        .points
        .iter()
        .filter(|point| point.members == 2 && most > 2)
        .filter_map(|point| Some((gather(kind, point), point.gather_s?)))
        .collect();
    let [gather_s, gather_byte_s] = squares(&gathers, 0);
    let bandwidth = (seconds > 0.0).then_some(bytes / seconds);
    let up_to = if gathers.is_empty() { 1 } else { 2 };
    Some((Constants { slab_s, igp_s, bandwidth, gather_s, gather_byte_s }, up_to))
}

/// Seconds of a slab and of an `igp`, from points of one member. What is one slab is a case of its own, where
/// there are others to tell: its arrays need not make room for the next one's.
fn kernels<'p>(points: impl Iterator<Item = &'p Point>) -> Option<[f64; 2]> {
    let of_point = |point: &Point| ([point.slabs as f64, point.ngpown as f64], point.times.min);
    let all: Vec<_> = points.map(of_point).collect();
    let several: Vec<_> = all.iter().copied().filter(|([slabs, _], _)| *slabs > 1.0).collect();
    let tells = several.iter().any(|(x, _)| *x != several[0].0);
    let used = if tells { several } else { all };
    (!used.is_empty()).then(|| squares(&used, 1))
}

/// What a point's gather depends on.
fn gather(kind: &Kind, point: &Point) -> [f64; 2] {
    let Point { members, ngpown, igp, data, .. } = *point;
    Task { kind, members, ngpown, igp, data }.gather()
}

/// Least squares: the two factors, neither negative, with which `x` come next to `y`. Where the points do not
/// tell them apart, or one would be negative, all is that of `main`.
fn squares(points: &[([f64; 2], f64)], main: usize) -> [f64; 2] {
    let sum =
        |of: &dyn Fn([f64; 2], f64) -> f64| points.iter().map(|&(x, y)| of(x, y)).sum::<f64>();
    let (xx, zz, xz) =
        (sum(&|x, _| x[0] * x[0]), sum(&|x, _| x[1] * x[1]), sum(&|x, _| x[0] * x[1]));
    let (xy, zy) = (sum(&|x, y| x[0] * y), sum(&|x, y| x[1] * y));
    let only = |at: usize| -> [f64; 2] {
        let factor = if at == 0 { xy / xx } else { zy / zz };
        let mut factors = [0.0; 2];
        factors[at] = if factor.is_finite() { factor.max(0.0) } else { 0.0 };
        factors
    };
    let determinant = xx * zz - xz * xz;
    // Two directions that differ by less than rounding are one.
    let tells = determinant > 1e-9 * xx * zz;
    let both = [(zz * xy - xz * zy) / determinant, (xx * zy - xz * xy) / determinant];
    if tells && both.iter().all(|factor| *factor >= 0.0) { both } else { only(main) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_found_and_none_is_negative() {
        assert_eq!(squares(&[([1.0, 10.0], 23.0), ([4.0, 10.0], 32.0)], 1), [3.0, 2.0]);
        // One direction only.
        assert_eq!(squares(&[([2.0, 4.0], 8.0), ([1.0, 2.0], 4.0)], 1), [0.0, 2.0]);
        assert_eq!(squares(&[([2.0, 4.0], 8.0)], 0), [4.0, 0.0]);
        // Less for more slabs.
        let [slab, igp] = squares(&[([1.0, 10.0], 20.0), ([4.0, 10.0], 19.0)], 1);
        assert_eq!(slab, 0.0);
        assert!((igp - 1.95).abs() < 1e-12, "{igp}");
        assert_eq!(squares(&[], 0), [0.0; 2]);
    }
}
