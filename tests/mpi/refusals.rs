//! What is wrong for all processes is said once, and ends all of them.

use std::fs;

use crate::common::{fixture_path, place};
use crate::launch::{ended, ranks, two};

pub fn usage() {
    for (arguments, part) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["--version", "v99"], "unknown version `v99`"),
        (&["list"], "use several ranks; found 3"),
    ] {
        ended(ranks(3).args(arguments)).expect(2, &[part]);
    }
    ended(ranks(3).args(["--device", "gpu:100"]))
        .expect(3, &["no GPU to run on", "; --device cpu runs on the CPU"]);
}

pub fn inputs() {
    let (_folder, path) = place("input.dat");
    let input = |part: &str| {
        let run = ["--version", "best", "--device", "cpu", "--input", path.to_str().unwrap()];
        ended(ranks(3).args(run)).expect(2, &["rank 0 of 3 on ", "input.dat", part]);
    };
    input("No such file");
    let bytes = fs::read(fixture_path("plain")).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    input("the file is cut off: it ends after");
    fs::write(&path, "no input\n").unwrap();
    input("needs a length marker of 20");
}

pub fn different() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let run = ["--system", "demo", "--device", "cpu", "--slab", "4", "--quiet"];
    let [plain, poles] = ["plain", "poles"].map(|name| fixture_path(name).display().to_string());
    // The same name, and a bit of a matrix element that differs.
    let mut bytes = fs::read(&plain).unwrap();
    fs::write(at("a.dat"), &bytes).unwrap();
    let bands = i32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
    let aqsn = bytes.len() - 4 * 56 - 4 - 16 * 65 * bands;
    bytes[aqsn] ^= 1;
    fs::write(at("b.dat"), &bytes).unwrap();
    let others = "the ranks: rank 1 has other input, energies, versions, flags or program ";
    let paired = [&run[..], &["-v", "cpu:paired"]].concat();
    let two = |first: &[&str], second: &[&str]| ended(&mut two([(&[], first), (&[], second)]));
    let with = |more: &[&str]| two(&paired, &[&paired[..], more].concat());
    for more in [&["--simd", "scalar"][..], &["--repeat", "3"], &["--no-verify"]] {
        with(more).expect(2, &["rank 0 of 2 on ", others]);
    }
    with(&["--nonsense"]).expect(2, &["--nonsense"]);
    let tiny = &["-s", "tiny"][..];
    two(tiny, &["list"]).expect(2, &["rank 1 of 2 on ", "use several ranks; found 2"]);
    let threads = [&run[..], &["-v", "cpu:threads"]].concat();
    for (first, second) in [
        (&paired[..], &threads[..]),
        (tiny, &["sigma", "-s", "tiny"]),
        (tiny, &["-s", "tiny", "--seed", "3"]),
        (&["sigma", "-s", "tiny", "--energies", "0:1:5"], &["sigma", "-s", "tiny"]),
        (&["-v", "best", "-i", &plain], &["-v", "best", "-i", &poles]),
        (&["-v", "best", "-i", &at("a.dat")], &["-v", "best", "-i", &at("b.dat")]),
    ] {
        two(first, second).expect(2, &["rank 0 of 2 on ", others]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    // Each may have its own copy of an input, and of what is its own affair.
    fs::copy(&plain, at("c.dat")).unwrap();
    let run = ["-v", "best", "-d", "cpu", "-q"];
    let [first, second] = [at("a.dat"), at("c.dat")];
    let first = [&run[..], &["-i", &first, "--json", "-"]].concat();
    let second = [&run[..], &["-i", &second, "--host-memory", "1GiB"]].concat();
    assert_eq!(two(&first, &second).record()["complete"], true);
}
