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
            assert!(slab_of(&path, &before_slabs()).is_err());
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
    let cases: [(Change, &str); 12] = [
        (|i| i.ngpown = 99, "needs ngpown 99, has 100; see --system, --input and --seed"),
        (
            |i| i.contents = "aa".into(),
            "needs contents aa, has 9f3c01; see --system, --input and --seed",
        ),
        (|i| i.columns = None, "needs columns none, has 77aa; see --system, --input and --seed"),
        (|i| i.nw = 3, "needs number of energies 3, has 2; see --energies and --nw"),
        (|i| i.energies = "0".into(), "needs energies 0, has 0 to 1 eV; see --energies and --nw"),
        (|i| i.version = "v12".into(), "needs version v12, has v13; --version v13 continues it"),
        (|i| i.back_end = "GPU".into(), "needs back end GPU, has CPU; see --device"),
        (|i| i.vectors = None, "needs vectors none, has avx2; --simd avx2 continues it"),
        (|i| i.kernel = "k".into(), "needs kernel k, has gpp_v13 \"4×4\""),
        (|i| i.code = "c".into(), "needs kernels' code c, has c0de; see GPP_PTX"),
        (|i| i.program = "p".into(), "needs program p, has gpp 0.1.0 by rustc 1.95.0"),
        (|i| i.slab = 32, "needs slab size 32, has 16; --slab 16 continues it"),
    ];
    for (at, (change, needed)) in cases.into_iter().enumerate() {
        let mut other = identity();
        change(&mut other);
        let ends = format!("cannot be continued by this run: {needed}");
        let message = refusal(&path, &other);
        assert!(message.ends_with(&ends), "{message}");
        // What is known before slabs are is compared before.
        let early = slab_of(&path, &Identity { slab: 0, ..other.clone() });
        match needed.starts_with("needs slab") || needed.starts_with("needs columns") {
            true => assert_eq!(early.unwrap(), Some(16)),
            false => assert!(early.unwrap_err().to_string().ends_with(&ends)),
        }
        // Of other data names tell more than digests, of the same data they tell nothing.
        other.problem = "si214".into();
        let message = refusal(&path, &other);
        let named = "run: needs problem si214, has demo; see --system, --input and --seed";
        assert!(message.ends_with(if at < 3 { named } else { &ends }), "{message}");
    }
    let renamed = Identity { problem: "si214".into(), ..identity() };
    assert_eq!(bits(&read(&path, &renamed).unwrap()), bits(&finished([4])));
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
    write_checked(&path, &format!("{}\n", head.replace("checkpoint\":2", "checkpoint\":1")));
    assert!(refusal(&path, &identity()).ends_with("needs checkpoint format 2, has 1"));
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
