use super::*;

#[test]
fn names_that_are_none() {
    let none = Error::unknown("system", "nope", ["tiny-complex", "demo", "si214"]);
    assert_eq!(none.to_string(), "unknown system `nope`; known: tiny-complex, demo, si214");
    let empty = Error::unknown("system", "", ["demo", "si214"]);
    assert_eq!(empty.to_string(), "system: the name is empty; known: demo, si214");
}

/// The same fault by a file's names and indices, and by a caller's.
#[test]
fn a_fault_is_told_to_whoever_has_the_array() {
    let fault = Fault::Value { index: vec![2, 4], found: f64::NAN.into(), bounds: [-1e50, 1e50] };
    let text = |owner: Owner, row| {
        let error = Error::data(Quantity::AqsmLocal, fault.clone());
        error.in_rows_of_g(|_| row).owned_by(owner).to_string()
    };
    let needs = "real and imaginary part must be finite and at most 1e50";
    for (owner, expected) in [
        (Owner::File("a.dat".into()), "a.dat: record 8: aqsmtemp(ig,n) is NaN+0e0i at (8,5); "),
        (Owner::Problem("tiny".into()), "tiny: aqsmtemp(ig,n) is NaN+0e0i at (8,5); "),
        (Owner::Caller { index_base: 1 }, "the caller's arrays: aqsm(ig,n) is NaN+0e0i at (8,5); "),
        (Owner::Caller { index_base: 0 }, "the caller's arrays: aqsm(ig,n) is NaN+0e0i at (7,4); "),
    ] {
        assert_eq!(text(owner, Some(7)), format!("{expected}{needs}"));
    }
    let device = Error::device_memory("poles", 1 << 30, u64::MAX).of_part("gpu:1");
    assert!(device.is_of_device_memory());
    let says = "gpu:1: not enough device memory for poles: 1.0 GiB needed, an unknown amount free";
    assert_eq!(device.to_string(), says);
}
