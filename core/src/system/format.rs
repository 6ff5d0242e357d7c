//! What kind of file somebody named: for errors about files of another format.

/// Bytes from a file's begin that tell its format.
pub const ENOUGH: usize = 16;

/// Formats that begin with a mark of their own.
const MARKS: [(&[u8], &str); 7] = [
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"CDF", "a NetCDF file"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x7fELF", "a program"),
];

/// Length marker of the first record of the reference mini-app's files: five integers.
pub const FIRST_RECORD: u32 = 20;

/// The format of a file, by its first bytes; `None` of what tells nothing.
pub fn named(first: &[u8]) -> Option<&'static str> {
    let first = &first[..first.len().min(ENOUGH)];
    if let Some((_, name)) = MARKS.iter().find(|(mark, _)| first.starts_with(mark)) {
        return Some(name);
    }
    if first.starts_with(&FIRST_RECORD.to_le_bytes()) {
        return Some("an input file in the reference mini-app's format");
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if first.is_empty() || !first.iter().all(is_text) {
        return None;
    }
    Some(if first.trim_ascii_start().starts_with(b"{") { "JSON" } else { "text" })
}

#[cfg(test)]
mod tests {
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
}
