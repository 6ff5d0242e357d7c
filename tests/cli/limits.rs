//! Inputs that cannot be read whole and at once.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::path::Path;
use std::process::Command;

use gpp::record;
use gpp::record::run::RunRecord;

use crate::common::{QUIET, place};

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let (folder, pipe) = place("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
        let errors = [
            gpp::problem::input_file::read(path, QUIET).err().map(|error| error.to_string()),
            record::read::<RunRecord>(path).err().map(|error| error.to_string()),
        ];
        for text in errors {
            let text = text.expect("it is no file");
            assert!(text.starts_with(path.to_str().unwrap()), "{text}");
            assert!(text.contains("not a regular file"), "{text}");
        }
        for flags in [&["--input"][..], &["table", "--from"]] {
            let program = env!("CARGO_BIN_EXE_gpp");
            let run = Command::new("timeout").arg("20").arg(program).args(flags).arg(path).output();
            let run = run.unwrap();
            let errors = String::from_utf8_lossy(&run.stderr);
            let is_folder = path.is_dir() && flags.len() > 1;
            let says = if is_folder { "run.json" } else { "not a regular file" };
            assert_eq!(run.status.code(), Some(2), "{errors}");
            assert_eq!(errors.lines().filter(|line| line.starts_with("error: ")).count(), 1);
            assert!(errors.contains(says), "{errors}");
        }
    }
    let large = folder.path().join("large.json");
    File::create(&large).unwrap().set_len(20 << 30).unwrap();
    let text = record::read::<RunRecord>(&large).expect_err("it is too large").to_string();
    assert!(text.contains("21474836480 bytes, at most 1073741824"), "{text}");
}
