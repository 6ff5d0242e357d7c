use super::*;

#[test]
fn the_fastest_runs_on_the_device_and_wastes_little() {
    let id = |on: (u32, u32), bands| fastest(on.into(), bands).map(|version| version.id);
    assert_eq!(id((6, 1), 64), None);
    let found = [(7, 0), (7, 5), (8, 0), (8, 9)].map(|capability| id(capability, 64).unwrap());
    assert_eq!(found, ["vector", "vector", "m8n8k4", "m8n8k4"]);
    assert_eq!(id((12, 0), 64), Some("m16n8k8"));
    for (version, bands) in [
        ("ring", [1, 32, 65, 80, 145, 160].as_slice()),
        ("m16n8k16", &[33, 48, 81, 96, 144, 161, 192, 240, 384]),
        ("wide", &[49, 64, 97, 112, 113, 128, 250, 256, 512, 1024]),
    ] {
        for &bands in bands {
            assert_eq!(id((9, 0), bands), Some(version), "{bands}");
        }
    }
}
