//! Σ(ω) of a record: rows, CSV to the bit, plots with a vertex for each energy.

use gpp::chart::Chart;
use gpp::record::run::{RunRecord, Sigma};
use gpp::record::{self, Span};
use gpp::run::csv;
use num_complex::Complex64;

const STATE: f64 = 6.2;

/// An energy, SX and CH.
type Values = (f64, Complex64, Complex64);

fn run(rows: &[Values]) -> RunRecord {
    let path = crate::common::repository("tests/data/records/si214/run.json");
    let mut run: RunRecord = record::read(&path).unwrap();
    run.system.state_ev = Some(STATE);
    run.system.energies_ev = rows.iter().map(|row| row.0).collect();
    (run.system.nstart, run.system.nend) = (1, rows.len());
    run.results.truncate(1);
    run.results[0].sums.asx = rows.iter().map(|row| row.1).collect();
    run.results[0].sums.ach = rows.iter().map(|row| row.2).collect();
    run
}

fn plot_of(rows: &[Values]) -> String {
    Sigma::from_run(&run(rows)).unwrap().svg()
}

fn poles(nw: usize) -> Vec<Values> {
    let pole = |w: f64, at: f64| (Complex64::from(w - at) + Complex64::new(0.0, 3e-3)).inv();
    let row = |i: usize| {
        let omega = -10.0 + 20.0 * i as f64 / (nw - 1) as f64;
        (omega, pole(omega, -3.017) - 4e2, 1e-5 * (pole(omega, 1.003) - pole(omega, 5.2)))
    };
    (0..nw).map(row).collect()
}

#[test]
fn csv_has_the_bits_of_the_record() {
    let inf = f64::INFINITY;
    let odd = [-0.0, 5e-324, f64::MAX, -1.0 / 3.0, f64::NAN, inf, -inf, 1e22];
    let row = |(at, &part): (usize, &f64)| {
        let above = at as f64 / 3.0 - 1.0;
        (above, Complex64::new(part, above.sin()), Complex64::new(above.exp(), part))
    };
    let rows: Vec<_> = odd.iter().enumerate().map(row).collect();
    let run = run(&rows);
    let mut written = Vec::new();
    csv(&mut written, &Sigma::from_run(&run).unwrap()).unwrap();
    let mut reader = csv::Reader::from_reader(&written[..]);
    let headers = "omega_above_ev omega_ev re_sx im_sx re_ch im_ch re_sigma im_sigma";
    assert_eq!(reader.headers().unwrap(), headers.split(' ').collect::<Vec<_>>());
    let read: Vec<[f64; 8]> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(read.len(), rows.len());
    let bits = |numbers: [f64; 8]| {
        numbers.map(|number| if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() })
    };
    for (read, (above, sx, ch)) in read.into_iter().zip(rows) {
        let total = sx + ch;
        let expected = [above, STATE + above, sx.re, sx.im, ch.re, ch.im, total.re, total.im];
        assert_eq!(bits(read), bits(expected));
    }
    let again: RunRecord = record::parse(&record::text(&run), "run.json".as_ref()).unwrap();
    assert_eq!(Sigma::from_run(&again).unwrap().rows[3].sx.re.to_bits(), (-1.0f64 / 3.0).to_bits());
}

/// The vertices of the lines and dots of either part, sum by sum.
fn vertices<'a>(svg: &'a str, part: usize) -> Vec<Vec<(f64, f64)>> {
    let color = ["\"#127CF4\"", "\"#C75E00\""][part];
    let attribute = |element: &'a str, name: &str| {
        element.split_once(&format!(" {name}=\""))?.1.split('"').next()
    };
    // The last line shows which colour is which part.
    let elements: Vec<&str> = svg.split('<').filter(|element| element.contains(color)).collect();
    let lines = elements[..elements.len() - 1].iter().map(|element| {
        let places = match attribute(element, "cx").zip(attribute(element, "cy")) {
            Some((x, y)) => format!("{x},{y}"),
            None => attribute(element, "points").unwrap().to_string(),
        };
        let places = places.split_whitespace().map(|place| place.split_once(',').unwrap());
        places.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).collect()
    });
    lines.collect()
}

