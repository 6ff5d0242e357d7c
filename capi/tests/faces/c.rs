//! The header, programs in C, and what the shared library shows to them.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs, ptr};

use gpp_c::{Status, VERSION, gpp_close, gpp_open_version};
use tempfile::TempDir;

use crate::Outcome;
use crate::built::{has, library, package, printed, program, run};

/// Nothing but `gpp_…` may be found by others in the process: no function of the driver's above all.
pub fn symbols() -> Outcome {
    let shared = library("libgpp_c.so")?;
    let nm = |which: &str| printed(Command::new("nm").args(["-D", which]).arg(&shared));
    let defined = nm("--defined-only")?;
    let names: Vec<&str> = defined.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    let header = fs::read_to_string(package().join("include/gpp.h"))?;
    for name in &names {
        assert!(name.starts_with("gpp_"), "{name} is shown");
        let is_public = [' ', '*'].iter().any(|sign| header.contains(&format!("{sign}{name}(")));
        assert_eq!(is_public, *name != "gpp_refuse", "{name}");
    }
    assert!(names.contains(&"gpp_sums") && names.len() == 25, "{names:?}");
    let needed = nm("--undefined-only")?;
    assert_eq!(needed.lines().find(|line| line.contains(" cu")), None);
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

const SONAME: &str =
    concat!("libgpp.so.", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// The program of `tests/c`, against the static library or the shared one, which it finds in the folder when it runs.
fn built(folder: &TempDir, is_static: bool) -> Result<std::path::PathBuf, libtest_mimic::Failed> {
    let mut linked = library(if is_static { "libgpp_c.a" } else { "libgpp_c.so" })?;
    let (at_link, at_run) = (folder.path().join("linked.so"), folder.path().join(SONAME));
    if !is_static {
        fs::copy(linked, &at_link)?;
        linked = at_link.clone();
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg(concat!("-DGPP_EXPECTED_VERSION=\"", env!("CARGO_PKG_VERSION"), "\""));
    compiler.arg("-I").arg(package().join("include")).arg(package().join("tests/c/gpp.c"));
    let program = program(&mut compiler, folder.path(), &linked)?;
    if !is_static {
        fs::rename(at_link, at_run)?;
    }
    Ok(program)
}

/// Whether there is none, and none has to be there.
pub fn no_gpu() -> bool {
    let mut handle = ptr::null_mut();
    // SAFETY: a string with its end, and a place for a handle.
    let status = unsafe { gpp_open_version(c"gpu".as_ptr(), VERSION, 0, &mut handle) };
    gpp_close(handle);
    let none = status == Status::NoDevice;
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

/// A failed allocation is a status, threads run in all of OpenMP's places, a process of gpp's threads alone can be ended.
pub fn border() -> Outcome {
    let (folder, mut compiler) = (tempfile::tempdir()?, Command::new("cc"));
    // Without a parallel region the linker leaves OpenMP's runtime out.
    compiler.args(["-O1", "-fopenmp", "-Wno-unused-parameter"]);
    compiler.args(["-Wl,--no-as-needed", "-lgomp", "-I"]).arg(package().join("include"));
    let shared = library("libgpp_c.so")?;
    compiler.arg(package().join("tests/c/border.c"));
    std::os::unix::fs::symlink(&shared, folder.path().join(SONAME))?;
    // Cargo names its folders to the loader, in which a library may be older.
    compiler.arg(format!("-Wl,--disable-new-dtags,-rpath,{}", folder.path().display()));
    let program = program(&mut compiler, folder.path(), &shared)?;
    for version in ["sigma:blocks", "sigma:cells"] {
        run(Command::new(&program).args(["alloc", version]))?;
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
    let mask = list.ok_or("a mask of CPUs")?;
    run(Command::new(&program).args(["places", mask]).env("OMP_PROC_BIND", "true"))?;
    let mut ends = Command::new(&program).arg("exit").stdout(Stdio::piped()).spawn()?;
    ends.stdout.as_mut().ok_or("its output")?.read_exact(&mut [0; 5])?;
    sleep(Duration::from_millis(200));
    run(Command::new("kill").arg(ends.id().to_string()))?;
    for _ in 0..100 {
        if let Some(status) = ends.try_wait()? {
            assert_eq!(status.signal(), Some(15));
            return Ok(());
        }
        sleep(Duration::from_millis(50));
    }
    ends.kill()?;
    Err("it does not end".into())
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
        .with_after_include(format!("\n#define GPP_VERSION {version}"))
        .with_trailer(OPEN);
    let mut text = Vec::new();
    builder.generate()?.write(&mut text);
    let text = String::from_utf8(text)?;
    let path = package().join("include/gpp.h");
    if env::var_os("GPP_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &text)?;
    }
    let how = "GPP_UPDATE_SNAPSHOTS=1 cargo test --release -p gpp-c header";
    let is_same = fs::read_to_string(&path)? == text;
    assert!(is_same, "include/gpp.h is not what cbindgen makes of capi/src; {how}");
    Ok(())
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
        run(Command::new(compiler).args(warnings).args([standard, "-x", language]).arg(&header))?;
    }
    Ok(())
}
