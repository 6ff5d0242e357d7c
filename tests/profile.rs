//! What the profiler prints, recorded, and what is made of it.

mod common;

use gpp::profile::{lines, metrics};

fn recorded(name: &str) -> String {
    std::fs::read_to_string(common::repository(&format!("tests/data/{name}"))).unwrap()
}

#[test]
fn source_lines_of_two_kernels() {
    let kernels = lines::parse(&recorded("ncu-2025.3-source.csv")).unwrap();
    let names: Vec<&str> = kernels.iter().map(|k| k.kernel.as_str()).collect();
    assert_eq!(names, ["gpp_v0_nw2", "gpp_v5"]);
    for kernel in &kernels {
        assert!(kernel.lines.windows(2).all(|pair| pair[0].samples >= pair[1].samples));
        assert!(kernel.lines.iter().all(|line| line.file.starts_with("kernels/src/")));
        assert!(kernel.lines.iter().all(|line| line.not_issued <= line.samples));
    }
    let _ = metrics::list();
}
