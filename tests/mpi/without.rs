//! A program that was built without MPI.

use crate::Test;
use crate::launch::{ended, ranks};

pub const TESTS: &[Test] = &[("several processes are refused once", refused)];

fn refused() {
    let run = ended(ranks(2).args(["--version", "best", "--system", "tiny", "--device", "cpu"]));
    run.expect(2, &["the launcher of MPI: 2 ranks", "built without MPI", "--features mpi"]);
    let run = ["--version", "best", "--system", "tiny", "--device", "cpu", "--json", "-"];
    assert_eq!(ended(ranks(1).args(run)).record()["complete"], true);
}
