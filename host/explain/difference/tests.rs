use super::*;
use crate::catalogue::{order, versions};

#[test]
fn every_step_has_a_change() {
    for listed in versions() {
        let Some(before) = order::before(listed.id()) else { continue };
        let found = difference(before, listed.id()).unwrap();
        assert!(found.added > 0, "{}", listed.id());
        let back = difference(listed.id(), before).unwrap();
        assert_eq!((found.added, found.removed), (back.removed, back.added), "{}", listed.id());
        let all = found.hunks.iter().flat_map(|hunk| &hunk.lines);
        for Changed { text, .. } in all {
            assert!(!text.trim_start().starts_with("//") && !text.starts_with("use "), "{text}");
        }
    }
    assert_eq!(difference("v0", "none"), None);
    assert_eq!(difference("v3", "v3").unwrap().hunks, []);
    let found = difference("v3", "v4").unwrap();
    let is_new = |line: &Changed| line.sign == Sign::Added && line.text.contains("Collapse2,");
    assert!(found.hunks.iter().any(|hunk| hunk.lines.iter().any(is_new)));
    assert!(found.hunks[0].place().contains("/v"));
}
