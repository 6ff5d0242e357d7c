//! What a shell, a profiler and a file of another format are told.

use std::fs;

use crate::{gpp, text};
use predicates::str::contains;

#[test]
fn files_of_other_formats_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let hdf5 = text(dir.path().join("eps.h5"));
    fs::write(&hdf5, b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0").unwrap();
    for (arguments, part) in [
        (&["--input", &hdf5][..], "eps.h5: is an HDF5 file, and no input file: that begins with"),
        (&["table", "--from", &hdf5], "eps.h5: cannot read: it is an HDF5 file, no text"),
    ] {
        gpp().args(arguments).assert().code(2).stdout("").stderr(contains(part));
    }
}

#[test]
fn the_ptx_of_a_version_is_a_module_of_its_kernels() {
    let ptx = |arguments: &[&str]| {
        let output = gpp().arg("ptx").args(arguments).assert();
        let output = output.get_output().clone();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    if gpp::devices::gpu::NO_KERNELS.is_some() {
        assert_eq!(ptx(&["v4"]).0, Some(3));
        return;
    }
    let entries = |text: &str| -> Vec<String> {
        let begin = ".visible .entry ";
        let names = text.lines().filter_map(|line| line.strip_prefix(begin));
        names.map(|rest| rest.split('(').next().unwrap().to_string()).collect()
    };
    let (code, v4) = ptx(&["v4"]);
    assert_eq!(code, Some(0));
    assert!(v4.starts_with(".version ") && v4.contains(".target sm_"), "{}", &v4[..200]);
    let kernels = gpp::catalogue::find("v4").unwrap().gpu().unwrap().kernels;
    let known = kernels.iter().flat_map(|kernel| kernel.entries).map(|entry| entry.symbol);
    assert_eq!(entries(&v4), known.collect::<Vec<_>>());
    let (_, one) = ptx(&["gpp_v4_nw2"]);
    assert_eq!(entries(&one), ["gpp_v4_nw2"]);
    assert!(v4.contains(one.split_once(".visible").unwrap().1.trim()));
}
