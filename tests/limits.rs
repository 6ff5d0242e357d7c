//! Inputs that cannot be read whole and at once, and memory that a control group limits. Groups are made where
//! this is root and may make some; elsewhere their tests do nothing, and those of `core/src/system/memory`
//! have a made-up tree of files.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Kind, QUIET, fixture_path, made};
use gpp::record::run::Run;
use gpp::record::{self};
use serde_json::Value;

const GPP: &str = env!("CARGO_BIN_EXE_gpp");

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
        let errors = [
            gpp::problem::file::read(path, QUIET).err().map(|error| error.to_string()),
            record::read::<Run>(path).err().map(|error| error.to_string()),
        ];
        for text in errors {
            let text = text.expect("it is no file");
            assert!(text.starts_with(path.to_str().unwrap()), "{text}");
            assert!(text.contains("not a regular file"), "{text}");
        }
        for flags in [&["--input"][..], &["table", "--from"], &["sigma", "--from"]] {
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
    gpp::problem::file::write(&path, &problem, &sums, QUIET).unwrap();
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

    // A small file that says it has 2 GiB of `vcoul`, and has.
    let sparse = folder.path().join("sparse.dat");
    write_sparse(&sparse, 1 << 28);
    let run = enough.run(&["-i", sparse.to_str().unwrap(), "-d", "cpu", "-v", "cpu:best"]);
    expect(
        &run,
        &["sparse.dat: record 10 (vcoul)", "not enough host memory", " 2048.0 MiB needed"],
    );
}

/// A fixture with so many numbers of `vcoul`, most of them no more than a hole in the file.
fn write_sparse(path: &Path, ncoul: u32) {
    let mut bytes = fs::read(fixture_path("plain")).unwrap();
    let mut begins = vec![0];
    for _ in 0..10 {
        let at: usize = *begins.last().unwrap();
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        begins.push(at + 8 + length as usize);
    }
    // The third number of record 1.
    bytes[12..16].copy_from_slice(&ncoul.to_le_bytes());
    let mut file = File::create(path).unwrap();
    file.write_all(&bytes[..begins[9]]).unwrap();
    let (mut left, mut first) = (8 * i64::from(ncoul), true);
    while left > 0 {
        let length = left.min(2_147_483_639);
        left -= length;
        // Markers of subrecords are negative where another one follows, and where one went before.
        let opening = if left > 0 { -length } else { length } as i32;
        let closing = if first { length } else { -length } as i32;
        file.write_all(&opening.to_le_bytes()).unwrap();
        file.seek(SeekFrom::Current(length)).unwrap();
        file.write_all(&closing.to_le_bytes()).unwrap();
        first = false;
    }
    file.write_all(&bytes[begins[10]..]).unwrap();
}
