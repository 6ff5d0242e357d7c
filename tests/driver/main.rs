//! The driver's types, on a stand-in for its library that checks contexts, and on a GPU if there is one (GPP_REQUIRE_GPU
//! requires it). The program without a driver and with one that has no device.

#[path = "../common/mod.rs"]
mod common;
mod launches;
mod offdiag;
mod on_devices;
mod resident;

use std::env;
use std::process::Command;

use assert_cmd::prelude::*;
use common::stand_in::driver;
use gpp::devices::gpu::driver::devices;
use gpp::error::Error;
use libtest_mimic::{Arguments, Failed, Trial};
use predicates::str::contains;

type Outcome = Result<(), Failed>;

type Test = (&'static str, fn() -> Outcome);

const ON_STAND_IN: &str = "GPP_TEST_ON_STAND_IN";

fn main() {
    let arguments = Arguments::from_args();
    if env::var_os(ON_STAND_IN).is_some() {
        if env::var_os("FAKE_LAUNCH").is_some() {
            // SAFETY: no other thread runs yet, which might read it.
            unsafe { env::set_var("FAKE_LAUNCH", launches::address()) };
            let trials = vec![
                Trial::test("every version", launches::every_version),
                Trial::test("the time of a single run", launches::single_run),
                Trial::test("slabs without room", launches::halved),
                Trial::test("samples of single precision", launches::samples),
                Trial::test("a screening that stays", resident::stays),
                Trial::test("single precision", resident::single),
                Trial::test("a settled call", resident::settled),
                Trial::test("many states in one call", resident::states),
                Trial::test("matrices on one device and on several", offdiag::devices),
                Trial::test("the memory of matrices", offdiag::memory),
                Trial::test("matrices of a caller's arrays", offdiag::of_a_caller),
            ];
            // One after the other: calls are counted.
            libtest_mimic::run(&Arguments { test_threads: Some(1), ..arguments }, trials).exit();
        }
        let trials = on_devices::TESTS.map(|(name, test)| Trial::test(name, test)).into();
        libtest_mimic::run(&arguments, trials).exit();
    }
    let missing = match devices() {
        Ok(_) => None,
        Err(Error::NoGpu { why }) if env::var_os("GPP_REQUIRE_GPU").is_none() => Some(why),
        Err(error) => panic!("{error}"),
    };
    if let Some(why) = &missing {
        println!("skipped on this machine: {why}");
    }
    let on_gpu = on_devices::TESTS.map(|(name, test)| {
        Trial::test(format!("{name}, on the GPU"), test).with_ignored_flag(missing.is_some())
    });
    let trials = OF_THE_PROGRAM.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&arguments, trials.into_iter().chain(on_gpu).collect()).exit();
}

const OF_THE_PROGRAM: [Test; 7] = [
    ("nothing links libcuda", nothing_links_libcuda),
    ("the program runs without a driver", without_a_driver),
    ("the program says that the driver has no device", without_a_device),
    ("the program names what the driver lacks", without_a_function),
    ("the program names codes that are newer than it", unknown_code),
    ("the driver's types on a stand-in", || on_stand_in(&[("FAKE_DEVICES", "2")])),
    ("every version on a stand-in whose launches are emulated", || {
        on_stand_in(&[("FAKE_DEVICES", "3"), ("FAKE_LAUNCH", "here")])
    }),
];

fn run(
    library: &tempfile::TempDir,
    arguments: &[&str],
    set: &[(&str, &str)],
    (code, on_stderr): (i32, &str),
) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpp"));
    command.args(arguments).env_remove("FAKE_DEVICES").env_remove("FAKE_INIT");
    command.env("LD_LIBRARY_PATH", library.path()).envs(set.iter().copied());
    command.assert().code(code).stderr(contains(on_stderr));
    Ok(())
}

