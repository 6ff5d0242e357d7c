//! What cargo built of this package, and tools that make programs of it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Failed;

use crate::Outcome;

/// The package's folder.
pub fn package() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

/// The repository's.
pub fn root() -> PathBuf {
    package().join("..")
}

/// What the libraries need beside them. The static one has functions that nobody calls, and that call some of
/// the driver's; the linker has to leave them out.
pub const LIBRARIES: [&str; 4] = ["-Wl,--gc-sections", "-lpthread", "-ldl", "-lm"];

/// Whether a tool is to be found.
pub fn has(tool: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|folder| folder.join(tool).is_file())
}

/// A file that cargo made of the library when it built this test, which depends on it. Where it is not beside
/// the test it is built.
pub fn library(name: &str) -> Result<PathBuf, Failed> {
    let test = env::current_exe()?;
    let beside = test.parent().ok_or("a test is in a folder")?;
    if beside.join(name).is_file() {
        return Ok(beside.join(name));
    }
    let profile = beside.parent().ok_or("its folder is in that of the profile")?;
    let target = profile.parent().ok_or("that is in the target folder")?;
    let mut command = cargo();
    command.args(["build", "--offline", "-p", "gpp-c", "--target-dir"]).arg(target);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    run(&mut command)?;
    Ok(profile.join(name))
}

/// Cargo, in the repository.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
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

/// Runs a compiler in a folder.
pub fn compile<A: AsRef<OsStr>>(
    compiler: &str,
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Outcome {
    run(Command::new(compiler).current_dir(folder).args(arguments)).map(drop)
}

/// `cargo cinstall` installs what the package's metadata says: here of a package that has it, and the files,
/// but one function alone.
pub fn installed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let manifest = fs::read_to_string(package().join("Cargo.toml"))?;
    let begin = manifest.find("[package.metadata.capi").ok_or("no metadata")?;
    let end = manifest.find("[lints]").ok_or("no lints")?;
    let head = concat!(
        "[package]\nname = \"gpp-c\"\nedition = \"2024\"\nversion = \"",
        env!("CARGO_PKG_VERSION"),
        "\"\n[lib]\nname = \"gpp_c\"\n[features]\ncapi = []\n[workspace]\n"
    );
    let function = "#[unsafe(no_mangle)]\npub extern \"C\" fn gpp_none() {}\n";
    let files = [
        ("Cargo.toml", head.to_string() + &manifest[begin..end]),
        ("src/lib.rs", function.into()),
        ("build.rs", fs::read_to_string(package().join("build.rs"))?),
        ("include/gpp.h", fs::read_to_string(package().join("include/gpp.h"))?),
        ("fortran/gpp.f90", fs::read_to_string(package().join("fortran/gpp.f90"))?),
    ];
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
        fs::write(path, text)?;
    }
    let mut command = cargo();
    command.current_dir(folder.path()).args(["cinstall", "--release", "--offline"]);
    command.args(["--prefix", "/usr", "--libdir", "/usr/lib", "--destdir"]).arg(folder.path());
    command.env("CARGO_TARGET_DIR", folder.path().join("target"));
    run(&mut command)?;
    for file in [
        "include/gpp.h",
        "lib/libgpp.a",
        "lib/libgpp.so",
        "lib/pkgconfig/gpp.pc",
        "share/gpp/gpp.f90",
    ] {
        assert!(folder.path().join("usr").join(file).exists(), "no {file}");
    }
    let shared = folder.path().join("usr/lib/libgpp.so");
    let dynamic = run(Command::new("readelf").arg("--dynamic").arg(shared))?;
    let dynamic = String::from_utf8(dynamic.stdout)?;
    assert!(dynamic.contains("soname: [libgpp.so"), "{dynamic}");
    Ok(())
}
