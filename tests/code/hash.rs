//! What tells a kernel's code from another's, on what two compilers wrote: see `tests/build.rs`.

#[path = "../../build/bounds.rs"]
mod bounds;
#[path = "../../build/inlining.rs"]
mod inlining;
#[path = "../../build/line_table.rs"]
mod line_table;
#[path = "../../build/ptx.rs"]
mod ptx;
#[allow(dead_code, reason = "the build script lists files with it")]
#[path = "../../build/sources.rs"]
mod sources;

use gpp::catalogue::sources::{SourceFile, all, hash_at, of};
use gpp::devices::gpu::ptx::Ptx;

const RECORDED: [&str; 2] =
    [include_str!("../data/rustc-1.95.ptx"), include_str!("../data/rustc-1.96.ptx")];

#[test]
fn a_hash_is_of_the_code_alone() {
    for ptx in RECORDED {
        let finished = ptx::finished(ptx);
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

/// The hashes of all sources, with one text in place of another's.
fn hashes(changed: &str, text: impl Fn(&str) -> String) -> Vec<(&'static str, String)> {
    let files: Vec<SourceFile> = all().collect();
    let texts = files.iter().map(|file| {
        let own = if file.path == changed { text(file.text) } else { file.text.into() };
        (file.path.to_string(), own)
    });
    let texts: Vec<(String, String)> = texts.collect();
    files.iter().map(|file| file.path).zip(sources::hashes(&texts)).collect()
}

/// Files whose hash changes with a text.
fn touched(path: &str, text: impl Fn(&str) -> String) -> Vec<&'static str> {
    let now = hashes(path, text);
    let other = now.into_iter().filter(|(path, hash)| hash_at(path).as_ref() != Some(hash));
    other.map(|(path, _)| path).collect()
}

#[test]
fn a_source_s_hash_is_of_its_code_and_what_that_uses() {
    let file = |id: &str| of(id).unwrap().path;
    let (v3, v13, paired) = (file("v3"), file("v13"), file("cpu:paired"));
    let comment = |text: &str| format!("// One more.\n{text}");
    let test = |text: &str| format!("{text}\n#[cfg(test)]\nmod more {{ fn one() {{}} }}\n");
    let code = |text: &str| format!("{text}\nconst ONE_MORE: u32 = 1;\n");
    for path in [v3, "kernels/src/formula.rs", "cpu/src/planned.rs"] {
        assert_eq!(touched(path, comment), [""; 0]);
        assert_eq!(touched(path, test), [""; 0]);
    }
    // What v13 says of itself is nothing to v3, what v3 uses is something to both.
    let of_v13 = touched(v13, code);
    assert!(
        of_v13.contains(&v13) && !of_v13.contains(&v3) && !of_v13.contains(&paired),
        "{of_v13:?}"
    );
    let of_formula = touched("kernels/src/formula.rs", code);
    assert!(of_formula.contains(&v3), "{of_formula:?}");
    let of_staging = touched("kernels/src/staging.rs", code);
    assert!(of_staging.contains(&v13) && !of_staging.contains(&v3), "{of_staging:?}");
    let of_planned = touched("cpu/src/planned.rs", code);
    assert!(of_planned.contains(&paired) && !of_planned.contains(&v13), "{of_planned:?}");
}
