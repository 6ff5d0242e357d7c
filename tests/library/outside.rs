//! A crate outside of this repository that calls the core, with the lines of docs/library.md.

use std::fs;
use std::path::Path;
use std::process::Command;

fn block<'a>(docs: &'a str, begin: &str) -> &'a str {
    let at = docs.find(begin).unwrap_or_else(|| panic!("no block with {begin}"));
    docs[at..].split("```").next().expect("there is a part before")
}

fn cargo_run(folder: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(folder).args(["run", "--release", "--offline", "--quiet"]);
    cargo
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_crate_elsewhere_builds_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/library.md")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("PATH/TO/gpp", root.to_str().unwrap())).unwrap();
    };
    let dependencies = block(&docs, "[dependencies]");
    let package = "[package]\nname = \"elsewhere\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n";
    // Its own copies of the libraries take minutes to optimise, which tells nothing more.
    let plainly = |name| format!("\n[profile.release.package.{name}]\nopt-level = 0\n");
    let profiles = ["gpp-core", "gpp-cpu", "gpp-kernels"].map(plainly).concat();
    write("Cargo.toml", &format!("{package}{dependencies}{profiles}"));
    write("src/main.rs", block(&docs, "use gpp_core"));
    fs::copy(root.join("Cargo.lock"), dir.path().join("Cargo.lock")).unwrap();

    // What it depends on is built where this test is: in the folder above its own temporary one; kernels for GPUs, which
    // take a minute and are not called, are not.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut run = cargo_run(dir.path());
    run.env("GPP_KERNEL_RUSTC", "/no/rustc").env_remove("GPP_REQUIRE_KERNELS");
    let printed = printed(run.arg("--target-dir").arg(target));
    assert!(printed.contains("CH") && printed.lines().count() == 2, "{printed}");
}

#[test]
fn the_example_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Cargo builds examples beside tests of the whole workspace.
    let profile = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_path_buf();
    let built = profile.join("examples/states");
    let printed = match built.exists() {
        true => printed(&mut Command::new(built)),
        false => printed(cargo_run(root).args(["-p", "gpp-core", "--example", "states"])),
    };
    assert!(printed.contains("state 9"), "{printed}");
}
