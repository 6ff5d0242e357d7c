use super::*;

#[test]
fn files_are_known_by_their_begin() {
    for (first, name) in [
        (&b"\x89HDF\r\n\x1a\n\0\0\0"[..], Some("an HDF5 file")),
        (b"\x14\0\0\0\x08\0\0\0", Some("an input file in the reference mini-app's format")),
        (b" {\"schema\": 4}", Some("JSON")),
        (b"1.0 2.0\n", Some("text")),
        (b"", None),
        (b"\x00\x01\x02", None),
    ] {
        assert_eq!(named(first), name);
    }
}
