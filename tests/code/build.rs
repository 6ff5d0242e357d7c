//! What the build and the loader make of PTX, and what tells a kernel's code from another's.

#[allow(dead_code, reason = "the build script uses all of it")]
#[path = "../../build.rs"]
pub mod commit;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use gpp::devices::gpu::Ptx;

use crate::{RECORDED, compiler};

#[test]
fn entries_get_the_bounds_of_their_kernels() {
    for ptx in RECORDED {
        let bounded = compiler::with_bounds(ptx);
        let of = |symbol: &str| {
            let entry = bounded.split(&format!(".entry {symbol}(")).nth(1).unwrap();
            entry.split_once("\n)\n").unwrap().1.split_once("{\n").unwrap().0.to_string()
        };
        assert_eq!(of("gpp_v0_nw1"), ".maxntid 128\n");
        assert_eq!(of("gpp_v13_nw1"), ".maxntid 256\n.maxnreg 128\n");
        assert_eq!(of("gpp_second_stage"), "");
        assert_eq!(bounded.lines().count(), ptx.lines().count() + 3);
    }
}

#[test]
fn a_module_has_one_entry_and_the_variables_that_it_uses() {
    for ptx in RECORDED {
        let ptx = Ptx::new(ptx);
        let symbols: Vec<&str> = ptx.symbols().collect();
        assert_eq!(symbols, ["gpp_second_stage", "gpp_v0_nw1", "gpp_v13_nw1"]);
        let uses = |symbol: &str| {
            let module = ptx.module(symbol).unwrap();
            assert_eq!(module.matches(".entry ").count(), 1);
            assert!(module.contains(&format!(".visible .entry {symbol}(")));
            assert!(module.contains(".version 6.0\n.target sm_70\n.address_size 64\n"));
            assert!(module.contains("\t.file\t1 "));
            assert!(module.ends_with("\n}\n"));
            ["gpp_scratch", "gpp_table"].map(|name| module.contains(&format!(" {name}[64];\n")))
        };
        assert_eq!(uses("gpp_second_stage"), [false, false]);
        assert_eq!(uses("gpp_v0_nw1"), [true, false]);
        assert_eq!(uses("gpp_v13_nw1"), [false, true]);
        assert_eq!(ptx.module("gpp_v"), None);

        let two = ptx.module_of(["gpp_v0_nw1", "gpp_v13_nw1"]);
        assert_eq!(two.matches(".entry ").count(), 2);
        assert_eq!(two.matches("[64];\n").count(), 2);
    }
}

#[test]
fn a_compiler_is_named_by_release_and_llvm() {
    let printed = "rustc 1.96.0 (abc 2026-05-25)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n\
                   release: 1.96.0\nLLVM version: 22.1.8\n";
    assert_eq!(compiler::version_in(printed).unwrap(), "rustc 1.96.0, LLVM 22.1.8");
    assert_eq!(compiler::version_in("release: 1.96.0\n"), None);
    let of_this = compiler::own().version().unwrap();
    assert!(of_this.starts_with("rustc 1.") && of_this.contains(", LLVM "), "{of_this}");
    let printed = "warning: one\nerror[E0463]: can't find crate for `core`\nerror: aborting\n";
    assert_eq!(compiler::first_error(printed), "error[E0463]: can't find crate for `core`");
    assert_eq!(compiler::first_error("one\ntwo\n"), "two");
}

/// The build script itself, by a compiler that is not there.
#[test]
fn a_build_without_kernels_is_a_warning_or_an_error() {
    let built = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("build");
    let folders = fs::read_dir(&built).unwrap().map(|entry| entry.unwrap().path());
    let of_core = folders.filter(|path| path.to_string_lossy().contains("/build/gpp-core-"));
    let scripts = of_core.map(|path| path.join("build-script-build"));
    let newest = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    let script = scripts.filter(|path| path.exists()).max_by_key(newest).unwrap();
    let out = tempfile::tempdir().unwrap();
    for (required, level) in [(None, "warning"), (Some("1"), "error")] {
        let mut run = Command::new(&script);
        run.env("GPP_KERNEL_RUSTC", "/no/rustc").env("OUT_DIR", out.path());
        run.env("CARGO_MANIFEST_DIR", concat!(env!("CARGO_MANIFEST_DIR"), "/core"));
        run.env_remove("GPP_REQUIRE_KERNELS")
            .envs(required.map(|set| ("GPP_REQUIRE_KERNELS", set)));
        let printed = String::from_utf8(run.output().unwrap().stdout).unwrap();
        let says = format!("cargo::{level}=built without GPU kernels: ");
        assert!(printed.contains(&says), "{printed}");
        assert!(printed.contains("; /no/rustc: "), "{printed}");
    }
}

