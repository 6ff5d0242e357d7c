//! Plots: where the vertices are, what hard values do, and the pixels of a picture.

use gpp::chart::plots::{png, svg};
use gpp::sigma::{Picture, Sigma, text};
use num_complex::Complex64;

use super::{poles, run};

/// Colours of the real and of the imaginary parts.
const COLORS: [[u8; 3]; 2] = [[0x12, 0x7c, 0xf4], [0xc7, 0x5e, 0x00]];

/// Left and right of the panels; top and bottom of each.
const SIDES: [f64; 2] = [84.0, 944.0];
const PANELS: [(&str, [f64; 2]); 3] =
    [("sx", [66.0, 228.7]), ("ch", [244.6, 407.4]), ("sigma", [423.3, 586.0])];

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    element.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0
}

/// The vertices of the lines and dots of a curve.
fn vertices(svg: &str, curve: &str) -> Vec<Vec<(f64, f64)>> {
    let own = format!("data-curve=\"{curve}\"");
    let elements = svg.split('<').filter(|element| element.contains(&own));
    let lines = elements.map(|element| {
        if element.starts_with("circle") {
            return vec![["cx", "cy"].map(|name| attribute(element, name).parse().unwrap()).into()];
        }
        let places = attribute(element, "points").split(' ');
        let numbers = places.map(|place| place.split_once(',').unwrap());
        numbers.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).collect()
    });
    lines.collect()
}

/// All curves of a plot, within their panels: how many vertices each has.
fn inside(svg: &str) -> Vec<usize> {
    let mut counts = Vec::new();
    for (sum, [top, bottom]) in PANELS {
        for part in ["re", "im"] {
            let all = vertices(svg, &format!("{part}-{sum}")).concat();
            for (x, y) in &all {
                assert!(*x >= SIDES[0] && *x <= SIDES[1], "{part} {sum}: x = {x}");
                assert!(*y >= top && *y <= bottom, "{part} {sum}: y = {y}");
            }
            counts.push(all.len());
        }
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf\"") && !svg.contains("inf,"), "{svg}");
    counts
}

#[test]
fn curves_have_a_vertex_an_energy_where_the_values_are() {
    for nw in [2, 11, 501] {
        let rows = poles(nw);
        let run = run(&rows);
        let plot = svg(&Sigma::of(&run, None).unwrap());
        assert_eq!(inside(&plot), [nw; 6]);
        let values = |sum: &str| -> Vec<f64> {
            let of = |row: &(f64, Complex64, Complex64)| match sum {
                "sx" => row.1,
                "ch" => row.2,
                _ => row.1 + row.2,
            };
            rows.iter().map(|row| of(row).re).chain(rows.iter().map(|row| of(row).im)).collect()
        };
        for (sum, [top, bottom]) in PANELS {
            let lines = ["re", "im"].map(|part| vertices(&plot, &format!("{part}-{sum}")));
            assert!(lines.iter().all(|lines| lines.len() == 1), "{sum}");
            let at = lines.concat().concat();
            assert!(at[..nw].is_sorted_by(|a, b| a.0 <= b.0), "{sum}");
            // One even scale for both parts, nothing smoothed, nothing cut off.
            let values = values(sum);
            let end = |sign: f64| {
                let far =
                    |a: &usize, b: &usize| (sign * values[*a]).total_cmp(&(sign * values[*b]));
                (0..2 * nw).max_by(far).unwrap()
            };
            let (least, most) = (end(-1.0), end(1.0));
            assert!(at[least].1 - at[most].1 > 0.85 * (bottom - top), "{sum}");
            let slope = (at[most].1 - at[least].1) / (values[most] - values[least]);
            for (at, value) in at.iter().zip(&values) {
                let expected = lines[0][0][0].1 + slope * (value - values[0]);
                assert!((at.1 - expected).abs() < 0.3, "{sum}: {} {expected}", at.1);
            }
        }
    }
}

