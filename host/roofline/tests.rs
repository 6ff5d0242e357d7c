use super::*;

#[test]
fn titles_name_what_is_there() {
    assert_eq!(names(&[0, 1]), "v0, v1");
    assert_eq!(names(&[0, 3, 8, 9, 10]), "v0, v3, v8 to v10");
    assert_eq!(names(&[13, 14, 15, 16]), "v13, blog:baseline to blog:step2");
    assert_eq!(names(&[]), "");
}

#[test]
fn an_h200_by_its_clocks_and_widths() {
    let limits = Limits {
        fp64: 0.0,
        fp64_sustained: 0.0,
        hbm: 0.0,
        l2: 0.0,
        l1: 0.0,
        capability: (9, 0),
        multiprocessors: 132,
        hertz: 1.98e9,
        memory_hertz: 3.201e9,
        bus_bits: 6016.0,
    };
    let theoretical = theoretical(&limits);
    // The archive's, to a millionth.
    let near = |value: f64, archived: f64| (value / archived - 1.0).abs() <= 1e-6;
    assert!(near(theoretical.fp64.unwrap(), 33_454_080_000_000.0));
    assert!(near(theoretical.hbm.unwrap(), 4_814_304_000_000.0), "{theoretical:?}");
    assert!(near(theoretical.shared.unwrap(), 33_454_080_000_000.0));
    assert_eq!(fp64_lanes((13, 0)), None);
}
