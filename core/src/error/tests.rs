use super::*;

#[test]
fn the_nearest_name_is_what_was_meant() {
    let nearest = |given, known: &[&str]| match Error::unknown("name", given, known.to_vec()) {
        Error::Unknown { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(nearest("8", &["v0", "v8", "v13", "best", "all"]), "v8");
    assert_eq!(nearest("GPU", &["auto", "gpu", "gpu:N", "cpu"]), "gpu");
    assert_eq!(nearest("V3", &["v0", "v3", "v13", "all"]), "v3");
    assert_eq!(nearest("al", &["v0", "v3", "v13", "all"]), "all");
    assert_eq!(nearest("si215", &["tiny", "si214", "si510"]), "si214");
    let none = Error::unknown("system", "nope", ["tiny-complex", "demo", "si214"]);
    assert_eq!(none.to_string(), "unknown system `nope`; known: tiny-complex, demo, si214");
    let empty = Error::unknown("system", "", ["demo", "si214"]);
    assert_eq!(empty.to_string(), "system: the name is empty; known: demo, si214");
}
