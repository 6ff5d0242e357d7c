//! What cargo built of this package, and tools that make programs of it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Failed;

pub fn package() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

pub fn root() -> PathBuf {
    package().join("..")
}

pub fn has(tool: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|folder| folder.join(tool).is_file())
}

/// A file of the library that cargo made with this test; where it is not beside the test it is built.
pub fn library(name: &str) -> Result<PathBuf, Failed> {
    let test = env::current_exe()?;
    let beside = test.parent().ok_or("a test is in a folder")?;
    if beside.join(name).is_file() {
        return Ok(beside.join(name));
    }
    let profile = beside.parent().ok_or("its folder is in that of the profile")?;
    let target = profile.parent().ok_or("that is in the target folder")?;
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--offline", "-p", "gpp-c", "--target-dir"]).arg(target);
    command.current_dir(root());
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    run(&mut command)?;
    Ok(profile.join(name))
}

/// What a command printed, where it ended well.
pub fn run(command: &mut Command) -> Result<Output, Failed> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let [out, errors] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    Err(format!("{command:?}: {}\n{out}\n{errors}", output.status).into())
}

pub fn printed(command: &mut Command) -> Result<String, Failed> {
    Ok(String::from_utf8(run(command)?.stdout)?.trim().to_string())
}

/// The program that a compiler with its flags and sources makes in a folder, linked with a file of the library.
pub fn program(compiler: &mut Command, folder: &Path, linked: &Path) -> Result<PathBuf, Failed> {
    // The static library has functions that nobody calls, and that call some of the driver's: the linker leaves them out.
    let libraries = ["-Wl,--gc-sections", "-lpthread", "-ldl", "-lm"];
    compiler.current_dir(folder).arg(linked).args(["-o", "program"]).args(libraries);
    run(compiler)?;
    Ok(folder.join("program"))
}