/// How many vertices the curves of either part have, which are within their panels.
fn inside(svg: &str) -> [usize; 2] {
    assert!(!svg.contains("NaN") && !svg.contains("inf\"") && !svg.contains("inf,"), "{svg}");
    [0, 1].map(|part| {
        let all = vertices(svg, part).concat();
        for (x, y) in &all {
            // What curves may cover.
            assert!((112.0..=944.0).contains(x) && (66.0..=586.0).contains(y), "{x}, {y}");
        }
        all.len()
    })
}

#[test]
fn curves_have_a_vertex_an_energy_where_the_values_are() {
    for nw in [2, 11, 501] {
        let rows = poles(nw);
        let plot = plot_of(&rows);
        assert_eq!(inside(&plot), [3 * nw; 2]);
        let curves = [0, 1].map(|part| vertices(&plot, part));
        let sums: [fn(&Values) -> Complex64; 3] = [|row| row.1, |row| row.2, |row| row.1 + row.2];
        for (at, of) in sums.iter().enumerate() {
            let (re, im) = (&curves[0][at], &curves[1][at]);
            assert!(re.is_sorted_by(|a, b| a.0 <= b.0));
            let values = rows.iter().map(|row| of(row).re).chain(rows.iter().map(|row| of(row).im));
            let values: Vec<f64> = values.collect();
            let places: Vec<f64> = re.iter().chain(im).map(|place| place.1).collect();
            // One linear scale for both parts, nothing smoothed, nothing cut off.
            let [drawn, of] = [&places, &values].map(|all| Span::from_values(all.clone()).unwrap());
            let (height, range) = (drawn.max - drawn.min, of.max - of.min);
            assert!(height > 120.0, "{drawn:?}");
            for (place, value) in places.iter().zip(&values) {
                let expected = drawn.max - (value - of.min) / range * height;
                assert!((place - expected).abs() <= 1.5, "{place} {expected}");
            }
        }
    }
}

#[test]
fn what_is_no_number_breaks_lines() {
    let mut rows = poles(11);
    rows[3].1.re = f64::NAN;
    rows[5].1.re = f64::INFINITY;
    rows[10].2.im = f64::NEG_INFINITY;
    let plot = plot_of(&rows);
    inside(&plot);
    let lengths = |part| vertices(&plot, part).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(0), [3, 1, 5, 11, 3, 1, 5]);
    assert_eq!(lengths(1), [11, 10, 10]);
}

#[test]
fn plots_of_hard_values_stay_in_their_panels() {
    let same = |z: Complex64, nw: usize| -> Vec<_> { (0..nw).map(|i| (i as f64, z, z)).collect() };
    let least = 5e-324;
    let (one, i) = (Complex64::ONE, Complex64::I);
    for (what, rows) in [
        ("one energy", same(Complex64::new(3.0, -1.0), 1)),
        ("zeros", same(Complex64::ZERO, 5)),
        ("one value", same(Complex64::new(7e8, 7e8), 5)),
        ("nearly one", same(Complex64::new(7e8, 7e8 + 1e-7), 5)),
        ("least", same(Complex64::new(least, -least), 4)),
        ("no number", same(Complex64::new(f64::NAN, f64::INFINITY), 4)),
        ("far apart", vec![(-1e150, one, i), (1e150, i, one)]),
        ("one place", vec![(2.5, one, i); 3]),
        ("close", vec![(1e6, one, i), (1e6 + 1e-9, i, one)]),
    ] {
        let sums = if what == "no number" { 0 } else { 3 };
        assert_eq!(inside(&plot_of(&rows)), [sums * rows.len(); 2], "{what}");
    }
}
