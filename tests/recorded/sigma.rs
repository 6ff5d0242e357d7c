//! Σ(ω) of a record: rows, CSV to the bit, plots with a vertex for each energy.

mod plots;

use gpp::record;
use gpp::record::run::{Run, Sigma};
use gpp::sigma::{csv, text};
use num_complex::Complex64;

const FOLDER: &str = "tests/data/records/si214";

/// The state's energy.
const STATE: f64 = 6.2;

/// An archived run of one version as if it had found these sums.
fn run(rows: &[(f64, Complex64, Complex64)]) -> Run {
    let mut run: Run =
        record::read(&crate::common::repository(&format!("{FOLDER}/run.json"))).unwrap();
    run.system.state_ev = Some(STATE);
    run.system.energies_ev = Some(rows.iter().map(|row| row.0).collect());
    (run.system.nstart, run.system.nend) = (1, rows.len());
    run.results.truncate(1);
    run.results[0].sums.asx = rows.iter().map(|row| row.1).collect();
    run.results[0].sums.ach = rows.iter().map(|row| row.2).collect();
    run
}

/// Energies with two poles next to some of them.
fn poles(nw: usize) -> Vec<(f64, Complex64, Complex64)> {
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
    let sigma = Sigma::of(&run).unwrap();
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
    // And the record that is read back has them.
    let again: Run = record::parse(&record::text(&run), "run.json".as_ref()).unwrap();
    let again = Sigma::of(&again).unwrap();
    assert_eq!(again.rows[3].sx.re.to_bits(), (-1.0f64 / 3.0).to_bits());
    assert_eq!(again.broken().len(), 3);
}

#[test]
fn a_record_without_what_is_needed_is_refused() {
    let good = run(&poles(5));
    let id = good.results[0].version.clone();
    let refused = |run: &Run| Sigma::of(run).unwrap_err();
    let mut older = good.clone();
    older.system.energies_ev = None;
    assert_eq!(refused(&older), "does not hold its energies");
    let mut none = good.clone();
    none.results.clear();
    assert_eq!(refused(&none), "has no result");
    let mut short = good.clone();
    short.results[0].sums.ach.pop();
    assert_eq!(refused(&short), format!("has 5 energies, and of {id} 5 sums asx and 4 sums ach"));
}

#[test]
fn terminals_see_both_ends_of_many_energies() {
    let printed = |nw: usize, width: Option<u16>| {
        let run = run(&poles(nw));
        let mut text = Vec::new();
        self::text(&mut text, &Sigma::of(&run).unwrap(), width).unwrap();
        String::from_utf8(text).unwrap()
    };
    let is_row = |line: &&str| line.starts_with('│') && line.contains(|c: char| c.is_ascii_digit());
    let rows = |text: &str| text.lines().filter(is_row).count();
    let (short, long, piped) = (printed(24, Some(80)), printed(501, Some(80)), printed(501, None));
    assert_eq!((rows(&short), rows(&long), rows(&piped)), (24, 16, 501));
    assert!(long.contains("485 of 501 energies are not shown: --csv has all"), "{long}");
    assert!(long.contains("-10.000000") && long.contains("+10.000000"), "{long}");
    assert!(!short.contains("are not shown") && !piped.contains("not shown"));
}
