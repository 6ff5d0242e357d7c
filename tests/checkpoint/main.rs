//! Checkpoints: what was kept comes back bit for bit, and nothing else is taken for it.

#[cfg(unix)]
mod campaign;
#[path = "../common/mod.rs"]
mod common;
#[cfg(unix)]
mod faults;
mod refusals;

use std::fs;
use std::path::{Path, PathBuf};

use gpp::devices::{SlabSums, Upload};
use gpp::engine::checkpoint::{Checkpoint, Finished, read, remove, slab_of};
use gpp::engine::identity::Identity;
use gpp::error::exit_code;
use proptest::prelude::*;
use tempfile::TempDir;

/// 7 slabs of two energies: six of 16 igp and one of 4.
fn identity() -> Identity {
    Identity {
        problem: "demo".into(),
        contents: "9f3c01".into(),
        columns: Some("77aa".into()),
        ngpown: 100,
        nw: 2,
        energies: "0 to 1 eV".into(),
        version: "v13".into(),
        kernel: "gpp_v13 \"4×4\"\n".into(),
        code: "c0de".into(),
        program: "gpp 0.1.0 by rustc 1.95.0".into(),
        back_end: "CPU".into(),
        vectors: Some("avx2".into()),
        slab: 16,
    }
}

/// The same before slabs and all columns are known.
fn before_slabs() -> Identity {
    Identity { slab: 0, columns: None, ..identity() }
}

/// Sums of a slab, with numbers that few formats keep.
fn sums(at: usize, groups: usize) -> SlabSums {
    let odd = [f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::from_bits(!0), 0.1];
    let value =
        |i: usize| if i.is_multiple_of(3) { odd[(i / 3 + at) % odd.len()] } else { i as f64 / 7.0 };
    let values = (0..groups * 8).map(value).collect();
    let blocks = (!at.is_multiple_of(2)).then_some(at as u32 * 100);
    SlabSums { values, groups, seconds: 0.1 + at as f64, blocks, upload: Upload::default() }
}

/// All of it, as bits.
type Bits = (usize, Vec<u64>, usize, u64, Option<u32>);

fn bits(finished: &Finished) -> Vec<Bits> {
    let of = |(at, sums): (&usize, &SlabSums)| {
        let values = sums.values.iter().map(|value| value.to_bits()).collect();
        (*at, values, sums.groups, sums.seconds.to_bits(), sums.blocks)
    };
    finished.iter().map(of).collect()
}

fn finished(slabs: impl IntoIterator<Item = usize>) -> Finished {
    slabs.into_iter().map(|at| (at, sums(at, 1 + at % 4))).collect()
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    (folder, path)
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Has ranks begin together, and each keep its share of slabs.
fn run(path: &Path, shares: &[&[usize]]) -> Vec<Checkpoint> {
    let before = read(path, &identity()).unwrap();
    let begun: Vec<Checkpoint> = (0..shares.len())
        .map(|rank| Checkpoint::begin(path, identity(), rank, &before).unwrap())
        .collect();
    let kept = begun.into_iter().zip(shares).map(|(mut checkpoint, share)| {
        share.iter().for_each(|&at| checkpoint.keep(at, &sums(at, 1 + at % 4)).unwrap());
        checkpoint
    });
    kept.collect()
}

fn refusal(path: &Path, identity: &Identity) -> String {
    match read(path, identity) {
        Ok(found) => panic!("{} was read: {:?}", path.display(), bits(&found)),
        Err(error) => {
            assert_eq!(exit_code(&error), 2);
            let message = error.to_string();
            assert!(message.starts_with(&path.display().to_string()), "{message}");
            message
        }
    }
}

#[test]
fn slabs_come_back_bit_for_bit_and_each_as_soon_as_it_is_kept() {
    let (folder, path) = folder();
    assert_eq!(slab_of(&path, &before_slabs()).unwrap(), None);
    assert!(read(&path, &identity()).unwrap().is_empty());
    let mut checkpoint = Checkpoint::begin(&path, identity(), 0, &Finished::new()).unwrap();
    assert_eq!(slab_of(&path, &before_slabs()).unwrap(), Some(16));
    for (count, at) in [5, 0, 6, 3].into_iter().enumerate() {
        checkpoint.keep(at, &sums(at, 1 + at % 4)).unwrap();
        let kept = read(&path, &identity()).unwrap();
        assert_eq!(bits(&kept), bits(&finished([5, 0, 6, 3].into_iter().take(count + 1))));
    }
    assert_eq!(names(&folder), ["run.ckpt"]);
    remove(&path).unwrap();
    assert!(names(&folder).is_empty());
}

#[test]
fn another_number_of_ranks_goes_on_with_the_slabs_of_all() {
    let (folder, path) = folder();
    run(&path, &[&[0], &[1, 5], &[], &[6]]);
    assert_eq!(names(&folder), ["run.ckpt", "run.ckpt.1", "run.ckpt.3"]);
    // Names that no rank writes.
    for other in ["run.ckpt.03", "run.ckpt.0", "run.ckpt.+3", "run.ckpt.3.bak", "run.ckpt3"] {
        fs::write(folder.path().join(other), "other").unwrap();
    }
    assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&finished([0, 1, 5, 6])));
    let ranks = run(&path, &[&[2], &[3]]);
    let mut left = names(&folder);
    left.retain(|name| fs::read(folder.path().join(name)).unwrap() != b"other");
    assert_eq!(left, ["run.ckpt", "run.ckpt.1"]);
    assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&finished([0, 1, 2, 3, 5, 6])));
    drop(ranks);
    remove(&path).unwrap();
    assert_eq!(names(&folder).len(), 5, "{:?}", names(&folder));
}

