//! Σ(ω) of a record: rows, CSV to the bit, plots with a vertex for each energy.

use gpp::chart::Chart;
use gpp::record;
use gpp::record::run::{RunRecord, Sigma};
use gpp::sigma::{csv, text};
use num_complex::Complex64;

use crate::attribute;

const FOLDER: &str = "tests/data/records/si214";

const STATE: f64 = 6.2;

/// An energy, SX and CH.
type Values = (f64, Complex64, Complex64);

fn run(rows: &[Values]) -> RunRecord {
    let mut run: RunRecord =
        record::read(&crate::common::repository(&format!("{FOLDER}/run.json"))).unwrap();
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
    let pole =
        |omega: f64, at: f64| (Complex64::from(omega - at) + Complex64::new(0.0, 3e-3)).inv();
    let row = |i: usize| {
        let omega = -10.0 + 20.0 * i as f64 / (nw - 1) as f64;
        (omega, pole(omega, -3.017) - 4e2, 1e-5 * (pole(omega, 1.003) - pole(omega, 5.2)))
    };
    (0..nw).map(row).collect()
}

#[test]
fn csv_has_the_bits_of_the_record() {
    let odd =
        [-0.0, 5e-324, f64::MAX, -1.0 / 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e22];
    let row = |(at, &part): (usize, &f64)| {
        let above = at as f64 / 3.0 - 1.0;
        (above, Complex64::new(part, above.sin()), Complex64::new(above.exp(), part))
    };
    let rows: Vec<_> = odd.iter().enumerate().map(row).collect();
    let run = run(&rows);
    let sigma = Sigma::from_run(&run).unwrap();
    let mut written = Vec::new();
    csv(&mut written, &sigma).unwrap();
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
    let again = Sigma::from_run(&again).unwrap();
    assert_eq!(again.rows[3].sx.re.to_bits(), (-1.0f64 / 3.0).to_bits());
    assert_eq!(again.broken().len(), 3);
}

/// Left, right, top and bottom of what curves may cover.
const WITHIN: [f64; 4] = [112.0, 944.0, 66.0, 586.0];

/// The vertices of the lines and dots of either part, which are within their panels.
fn inside(svg: &str) -> [Vec<(f64, f64)>; 2] {
    assert!(!svg.contains("NaN") && !svg.contains("inf\"") && !svg.contains("inf,"), "{svg}");
    ["\"#127CF4\"", "\"#C75E00\""].map(|color| {
        // The last line shows which colour is which part.
        let elements: Vec<&str> =
            svg.split('<').filter(|element| element.contains(color)).collect();
        let places = elements[..elements.len() - 1].iter().flat_map(|element| {
            let places = match attribute(element, "cx").zip(attribute(element, "cy")) {
                Some((x, y)) => format!("{x},{y}"),
                None => attribute(element, "points").unwrap().to_string(),
            };
            places.split_whitespace().map(String::from).collect::<Vec<_>>()
        });
        let is_inside = |place: String| {
            let (x, y) = place.split_once(',').unwrap();
            let (x, y) = (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap());
            let [left, right, top, bottom] = WITHIN;
            assert!((left..=right).contains(&x) && (top..=bottom).contains(&y), "{x}, {y}");
            (x, y)
        };
        places.map(is_inside).collect()
    })
}

/// Numbers as wide as any on an axis, and lines that end where there is no number. `GPP_RECORD=1` draws the plot anew.
#[test]
fn a_plot_is_the_recorded_one() {
    let mut rows = poles(11);
    rows.iter_mut().for_each(|row| row.1 *= 1e4);
    rows[3].1.re = f64::NAN;
    rows[5].1.re = f64::INFINITY;
    rows[10].2.im = f64::NEG_INFINITY;
    let run = run(&rows);
    let sigma = Sigma::from_run(&run).unwrap();
    let path = crate::common::repository("tests/data/sigma.svg");
    if std::env::var_os("GPP_RECORD").is_some() {
        std::fs::write(&path, sigma.svg()).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == sigma.svg(), "{}", sigma.svg());
    let mut said = Vec::new();
    text(&mut said, &sigma).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("no number at 3 of 11 energies, the first at -4 eV"), "{said}");
}

#[test]
fn curves_have_a_vertex_an_energy_within_their_panels() {
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
        let lengths = inside(&plot_of(&rows)).map(|places| places.len());
        assert_eq!(lengths, [sums * rows.len(); 2], "{what}");
    }
    // One linear scale for both parts, nothing smoothed, nothing cut off.
    let rows = poles(501);
    let [re, im] = inside(&plot_of(&rows));
    assert_eq!([re.len(), im.len()], [3 * 501; 2]);
    let sums: [fn(&Values) -> Complex64; 3] = [|row| row.1, |row| row.2, |row| row.1 + row.2];
    for (sum, places) in sums.iter().zip(re.chunks(501).zip(im.chunks(501))) {
        let values = rows.iter().map(|row| sum(row).re).chain(rows.iter().map(|row| sum(row).im));
        let (values, places) = (values.collect::<Vec<f64>>(), [places.0, places.1].concat());
        let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let [least, most] = [(0..1002).min_by(order), (0..1002).max_by(order)].map(Option::unwrap);
        let height = places[least].1 - places[most].1;
        assert!(height > 120.0 && places[..501].is_sorted_by(|a, b| a.0 <= b.0), "{height}");
        for (place, value) in places.iter().zip(&values) {
            let share = (value - values[least]) / (values[most] - values[least]);
            let expected = places[least].1 - share * height;
            assert!((place.1 - expected).abs() <= 1.5, "{place:?} {expected}");
        }
    }
}
