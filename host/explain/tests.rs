use std::collections::BTreeSet;

use super::*;
use crate::catalogue::versions;

#[test]
fn a_difference_leaves_comments_and_imports_out() {
    let file = |path, text| SourceFile { path, text };
    let before = file("a/versions/v1.rs", "//! One.\nuse a;\nfn gpp_v1() {\n    old();\n}\n");
    let now =
        file("a/versions/v2.rs", "//! Two.\nuse b;\nfn gpp_v2() {\n    // Why.\n    new();\n}\n");
    let found = source_change(&before, &now);
    assert_eq!((found.added, found.removed), (1, 1));
    assert_eq!(found.lines[1..], [" fn gpp() {", "-    old();", "+    new();", " }"]);
    assert_eq!(source_change(&now, &now).lines, [""; 0]);
}

#[test]
fn every_version_has_a_file_whose_header_names_its_lines() {
    let mut paths = Vec::new();
    for listed in versions() {
        let id = listed.id();
        let file = version_file(id).unwrap_or_else(|| panic!("{id}"));
        let header = file.header();
        assert!(header[0].contains(": ") && header[0].ends_with('.'), "{header:?}");
        assert!(!header.concat().contains(['[', ']']), "{header:?}");
        paths.push(file.path);
        assert!(header.iter().any(|line| line.starts_with("Lines of the nest: ")), "{id}");
    }
    assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
    assert_eq!(version_file("none"), None);
}
