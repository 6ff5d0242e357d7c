//! Libraries in the way of the driver's.

/// A folder that `LD_LIBRARY_PATH` has to name, with a stand-in that may lack a function.
pub fn driver(lacks: Option<&str>) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let other = format!("-D{}=no_function", lacks.unwrap_or("no_function"));
    compiled("tests/data/libcuda.c", &folder.path().join("libcuda.so.1"), &[&other])?;
    Ok(folder)
}

pub fn compiled(source: &str, to: &std::path::PathBuf, options: &[&str]) -> std::io::Result<()> {
    let mut cc = std::process::Command::new("cc");
    cc.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"]);
    let output = cc.args([to, &super::repository(source)]).arg("-ldl").args(options).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(std::io::Error::other(errors.into_owned())) }
}