#[test]
fn the_file_of_rank_0_may_be_missing() {
    let (_folder, path) = folder();
    run(&path, &[&[], &[4]]);
    fs::remove_file(&path).unwrap();
    assert_eq!(slab_of(&path, &before_slabs()).unwrap(), Some(16));
    assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&finished([4])));
}

#[test]
fn slabs_twice_agree_or_are_refused() {
    let (folder, path) = folder();
    let other = folder.path().join("run.ckpt.2");
    run(&path, &[&[1], &[], &[3]]);
    let left = fs::read(&other).unwrap();
    run(&path, &[&[]]);
    // Killed between merging and removing.
    fs::write(&other, left).unwrap();
    assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&finished([1, 3])));
    run(&path, &[&[]]);
    assert_eq!(names(&folder), ["run.ckpt"]);
    // One bit of a NaN.
    let mut differs = sums(3, 4);
    let nan = differs.values.iter_mut().find(|value| value.is_nan()).unwrap();
    *nan = f64::from_bits(nan.to_bits() ^ 1);
    let mut rank = Checkpoint::begin(&path, identity(), 2, &Finished::new()).unwrap();
    rank.keep(3, &differs).unwrap();
    let message = refusal(&path, &identity());
    let needed = format!("{}: has other sums of slab 3 than {}", other.display(), path.display());
    assert_eq!(message, needed);
}

#[test]
#[should_panic(expected = "slab 6 needs 1 to 4 groups, has 5")]
fn sums_of_another_slab_are_not_kept() {
    let (_folder, path) = folder();
    run(&path, &[&[]]).swap_remove(0).keep(6, &sums(6, 5)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any numbers, any ranks, restarted in between: the union comes back.
    #[test]
    fn any_numbers_on_any_ranks_come_back(
        slabs in prop::collection::vec((0_usize..4, 1_usize..=4, any::<[u64; 32]>(), any::<u64>()), 7),
        restarts in prop::collection::vec(1_usize..5, 1..4),
    ) {
        let (_folder, path) = folder();
        let all: Finished = slabs.iter().enumerate().map(|(at, (_, groups, values, seconds))| {
            let values = values[..groups * 8].iter().map(|&bits| f64::from_bits(bits)).collect();
            let seconds = f64::from_bits(*seconds);
            (at, SlabSums { values, groups: *groups, seconds, blocks: None, upload: Upload::default() })
        }).collect();
        let mut kept = 0;
        for (run, &ranks) in restarts.iter().enumerate() {
            let before = read(&path, &identity()).unwrap();
            prop_assert_eq!(before.len(), kept);
            let mut begun: Vec<Checkpoint> = (0..ranks)
                .map(|rank| Checkpoint::begin(&path, identity(), rank, &before).unwrap())
                .collect();
            let until = if run + 1 == restarts.len() { 7 } else { (kept + 2).min(7) };
            for at in kept..until {
                begun[slabs[at].0 % ranks].keep(at, &all[&at]).unwrap();
            }
            kept = until;
        }
        prop_assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&all));
    }

    /// Bytes that were overwritten are noticed.
    #[test]
    fn overwritten_bytes_are_refused(at in any::<prop::sample::Index>(), by in any::<Vec<u8>>()) {
        let (_folder, path) = folder();
        run(&path, &[&[1, 4]]);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + by.len()).min(whole.len()), by);
        fs::write(&path, &bytes).unwrap();
        prop_assert_eq!(read(&path, &identity()).is_ok(), bytes == whole);
    }
}