fn nothing_links_libcuda() -> Outcome {
    for program in [env!("CARGO_BIN_EXE_gpp").into(), env::current_exe()?] {
        let told = |tool: &str, arguments: &[&str]| -> Result<String, Failed> {
            let output = Command::new(tool).args(arguments).arg(&program).ok()?;
            Ok(String::from_utf8(output.stdout)?)
        };
        let (libraries, symbols) = (told("ldd", &[])?, told("nm", &["-D"])?);
        assert!(libraries.contains("libc.so") && !libraries.contains("libcuda"), "{libraries}");
        // Nor are the functions that are handed on in the way of libraries that call the driver's.
        assert!(symbols.contains("dlopen") && !symbols.contains("cuInit"), "{symbols}");
    }
    Ok(())
}

fn without_a_driver() -> Outcome {
    // One that cannot be opened, in the way of any that can.
    let none = tempfile::tempdir()?;
    std::fs::write(none.path().join("libcuda.so.1"), "no library\n")?;
    run(&none, &["list"], &[], (0, ""))?;
    run(&none, &["info", "--device", "cpu"], &[], (0, ""))?;
    let v8 = ["--version", "v8", "--system", "tiny", "--quiet"];
    run(&none, &v8[..4], &[], (0, "note: no GPU found: running on the CPU"))?;
    let why = "no GPU to run on: no NVIDIA driver (libcuda) on this machine: ";
    run(&none, &["info", "--device", "gpu"], &[], (3, why))?;
    run(&none, &[&v8[..], &["--device", "gpu"]].concat(), &[], (3, why))
}

fn without_a_device() -> Outcome {
    let library = driver(None)?;
    let why = "no GPU to run on: the driver found no device: CUDA_ERROR_NO_DEVICE: \
               no CUDA-capable device is detected";
    run(&library, &["info", "--device", "gpu"], &[], (3, why))?;
    run(&library, &["info", "--device", "auto"], &[], (0, ""))?;
    let hidden = [("CUDA_VISIBLE_DEVICES", "7")];
    let why = "is detected; CUDA_VISIBLE_DEVICES is `7`";
    let hint = format!("{why}; --device cpu runs on the CPU\n");
    run(&library, &["info", "--device", "gpu"], &hidden, (3, &hint))?;
    run(&library, &["--version", "best", "--system", "tiny", "--quiet"], &hidden, (0, why))
}

fn without_a_function() -> Outcome {
    let library = driver(Some("cuDeviceGetUuid_v2"))?;
    let with = |arguments: &[&str], ends: (i32, &str)| {
        run(&library, arguments, &[("FAKE_DEVICES", "1")], ends)
    };
    let why = "the driver, for CUDA 12.9, lacks cuDeviceGetUuid_v2, which one for CUDA 11.4 has";
    with(&["info", "--device", "gpu"], (3, &format!("error: no GPU to run on: {why}")))?;
    let best = ["--version", "best", "--system", "tiny", "--quiet"];
    with(&best, (0, &format!("note: no GPU found: running on the CPU: {why}")))
}

fn unknown_code() -> Outcome {
    let library = driver(None)?;
    let info = ["info", "--device", "gpu"];
    let with = |code, says: &str| run(&library, &info, &[("FAKE_INIT", code)], (3, says));
    with("803", ": CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: the text of the code; libcuda.so.1 is not")?;
    with("34", ": code 34; libcuda.so.1 is a CUDA toolkit's stub library")?;
    with("100", "no CUDA-capable device is detected; `nvidia-smi` lists ")?;
    with("999", ": code 999; the kernel module nvidia_uvm may not be loaded")?;
    with("12345", ": code 12345; --device cpu ")
}

fn on_stand_in(set: &[(&str, &str)]) -> Outcome {
    let library = driver(None)?;
    let mut this = Command::new(env::current_exe()?);
    this.env(ON_STAND_IN, "1").envs(set.iter().copied()).env("LD_LIBRARY_PATH", library.path());
    this.ok()?;
    Ok(())
}
