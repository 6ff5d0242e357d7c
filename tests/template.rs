//! The template of docs/internals.md builds and, where there is a ptxas, assembles; docs and template say one thing.

mod common;

use std::path::Path;
use std::process::Command;

use assert_cmd::output::OutputOkExt;
use common::repository;
use gpp::devices::gpu::NO_KERNELS;
use libtest_mimic::{Arguments, Failed, Trial};

#[allow(dead_code, reason = "the build script uses all of it")]
#[path = "../core/build/compiler.rs"]
mod compiler;

const TEMPLATE: &str = "examples/template-kernel";

fn main() {
    let trials = vec![
        Trial::test("it builds and assembles", builds).with_ignored_flag(NO_KERNELS.is_some()),
        Trial::test("the docs quote it", quoted),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn builds() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("template");
    // Cargo's own files are where a configuration says.
    std::fs::create_dir_all(folder.join("kernel/src"))?;
    std::fs::create_dir_all(folder.join(".cargo"))?;
    for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs"] {
        std::fs::copy(repository(TEMPLATE).join(file), folder.join("kernel").join(file))?;
    }
    std::fs::write(folder.join(".cargo/config.toml"), "[build]\nbuild-dir = \"elsewhere\"\n")?;
    let target = folder.join("target");
    let built = compiler::first_that_builds(&compiler::all(), &folder.join("kernel"), &target)?;
    for part in [".visible .entry axpy(", "fma.rn.f64", "%ctaid.x"] {
        assert!(built.ptx.contains(part), "by {} no {part}:\n{}", built.version, built.ptx);
    }
    let ptxas = std::env::var_os("GPP_PTXAS").unwrap_or("ptxas".into());
    if Command::new(&ptxas).arg("--version").output().is_err() {
        println!("no ptxas here: it is not assembled");
        return Ok(());
    }
    let file = target.join("axpy.ptx");
    std::fs::write(&file, &built.ptx)?;
    for architecture in ["sm_70", "sm_90"] {
        let mut assemble = Command::new(&ptxas);
        assemble.args(["-arch", architecture, "-o", "/dev/null"]).arg(&file).ok()?;
    }
    Ok(())
}

fn quoted() -> Result<(), Failed> {
    let docs = std::fs::read_to_string(repository("docs/internals.md"))?;
    let source = std::fs::read_to_string(repository(TEMPLATE).join("src/lib.rs"))?;
    let blocks: Vec<&str> =
        docs.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 1);
    for block in blocks {
        assert!(source.contains(block.trim_end()), "not in the template:\n{block}");
    }
    Ok(())
}
