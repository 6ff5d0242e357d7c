//! What is damaged, of something else, or no checkpoint.

use super::*;

#[test]
fn every_flipped_bit_and_every_truncation_is_refused() {
    let (_folder, path) = folder();
    run(&path, &[&[4]]);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        refusal(&path, &identity());
    }
    let mut bytes = whole.clone();
    for at in 0..whole.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            refusal(&path, &identity());
            assert!(slab_of(&path).is_err());
            bytes[at] = whole[at];
        }
    }
    for more in ["\n", "x", "{}\n"] {
        fs::write(&path, [&whole, more.as_bytes()].concat()).unwrap();
        refusal(&path, &identity());
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&finished([4])));
}

type Change = fn(&mut Identity);

#[test]
fn a_checkpoint_of_anything_else_is_refused_by_name() {
    let (_folder, path) = folder();
    run(&path, &[&[4]]);
    let cases: [(Change, &str); 9] = [
        (|i| i.problem = "si214".into(), "needs problem si214, has demo"),
        (|i| i.contents = "aa".into(), "needs contents aa, has 9f3c01"),
        (|i| i.version = "v12".into(), "needs version v12, has v13"),
        (|i| i.kernel = "k".into(), "needs kernel k, has gpp_v13 \"4×4\"\n"),
        (|i| i.compiler = "c".into(), "needs compiler c, has rustc 1.95.0"),
        (|i| i.back_end = "gpu".into(), "needs back end gpu, has cpu"),
        (|i| i.ngpown = 99, "needs ngpown 99, has 100"),
        (|i| i.nw = 3, "needs number of energies 3, has 2"),
        (|i| i.slab = 32, "needs slab size 32, has 16; --slab 16 continues it"),
    ];
    for (change, needed) in cases {
        let mut other = identity();
        change(&mut other);
        let message = refusal(&path, &other);
        assert!(
            message.ends_with(&format!("cannot be continued by this run: {needed}")),
            "{message}"
        );
    }
}

/// Writes a file with a checksum that holds, whatever else does.
fn write_checked(path: &Path, text: &str) {
    let sum = crc32fast::hash(text.as_bytes());
    fs::write(path, format!("{text}{{\"crc32\":\"{sum:08x}\"}}\n")).unwrap();
}

#[test]
fn contents_that_cannot_be_are_refused_in_spite_of_a_right_checksum() {
    let (_folder, path) = folder();
    run(&path, &[&[]]);
    let head = fs::read_to_string(&path).unwrap();
    let head = head.lines().next().unwrap();
    let slab = |at: usize, groups: usize, values: usize| {
        let values = vec!["0"; values].join(",");
        format!(
            "{head}\n{{\"slab\":{at},\"groups\":{groups},\"seconds\":0,\"blocks\":null,\
             \"values\":[{values}]}}\n"
        )
    };
    write_checked(&path, &slab(6, 4, 32));
    assert_eq!(read(&path, &identity()).unwrap().len(), 1);
    let damaged = [
        (slab(7, 4, 32), "needs slabs below 7, has slab 7"),
        (slab(6, 5, 40), "slab 6 needs 1 to 4 groups, has 5"),
        (slab(6, 0, 0), "slab 6 needs 1 to 4 groups, has 0"),
        (slab(6, 4, 31), "slab 6 needs 32 values, has 31"),
        (slab(6, 4, 32).replace("groups", "group"), "line 2: missing field `groups`"),
        (format!("{head}\n\n"), "line 2: EOF while parsing"),
        (head.replace("\"nw\":2", "\"nw\":-2") + "\n", "line 1: invalid value"),
    ];
    for (text, needed) in damaged {
        write_checked(&path, &text);
        let message = refusal(&path, &identity());
        assert!(message.contains(&format!("is damaged: {needed}")), "{message}");
    }
    write_checked(&path, &format!("{}\n", head.replace("checkpoint\":1", "checkpoint\":2")));
    assert!(refusal(&path, &identity()).ends_with("needs checkpoint format 1, has 2"));
}

#[test]
fn what_is_no_checkpoint_is_named_as_such() {
    let (folder, path) = folder();
    let begin = "is no checkpoint: needs to begin with {\"gpp_checkpoint\":,";
    for (bytes, found) in [("", "is empty"), ("\u{1}\n{}", "begins with \\x01\\n{}")] {
        fs::write(&path, bytes).unwrap();
        assert!(refusal(&path, &identity()).ends_with(&format!("{begin} {found}")));
    }
    let message = refusal(folder.path(), &identity());
    assert!(message.ends_with("needs to be a regular file, this is none"), "{message}");
    let nowhere = folder.path().join("nowhere/run.ckpt");
    assert!(refusal(&nowhere, &identity()).contains("cannot look for checkpoints"));
}
