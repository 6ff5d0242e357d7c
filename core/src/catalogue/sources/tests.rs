use super::*;
use crate::catalogue::versions;

#[test]
fn every_version_has_a_file_with_a_header() {
    let mut paths = Vec::new();
    for listed in versions() {
        let file = of(listed.id()).unwrap_or_else(|| panic!("{}", listed.id()));
        let header = file.header();
        assert!(header[0].contains(": ") && header[0].ends_with('.'), "{header:?}");
        paths.push(file.path);
    }
    let count = paths.len();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), count);
    assert_eq!(of("none"), None);
}

#[test]
fn every_version_names_its_lines() {
    for listed in versions() {
        let id = listed.id();
        let lines = changed(id).unwrap_or_else(|| panic!("the header of {id} names no lines"));
        assert!(lines.windows(2).all(|pair| pair[0] < pair[1]), "{id}: {lines:?}");
        assert!(lines.iter().all(|line| (1..=NEST.len()).contains(line)), "{id}: {lines:?}");
    }
    assert_eq!(changed("v3"), Some(vec![9]));
    assert_eq!(changed("v8"), Some(vec![]));
    assert_eq!(changed("none"), None);
}
