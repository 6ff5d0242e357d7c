//! A system that gives few threads or little stack: sums, or an error that says so.
#![cfg_attr(not(target_os = "linux"), allow(unused))]

mod common;

use std::process::{Command, ExitCode};

use assert_cmd::output::OutputOkExt;
use common::arrays::{Arrays, all, own_versions};
use gpp_core::{Calculator, Error};
use libtest_mimic::{Arguments, Failed, Trial};

/// What this program is called with to be the caller of a library, and exits with if that has no threads.
const CALLER: &str = "caller";
const REFUSED: u8 = 3;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(CALLER) {
        return match calls() {
            Ok(()) => ExitCode::SUCCESS,
            Err(Error::Memory { .. } | Error::Threads(_)) => ExitCode::from(REFUSED),
            Err(other) => panic!("{other}"),
        };
    }
    let trials = vec![
        Trial::test("a thread that does not start is an error of the library", || {
            any_number(caller, REFUSED.into(), "")
        }),
        Trial::test("a thread that does not start is an error of the program", || {
            any_number(gpp, 2, "error: cannot start threads")
        }),
        Trial::test("64 KiB of stack are enough for both", stack),
    ];
    let elsewhere = !cfg!(target_os = "linux");
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(elsewhere)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// All kinds of calls, on this thread, which waits and is told how far they are, or not.
fn calls() -> gpp_core::Result<()> {
    let arrays = Arrays::of([40, 24], [12, 3], 3);
    let calculator = Calculator::open("cpu")?.with_threads(3)?;
    all(own_versions(), &calculator, &arrays)?;
    all(own_versions(), &calculator.with_progress(|_| None), &arrays).map(drop)
}

fn caller() -> Command {
    let mut caller = Command::new(std::env::current_exe().unwrap());
    caller.arg(CALLER);
    caller
}

fn gpp() -> Command {
    let mut gpp = Command::new(env!("CARGO_BIN_EXE_gpp"));
    gpp.args(["-s", "tiny", "-v", "cpu:paired", "-d", "cpu", "-q", "--threads", "3"]);
    gpp
}

/// How a command ends for any number of threads: with a refusal until there are enough.
fn any_number(command: fn() -> Command, refused: i32, says: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("no-threads.so");
    common::stand_in::compiled("tests/data/no-threads.c", &library, &[])?;
    let mut codes = Vec::new();
    for threads in 0..24 {
        let mut command = command();
        command.env("LD_PRELOAD", &library).env("MOST_THREADS", threads.to_string());
        let output = command.output()?;
        let (code, said) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
        let is_said = code == Some(0) || code == Some(refused) && said.contains(says);
        assert!(is_said, "{threads} threads: {code:?}\n{said}");
        codes.push(code);
    }
    let (first, last) = (codes.first(), codes.last());
    let ends = first == Some(&Some(refused)) && last == Some(&Some(0));
    assert!(ends && codes.is_sorted_by(|a, b| a >= b), "{codes:?}");
    Ok(())
}

fn stack() -> Result<(), Failed> {
    for command in [caller(), gpp()] {
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -s 64; exec \"$@\"", "sh"]);
        limited.arg(command.get_program()).args(command.get_args()).ok()?;
    }
    Ok(())
}
