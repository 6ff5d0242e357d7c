//! What `scripts/install` puts into a folder: it may be moved, programs in C and Fortran are made with it, no file
//! names a folder of this machine, and nothing is left when it is removed.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use assert_cmd::output::OutputOkExt;
use common::repository;
use gpp::devices::gpu::NO_KERNELS;

fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        println!("SKIPPED on this machine: no {tool}");
    }
    there
}

/// What a command printed, where it ended well.
fn run(command: &mut Command) -> String {
    String::from_utf8(command.unwrap().stdout).unwrap()
}

fn install(destination: &Path) -> Command {
    let target = env::current_exe().unwrap().ancestors().nth(3).unwrap().to_path_buf();
    let mut install = Command::new(repository("scripts/install"));
    install.env("DESTDIR", destination).env("GPP_INSTALL_TARGET", target).env_remove("LIBDIR");
    install
}

/// Programs made by CMake and by pkg-config of what is in `prefix`.
fn callers(prefix: &Path, folder: &Path) {
    for file in ["caller.c", "caller.f90", "CMakeLists.txt"] {
        fs::copy(repository("tests/data/install").join(file), folder.join(file)).unwrap();
    }
    if has("pkg-config") {
        let find = |what: &[&str]| {
            let mut find = Command::new("pkg-config");
            run(find.args(what).arg("gpp").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")))
        };
        assert_eq!(find(&["--modversion"]).trim(), env!("CARGO_PKG_VERSION"));
        let flags = find(&["--cflags", "--libs"]);
        let mut compile = Command::new("cc");
        compile.current_dir(folder).arg("caller.c").args(flags.split_whitespace());
        run(compile.arg(format!("-Wl,-rpath,{}/lib", prefix.display())).args(["-o", "caller"]));
        run(&mut Command::new(folder.join("caller")));
    }
    if has("cmake") && has("gfortran") {
        let mut configure = Command::new("cmake");
        configure.current_dir(folder).args(["-S", ".", "-B", "build"]);
        run(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
        run(Command::new("cmake").current_dir(folder).args(["--build", "build"]));
        for program in ["shared", "static", "fortran"] {
            run(&mut Command::new(folder.join("build").join(program)));
        }
    }
}

#[test]
fn what_is_installed_works_elsewhere_and_goes_without_a_trace() {
    if cfg!(debug_assertions) || !cfg!(target_os = "linux") {
        println!("skipped: the script builds for release, and for Linux");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("destination");
    let (later, moved) = (folder.path().join("later"), folder.path().join("moved"));
    let prefix = destination.join(later.strip_prefix("/").unwrap());
    fs::create_dir_all(prefix.join("share")).unwrap();
    fs::write(prefix.join("share/another"), "").unwrap();
    // There before, where all is to be copied to.
    fs::create_dir_all(later.join("include")).unwrap();
    // The second removes what the first has put there.
    run(install(&destination).arg(&later).env("LIBDIR", later.join("lib64")));
    assert!(prefix.join("lib64/pkgconfig/gpp.pc").exists());
    run(install(&destination).arg(&later));
    assert!(!prefix.join("lib64").exists());
    fs::rename(&prefix, &moved).unwrap();

    let gpp = moved.join("bin/gpp");
    let version = run(Command::new(&gpp).arg("--version"));
    assert_eq!(version.trim(), concat!("gpp ", env!("CARGO_PKG_VERSION")));
    let shared = fs::canonicalize(moved.join("lib/libgpp.so")).unwrap();
    let named = format!("libgpp.so.{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(shared.file_name().unwrap().to_str(), Some(&named[..]));
    for (file, part) in [
        ("share/man/man1/gpp.1", "gpp\\-sigma(1)"),
        ("share/man/man1/gpp-sigma.1", "\\-\\-sigma\\-alone"),
        ("share/bash-completion/completions/gpp", "--sigma-alone"),
        ("share/zsh/site-functions/_gpp", "--sigma-alone"),
        ("share/fish/vendor_completions.d/gpp.fish", "sigma-alone"),
        ("share/doc/gpp-gw/NOTICE", "libloading"),
    ] {
        let text = fs::read_to_string(moved.join(file)).unwrap();
        // The levels of the machine that builds are not everybody's.
        assert!(text.contains(part) && !text.contains("avx512"), "{file}");
    }
    callers(&moved, folder.path());
    if NO_KERNELS.is_none() {
        let ptx = run(Command::new(&gpp).args(["ptx", "v4,v13"]));
        let sources = ptx.lines().filter(|line| line.contains("\t.file\t"));
        let sources: Vec<&str> = sources.filter_map(|line| line.split('"').nth(1)).collect();
        let places = ["./kernels/src/", "/rust/library/", "/crates/"];
        let is_known = |source: &&str| places.iter().any(|place| source.starts_with(place));
        assert!(sources.len() > 9 && sources.iter().all(is_known), "{sources:?}");
    }

    fs::rename(&moved, &prefix).unwrap();
    run(install(&destination).arg("--uninstall").arg(&later));
    let files = run(Command::new("find").arg(&destination).args(["!", "-type", "d"]));
    assert_eq!(files.trim(), prefix.join("share/another").to_str().unwrap());
    let left = fs::read_dir(&prefix).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<BTreeSet<_>>(), BTreeSet::from(["include".into(), "share".into()]));
}

/// `build/rustc`, by which the script builds: a crate's file is not named by its place on this machine.
#[test]
fn what_is_built_for_others_names_no_folder_of_this_machine() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("registry/src/index/one/lib.rs");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    fs::write(&source, "pub fn first(all: &[u8]) -> u8 { *all.first().unwrap() }").unwrap();
    let object = home.path().join("one.o");
    let mut compile = Command::new(repository("build/rustc"));
    compile.args(["rustc", "--crate-type=lib", "--emit=obj", "-o"]).arg(&object).arg(&source);
    run(compile.env("CARGO_HOME", home.path()));
    let built = String::from_utf8_lossy(&fs::read(&object).unwrap()).into_owned();
    assert!(built.contains("/crates/index/one/lib.rs"));
    assert!(!built.contains(home.path().to_str().unwrap()));
}

#[test]
fn the_notice_names_each_crate_whose_licence_asks_for_it_and_no_other() {
    // The text of Apache-2.0 is installed; the Unlicense asks for nothing.
    let needs_none = |licence: &str| {
        let mut choices = licence.split(" OR ").flat_map(|choice| choice.split('/'));
        choices.any(|choice| ["Apache-2.0", "Unlicense"].contains(&choice.trim()))
    };
    let mut tree = Command::new("cargo");
    tree.current_dir(repository("")).args(["tree", "--locked", "--all-features"]);
    tree.arg("--edges=normal,no-proc-macro");
    tree.args(["--prefix=none", "--format={l}|{p}", "-p=gpp-gw", "-p=gpp-c", "-p=gpp-python"]);
    let tree = run(&mut tree);
    let crates = tree.lines().filter_map(|line| line.split_once('|'));
    let ask: BTreeSet<(&str, &str)> = crates
        .filter(|(licence, _)| !needs_none(licence))
        .map(|(licence, package)| (package.split(' ').next().unwrap(), licence))
        .collect();
    let notice = fs::read_to_string(repository("NOTICE")).unwrap();
    let list = notice.split("====").next().unwrap();
    let lines = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    let named = lines.map(|(name, rest)| (name, rest.split_whitespace().next().unwrap()));
    assert_eq!(named.collect::<BTreeSet<_>>(), ask);
}