#[test]
fn what_is_no_number_breaks_lines_and_is_said() {
    let mut rows = poles(11);
    rows[3].1.re = f64::NAN;
    rows[5].1.re = f64::INFINITY;
    rows[10].2.im = f64::NEG_INFINITY;
    let run = run(&rows);
    let sigma = Sigma::of(&run, None).unwrap();
    let plot = svg(&sigma);
    assert_eq!(inside(&plot), [9, 11, 11, 10, 9, 10]);
    let lengths = |curve| vertices(&plot, curve).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths("re-sx"), [3, 1, 5]);
    assert_eq!(lengths("im-ch"), [10]);
    assert!(plot.contains("no number at 3 of 11: lines end there"));
    let mut said = Vec::new();
    text(&mut said, &sigma, Some(80)).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("no number at 3 of 11 energies: -4, +0, +10 eV"), "{said}");
    let whole = svg(&Sigma::of(&super::run(&poles(11)), None).unwrap());
    assert!(!whole.contains("no number"));
}

#[test]
fn plots_of_hard_values_stay_in_their_panels() {
    let same = |z: Complex64, nw: usize| -> Vec<_> { (0..nw).map(|i| (i as f64, z, z)).collect() };
    let (largest, least) = (f64::MAX, 5e-324);
    let (one, i) = (Complex64::ONE, Complex64::I);
    for (what, rows) in [
        ("one energy", same(Complex64::new(3.0, -1.0), 1)),
        ("zeros", same(Complex64::ZERO, 5)),
        ("one value", same(Complex64::new(7e8, 7e8), 5)),
        ("nearly one", same(Complex64::new(7e8, 7e8 + 1e-7), 5)),
        ("largest", same(Complex64::new(largest, -largest), 4)),
        ("least", same(Complex64::new(least, -least), 4)),
        ("no number", same(Complex64::new(f64::NAN, f64::INFINITY), 4)),
        ("far apart", vec![(-1e150, one, i), (1e150, i, one)]),
        ("one place", vec![(2.5, one, i); 3]),
        ("close", vec![(1e6, one, i), (1e6 + 1e-9, i, one)]),
    ] {
        let run = run(&rows);
        let plot = svg(&Sigma::of(&run, None).unwrap());
        let expected = if what == "no number" { 0 } else { rows.len() };
        // The sum of the largest is no number.
        let total = if what == "largest" { 0 } else { expected };
        let parts = [[expected; 4].as_slice(), &[total; 2]].concat();
        assert_eq!(inside(&plot), parts, "{what}");
        let tags = plot.split('<').filter(|element| element.starts_with("text"));
        for tag in tags {
            let number = |name| attribute(tag, name).parse::<f64>().unwrap();
            let (x, width) = (number("x"), number("textLength"));
            assert!(x >= 0.0 && (tag.contains("rotate") || x + width <= 960.0), "{what}: {tag}");
        }
    }
}

#[test]
fn a_picture_decodes_and_has_every_part_of_the_curves() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sigma.PNG");
    let mut rows = poles(301);
    rows[150].1 = Complex64::new(f64::NAN, 0.0);
    let run = run(&rows);
    let sigma = Sigma::of(&run, None).unwrap();
    Picture::of(&path).unwrap().write(&path, &sigma).unwrap();
    let picture = image::open(&path).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (960, 640));
    for (sum, [top, bottom]) in PANELS {
        let has = |x: u32, colors: &[[u8; 3]]| {
            let mut column = top as u32..bottom as u32;
            column.any(|y| colors.contains(&picture.get_pixel(x, y).0))
        };
        for color in COLORS {
            assert!((100..930).filter(|x| has(*x, &[color])).count() > 100, "{sum} {color:?}");
        }
        for x in 100..930 {
            assert!(has(x, &COLORS), "{sum}: nothing at {x}");
        }
    }
    // What cannot be drawn leaves nothing.
    png(&dir.path().join("missing/sigma.png"), &sigma).unwrap_err();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
