use serde_json::json;

use super::*;

#[test]
fn the_first_wrong_number_is_named() {
    let of = |record: Value| wrong_number(&record).map(|wrong| (wrong.field, wrong.found));
    let run = |median: f64, asx: f64| {
        let times = json!({"median": median, "samples": [1.0, median]});
        json!({"results": [{"time_s": times, "asx": [[asx, 0.0]], "flops": null}]})
    };
    assert_eq!(of(run(0.5, -1e300)), None);
    assert_eq!(of(run(0.0, 1.0)), Some(("results[0].time_s.median".into(), 0.0)));
    assert_eq!(of(run(1e308, 1.0)), Some(("results[0].time_s.median".into(), 1e308)));
    assert_eq!(of(json!({"fp64": -1.0})), Some(("fp64".into(), -1.0)));
    // Bytes at a level may be none, the ceiling may not.
    assert_eq!(of(json!({"bytes": {"l1": 0.0}})), None);
    assert_eq!(of(json!({"l1": 0.0})), Some(("l1".into(), 0.0)));
    assert_eq!(of(json!({"nbands": 1e200})), Some(("nbands".into(), 1e200)));
    let text = wrong_number(&json!({"l1": 0.0})).unwrap().needed;
    assert_eq!(text, "a number from 1e0 to 1e24");
}
