//! Processes that are killed, writes that fail, what is no regular file.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use gpp::error::exit_code;

use super::*;

#[test]
fn a_device_is_refused_and_a_link_stays() {
    refusal(Path::new("/dev/full"), &identity());
    let (folder, path) = folder();
    let target = folder.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let ranks = run(&path, &[&[2]]);
    assert!(target.is_file() && path.is_symlink());
    drop(ranks);
    remove(&path).unwrap();
    assert!(!target.exists() && path.is_symlink());
}

/// Slabs that the process of a test keeps in `GPP_CHECKPOINT`, forever.
fn keep_forever(path: &str) {
    let mut checkpoint = Checkpoint::begin(path.as_ref(), identity(), 0, &finished([])).unwrap();
    for at in (0..7).cycle() {
        match checkpoint.keep(at, &sums(at, 1 + at % 4)) {
            Ok(()) => println!("kept {at}"),
            Err(error) => return println!("failed: {error}"),
        }
    }
}

/// This test in a process of its own, that keeps slabs.
fn process(test: &str, path: &Path, shell: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{shell} exec '{}' \"$@\"", program.display()));
    command.args(["sh", "--exact", test, "--nocapture"]).env("GPP_CHECKPOINT", path);
    command.stdout(Stdio::piped());
    command
}

#[test]
fn a_killed_process_leaves_all_that_it_kept() {
    if let Ok(path) = std::env::var("GPP_CHECKPOINT") {
        return keep_forever(&path);
    }
    for lines in 0..20 {
        let (_folder, path) = folder();
        let mut child =
            process("faults::a_killed_process_leaves_all_that_it_kept", &path, "").spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let told: Vec<usize> = output
            .map(|line| line.unwrap())
            .filter_map(|line| line.strip_prefix("kept ").map(|at| at.parse().unwrap()))
            .take(lines)
            .collect();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(told.len(), lines);
        let kept = read(&path, &identity()).unwrap();
        assert!(told.iter().all(|at| kept.contains_key(at)), "{told:?}");
        assert_eq!(bits(&kept), bits(&finished(kept.keys().copied())));
    }
}

#[test]
fn a_failed_write_leaves_the_file_as_it_was() {
    if let Ok(path) = std::env::var("GPP_CHECKPOINT") {
        return keep_forever(&path);
    }
    let (folder, path) = folder();
    let name = "faults::a_failed_write_leaves_the_file_as_it_was";
    let output = process(name, &path, "trap '' XFSZ; ulimit -f 4;").output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let failed = format!("failed: {}: cannot write: ", path.display());
    assert!(output.contains("kept 0") && output.contains(&failed), "{output}");
    assert_eq!(names(&folder), ["run.ckpt"]);
    let kept = read(&path, &identity()).unwrap();
    assert_eq!(bits(&kept), bits(&finished(kept.keys().copied())));
    assert!(!kept.is_empty());
}

#[test]
fn a_slab_that_could_not_be_kept_may_be_kept_again() {
    let (_folder, path) = folder();
    let path = path.with_file_name("runs").join("run.ckpt");
    let error = Checkpoint::begin(&path, identity(), 1, &finished([])).err().unwrap();
    assert!(error.to_string().contains("cannot write"), "{error}");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let mut checkpoint = run(&path, &[&[2]]).swap_remove(0);
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert_eq!(exit_code(&checkpoint.keep(3, &sums(3, 4)).unwrap_err()), 2);
    fs::create_dir(path.parent().unwrap()).unwrap();
    checkpoint.keep(3, &sums(3, 4)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"slab\":3,").count(), 1, "{text}");
    assert_eq!(bits(&read(&path, &identity()).unwrap()), bits(&finished([2, 3])));
}
