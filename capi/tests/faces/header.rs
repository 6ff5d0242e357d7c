//! The header.

use std::env;
use std::fs;

use crate::Outcome;
use crate::built::{compile, has, package};

/// Opens a device for a program that is compiled with this header.
const OPEN: &str =
    "#define gpp_open(device, handle) gpp_open_version(device, GPP_VERSION, 0, handle)";

/// As committed: what cbindgen makes of the sources.
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

/// Alone, with all warnings.
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
