//! The PTX as the program holds it: each kernel is packed alone, so that a run unpacks no more than it loads.

use std::fs;
use std::path::Path;

use miniz_oxide::deflate::compress_to_vec;

const ENTRY: &str = ".visible .entry ";

/// How hard to pack. The highest level saves one percent more and takes twice as long.
const LEVEL: u8 = 6;

/// Rust for two values: what is outside of kernels, and each kernel's symbol with its packed text, a file of `folder`.
pub fn list(ptx: &str, folder: &Path) -> String {
    fs::create_dir_all(folder).expect("the folder can be made");
    let (mut shared, mut kernels) = (String::new(), String::new());
    for part in ptx.split_inclusive("\n}\n") {
        let (outside, kernel) = part.split_at(part.find(ENTRY).unwrap_or(part.len()));
        shared += outside;
        let Some(rest) = kernel.strip_prefix(ENTRY) else { continue };
        let symbol = rest.split('(').next().unwrap_or_default();
        let file = folder.join(symbol);
        fs::write(&file, compress_to_vec(kernel.as_bytes(), LEVEL)).expect("it can be written");
        kernels += &format!("({symbol:?}, include_bytes!({:?})),\n", file.display().to_string());
    }
    format!("({shared:?}, &[\n{kernels}])\n")
}
