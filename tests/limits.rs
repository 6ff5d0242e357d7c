//! Inputs that cannot be read whole and at once, and memory that a control group limits. Groups are made where
//! this is root and may make some; elsewhere their tests do nothing, and those of `core/src/system/memory`
//! have a made-up tree of files.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Kind, QUIET, made};
use gpp::record;
use gpp::record::run::Run;
use serde_json::Value;

const GPP: &str = env!("CARGO_BIN_EXE_gpp");

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
        let errors = [
            gpp::problem::input_file::read(path, QUIET).err().map(|error| error.to_string()),
            record::read::<Run>(path).err().map(|error| error.to_string()),
        ];
        for text in errors {
            let text = text.expect("it is no file");
            assert!(text.starts_with(path.to_str().unwrap()), "{text}");
            assert!(text.contains("not a regular file"), "{text}");
        }
        for flags in [&["--input"][..], &["table", "--from"]] {
            let run = Command::new("timeout").arg("20").arg(GPP).args(flags).arg(path).output();
            // Of a folder its run is read.
            let is_folder = path.is_dir() && flags.len() > 1;
            expect(&run.unwrap(), &[if is_folder { "run.json" } else { "not a regular file" }]);
        }
    }
    let large = folder.path().join("large.json");
    File::create(&large).unwrap().set_len(20 << 30).unwrap();
    let text = record::read::<Run>(&large).expect_err("it is too large").to_string();
    assert!(text.contains("21474836480 bytes, at most 1073741824"), "{text}");
}

/// A control group with a limit of memory.
struct Group {
    folder: PathBuf,
    /// Who is written there is in it.
    members: PathBuf,
}

impl Group {
    /// Below the group of this process, or beside all others; none where it cannot be made.
    fn of(bytes: u64) -> Option<Group> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let name = format!("gpp-limits-{}-{bytes}", std::process::id());
        let make = |parent: PathBuf| -> Option<Group> {
            let folder = parent.join(&name);
            fs::create_dir(&folder).ok()?;
            let group = Group { members: folder.join("cgroup.procs"), folder };
            // A group without the controller has no such file, and none can be made there.
            fs::OpenOptions::new()
                .write(true)
                .open(group.folder.join("memory.max"))
                .and_then(|mut file| file.write_all(bytes.to_string().as_bytes()))
                .ok()?;
            Some(group)
        };
        let below = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        make(Path::new("/sys/fs/cgroup").join(below)).or_else(|| make("/sys/fs/cgroup".into()))
    }

    /// The program in it.
    fn run(&self, arguments: &[&str]) -> Output {
        let script = format!("echo $$ > {} && exec timeout 100 \"$@\"", self.members.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", GPP]).args(arguments).env("RUST_BACKTRACE", "0");
        command.output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What was in it may be gone a moment later.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Fails unless it ended with exit code 2 and one message, which has these parts.
fn expect(run: &Output, parts: &[&str]) {
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{errors}");
    assert_eq!(errors.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{errors}");
    parts.iter().for_each(|part| assert!(errors.contains(part), "no `{part}` in {errors}"));
}

const MIB: u64 = 1 << 20;

#[test]
fn a_run_in_a_group_parts_itself_or_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.dat");
    let input = path.to_str().unwrap();
    let Some(enough) = Group::of(120 * MIB) else { return println!("no control group here") };
    // 92 MiB of pairs, few terms.
    let problem = made([3, 1000, 3000, 2], Kind::Real, 1);
    let sums = gpp::reference::of(&problem, QUIET).unwrap().unwrap().sums;
    gpp::problem::input_file::write(&path, &problem, &sums, QUIET).unwrap();
    let bytes = problem.bytes();
    drop(problem);
    assert!(bytes > 90 * MIB, "{bytes}");

    let arguments =
        ["-i", input, "-d", "cpu", "-v", "cpu:best", "-r", "1", "--warmup", "0", "-j", "-"];
    let run = enough.run(&arguments);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let record: Value = serde_json::from_slice(&run.stdout).unwrap();
    let slabs = record["parting"]["slabs"].as_u64();
    assert!(slabs.is_some_and(|slabs| slabs > 1), "{}", record["parting"]);
    assert_eq!(record["results"][0]["verification"]["outcome"], "passed");

    let little = Group::of(60 * MIB).unwrap();
    let limit = ["/memory.limit_in_bytes", "/memory.max"]
        .map(|name| format!("{}{name} allows 60.0 MiB", little.folder.display()))
        .into_iter()
        .find(|text| Path::new(text.split(' ').next().unwrap()).exists());
    let run = little.run(&arguments);
    expect(&run, &["not enough host memory for ", &limit.unwrap()]);
}