/// What is called, and what the user reads in the end. `setup.sh` stands in for each program in `$BIN` and logs its arguments;
/// where the folder `ubuntu` exists apt has rustup and no Rust, and where `old` does Rust is too old.
#[test]
fn setup_installs_by_rustup_and_apt_or_says_what_is_missing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let setup = fs::read_to_string(root.join("scripts/setup")).unwrap();
    let own = setup.replace("builds_kernels /usr", "builds_kernels \"$BIN/usr\"");
    assert_ne!(setup, own);
    let own = own.replace("cd \"$(dirname \"$0\")/..\"\n", "");
    let rust = "- Rust 1.95 or later with rust-src: see https://rustup.rs";
    for (tools, code, called, told) in [
        ("rustup cc", 0, "rustup toolchain install stable", ""),
        ("rustup cargo rustc cc", 0, "rustup component add rust-src", ""),
        ("apt-get", 0, "rust-web-src", ""),
        ("rustup cargo rustc old cc", 0, "rustup toolchain install stable", ""),
        ("apt-get ubuntu", 0, "rustup toolchain install stable", ""),
        ("dnf", 0, "gcc glibc-devel", ""),
        ("dnf old cc", 1, "rust cargo rust-src", "(here is 1.84.1)"),
        ("cc", 1, "", rust),
        ("", 1, "", "- a C linker: "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("stub"), include_str!("../data/setup.sh")).unwrap();
        fs::set_permissions(at("stub"), PermissionsExt::from_mode(0o755)).unwrap();
        for tool in tools.split_whitespace().chain(["id"]) {
            match tool {
                "ubuntu" | "old" => fs::create_dir(at(tool)).unwrap(),
                _ => symlink("stub", at(tool)).unwrap(),
            }
        }
        for tool in ["sh", "timeout", "mkdir", "ln", "sed", "sort", "head", "rm"] {
            let path = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(tool));
            symlink(path.into_iter().find(|path| path.exists()).unwrap(), at(tool)).unwrap();
        }
        let mut run = Command::new("/bin/sh");
        run.current_dir(root).args(["-c", &own]);
        run.env("PATH", folder.path()).env("BIN", folder.path());
        let output = run.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{tools}: {text}");
        let log = fs::read_to_string(at("log")).unwrap_or_default();
        assert!(log.contains(called), "{tools}: {log}");
        assert!(text.contains(told), "{tools}: {text}");
        let is_by_rustup = tools.contains("rustup") || tools.contains("ubuntu");
        assert!(!is_by_rustup || !log.contains("-web"), "{tools}: {log}");
    }
}

#[test]
fn a_commit_is_dirty_where_its_sources_are_changed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert!(commit::commit_of(root, &["a"]).is_none());
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    fs::write(root.join("a"), "1").unwrap();
    git(&["add", "a"]);
    git(&["commit", "-qm", "one"]);
    let (clean, log) = commit::commit_of(root, &["a"]).unwrap();
    assert!(clean.len() == 12 && log.exists());
    fs::write(root.join("b"), "1").unwrap();
    assert_eq!(commit::commit_of(root, &["a"]).unwrap().0, clean);
    fs::write(root.join("a"), "2").unwrap();
    assert_eq!(commit::commit_of(root, &["a"]).unwrap().0, clean + "-dirty");
}

#[test]
fn a_hash_is_of_the_code_alone() {
    for ptx in RECORDED {
        let finished = compiler::with_bounds(ptx);
        let hash = |text: &str, symbol: &str| Ptx::new(text).hash(symbol);
        let v13 = hash(&finished, "gpp_v13_nw1");
        assert_eq!(v13.as_ref().map(String::len), Some(16));
        assert_eq!(hash(&finished, "gpp_v14_nw1"), None);
        assert_ne!(v13, hash(&finished, "gpp_v0_nw1"));

        // Other lines, folders, labels, marks and names, and nothing else in the module.
        let elsewhere = finished
            .replace("\t.loc\t10 6", "\t.loc\t10 7")
            .replace("\"./kernels", "\"/elsewhere/kernels")
            .replace("$L__BB2_", "$L__BB77_")
            .replace("$L__tmp", "$L__tmp1")
            .replace("gpp_v13_nw1", "gpp_v14_nw1");
        assert_eq!(hash(&elsewhere, "gpp_v14_nw1"), v13);
        let alone = Ptx::new(finished.clone()).module("gpp_v13_nw1").unwrap();
        assert_eq!(hash(&alone, "gpp_v13_nw1"), v13);

        for (code, other) in [
            ("fma.rn.f64 \t%rd24, %rd2, %rd13", "fma.rn.f64 \t%rd24, %rd13, %rd2"),
            ("gpp_table[64]", "gpp_table[128]"),
            (".maxnreg 128", ".maxnreg 64"),
            (".target sm_70", ".target sm_80"),
            ("bra.uni \t$L__BB2_3", "bra.uni \t$L__BB2_4"),
        ] {
            assert!(finished.contains(code), "{code}");
            assert_ne!(hash(&finished.replace(code, other), "gpp_v13_nw1"), v13, "{code}");
        }
        let of_another = finished.replace("max.f64", "min.f64");
        assert_ne!(of_another, finished);
        assert_eq!(hash(&of_another, "gpp_v13_nw1"), v13);
    }
}

#[test]
fn a_section_of_a_file_is_a_source_of_its_own() {
    let text =
        "use a::B;\n\npub mod v0 {\n    //! v0: one.\n    fn f() {\n    }\n}\n\nconst C: u8 = 0;\n";
    let own = ("p.rs".to_string(), "use a::B;\n\n\nconst C: u8 = 0;\n".to_string());
    let v0 = ("p.rs#v0".to_string(), "//! v0: one.\nfn f() {\n}\n".to_string());
    assert_eq!(commit::sections("p.rs", text), [own, v0]);
}
