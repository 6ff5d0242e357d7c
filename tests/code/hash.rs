//! What tells a kernel's code from another's.

use gpp::devices::gpu::Ptx;

use crate::{RECORDED, compiler};

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
    assert_eq!(crate::build::commit::sources::sections("p.rs", text), [own, v0]);
}
