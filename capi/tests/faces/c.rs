//! The header, programs in C, and what the shared library shows to them.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::ptr;

use gpp_c::{Status, VERSION, gpp_close, gpp_open_version};
use tempfile::TempDir;

use crate::Outcome;
use crate::built::{LIBRARIES, compile, has, library, package, run};

/// Nothing but `gpp_…` may be found by others in the process: no function of the driver's above all.
pub fn symbols() -> Outcome {
    let shared = library("libgpp_c.so")?;
    let defined = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&shared))?;
    let defined = String::from_utf8(defined.stdout)?;
    let names: Vec<&str> =
        defined.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let header = fs::read_to_string(package().join("include/gpp.h"))?;
    for name in &names {
        assert!(name.starts_with("gpp_"), "{name} is shown");
        assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
    }
    assert!(names.contains(&"gpp_sums") && names.len() == 18, "{names:?}");
    let needed = run(Command::new("nm").args(["-D", "--undefined-only"]).arg(&shared))?;
    let needed = String::from_utf8(needed.stdout)?;
    let driver = needed.lines().find(|line| line.contains(" cu"));
    assert_eq!(driver, None);
    // RHEL 9 has version 2.34 of the C library.
    let versions: Vec<&str> =
        needed.lines().filter_map(|line| line.split_once("@GLIBC_2.")).map(|(_, of)| of).collect();
    assert!(!versions.is_empty(), "{needed}");
    for version in versions {
        let minor: u32 = version.split('.').next().unwrap_or(version).parse()?;
        assert!(minor <= 34, "needs GLIBC_2.{version}: {needed}");
    }
    Ok(())
}

/// The program of `tests/c`, against the static library or the shared one, which is in the folder then; but not when
/// the program is linked.
fn built(folder: &TempDir, is_static: bool) -> Result<PathBuf, libtest_mimic::Failed> {
    let program = folder.path().join("program");
    let mut linked = library(if is_static { "libgpp_c.a" } else { "libgpp_c.so" })?;
    let (at_link, at_run) = (folder.path().join("linked.so"), folder.path().join("libgpp_c.so"));
    if !is_static {
        fs::copy(linked, &at_link)?;
        linked = at_link.clone();
    }
    let mut arguments: Vec<_> =
        ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"].map(Into::into).into();
    arguments.push(package().join("include").into_os_string());
    let version = concat!("-DGPP_EXPECTED_VERSION=\"", env!("CARGO_PKG_VERSION"), "\"");
    arguments.extend([version.into(), package().join("tests/c/gpp.c").into_os_string()]);
    arguments.extend(["-o".into(), program.clone().into_os_string(), linked.into_os_string()]);
    arguments.extend(LIBRARIES.map(Into::into));
    compile("cc", folder.path(), arguments)?;
    if !is_static {
        fs::rename(at_link, at_run)?;
    }
    Ok(program)
}

/// Whether there is none, and none has to be there.
pub fn no_gpu() -> bool {
    let mut handle = ptr::null_mut();
    // SAFETY: a string with its end, and a place for a handle.
    let none =
        unsafe { gpp_open_version(c"gpu".as_ptr(), VERSION, 0, &mut handle) } == Status::NoDevice;
    gpp_close(handle);
    if none {
        eprintln!("SKIPPED on this machine: no GPU");
    }
    none && env::var_os("GPP_REQUIRE_GPU").is_none()
}

/// Runs it on a device: it says that all is well, and nothing else is printed.
pub fn on(device: &str) -> Outcome {
    for is_static in [true, false] {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(built(&folder, is_static)?);
        command.args([device, "limited"]);
        if !is_static {
            // The program reads the number too.
            command.env("LD_LIBRARY_PATH", folder.path()).env("OMP_NUM_THREADS", "3,2");
        }
        let output = run(&mut command)?;
        assert_eq!(String::from_utf8(output.stdout)?, "gpp.c: all as expected\n");
        assert_eq!(String::from_utf8(output.stderr)?, "");
    }
    Ok(())
}

/// Under valgrind, which has no AVX-512: it reads nothing that it may not, and loses nothing.
pub fn watched() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = built(&folder, true)?;
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
    command.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
    command.arg("--fair-sched=yes").arg(program);
    run(&mut command).map(drop)
}

/// Opens a device for a program that is compiled with this header.
const OPEN: &str =
    "#define gpp_open(device, handle) gpp_open_version(device, GPP_VERSION, 0, handle)";

/// The header as committed: what cbindgen makes of the sources.
pub fn generated() -> Outcome {
    let config = cbindgen::Config::from_file(package().join("cbindgen.toml"))?;
    // The library's other files are named there.
    let version = gpp_c::VERSION;
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(package().join("src/lib.rs"))
        .with_after_include(format!("\n#define GPP_VERSION {version}\n{OPEN}"));
    let mut text = Vec::new();
    builder.generate()?.write(&mut text);
    let text = String::from_utf8(text)?;
    let path = package().join("include/gpp.h");
    if env::var_os("GPP_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &text)?;
    }
    if fs::read_to_string(&path)? == text {
        return Ok(());
    }
    let how = "GPP_UPDATE_SNAPSHOTS=1 cargo test --release -p gpp-c header";
    Err(format!("include/gpp.h is not what cbindgen makes of capi/src; {how}").into())
}

/// The header alone, with all warnings.
pub fn compiles() -> Outcome {
    let header = package().join("include/gpp.h");
    let warnings = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    for (compiler, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++11")] {
        if compiler == "c++" && !has(compiler) {
            println!("no C++ compiler here: the header is compiled as C alone");
            continue;
        }
        let all = warnings.into_iter().chain([standard, "-x", language]);
        compile(
            compiler,
            &package(),
            all.map(Into::into).chain([header.clone().into_os_string()]),
        )?;
    }
    Ok(())
}
