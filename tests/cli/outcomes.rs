//! Outcomes in tables and exit codes, and the spread of times.

use std::process::ExitCode;

use gpp::record;
use gpp::record::run::{Run, Times};
use gpp::reference::Outcome;

use crate::archived;

#[test]
fn only_what_passed_exits_with_0() {
    let run: Run = record::read(&archived("si214/run.json")).unwrap();
    let mut results = [run.results[0].clone()];
    for outcome in
        [Outcome::Passed, Outcome::Incorrect, Outcome::NotVerified, Outcome::Nondeterministic]
    {
        results[0].verification.outcome = outcome;
        let passed = gpp::run::exit_code(&results, false) == ExitCode::SUCCESS;
        assert_eq!(passed, outcome == Outcome::Passed);
        let table = gpp::run::results(&results, None);
        assert_eq!(table.contains("BITS DIFFER"), outcome == Outcome::Nondeterministic);
    }
}

#[test]
fn spread_and_outliers() {
    let times = Times::of(vec![1.0, 1.01, 0.99, 1.0, 2.0]);
    assert_eq!(times.outliers(), 1);
    assert!((times.sigma().unwrap() - 0.4473).abs() < 1e-3);
    assert_eq!(Times::of(vec![1.0, 1.2, 1.4, 1.6]).outliers(), 0);
    // A tenth of a millisecond is no sign of anything.
    assert_eq!(Times::of(vec![1e-5, 1e-5, 1e-5, 1e-4]).outliers(), 0);
    assert_eq!((Times::of(vec![1.0]).sigma(), Times::of(vec![1.0]).outliers()), (None, 0));
}
