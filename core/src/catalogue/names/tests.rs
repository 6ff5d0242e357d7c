use super::*;

#[test]
fn ids_ranges_best_and_all() {
    let ids = |names: &str| -> Vec<&str> {
        versions(names, BackEnd::Gpu).unwrap().iter().map(|version| version.id()).collect()
    };
    assert_eq!(ids("v3"), ["v3"]);
    assert_eq!(ids("v1-v3, v8"), ["v1", "v2", "v3", "v8"]);
    assert_eq!(ids("v2,v1-v2"), ["v2", "v1"]);
    let runs = |back_end| versions("v0,all", back_end).unwrap().len();
    let made_for_gpus = |listed: &Listed| listed.kernel.back_end() == BackEnd::Gpu;
    assert_eq!(runs(BackEnd::Gpu), all().filter(made_for_gpus).count());
    assert_eq!(runs(BackEnd::Cpu), all().count());
    for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
        let named = single("--version", "best", back_end).unwrap();
        assert_eq!(named.id(), best(back_end).id());
    }
    assert_eq!(ids("v0-v14"), ids(MAIN));
    assert_eq!(ids("v8-v9,blog:step3"), ["v8", "v9", "blog:step3"]);
    assert_eq!(ids("talk:V1-V9"), ids("talk:V1-talk:V9"));
    assert_eq!(ids("blog"), ids("blog:baseline-step4"));
    assert_eq!(ids("talk:V9-bgw"), ["talk:V9", "talk:bgw"]);
    for journey in JOURNEYS {
        assert_eq!(ids(journey.id), journey.ids());
        assert_eq!(ids(&format!("{}:best", journey.id)), [journey.best]);
    }
    for wrong in ["", "v8-v0", "v0-x", "8", "v0,", "v0..v8", "v0-talk:V1", "talk:V9-V1", "talk:"] {
        assert!(versions(wrong, BackEnd::Gpu).is_err(), "{wrong}");
    }
    assert!(single("--version", "v0,v1", BackEnd::Gpu).is_err());
}

#[test]
fn what_was_meant() {
    let nearest = |name: &str| match versions(name, BackEnd::Gpu) {
        Err(Error::Unknown { nearest, .. }) => nearest,
        _ => panic!("{name} is known, or no name"),
    };
    assert_eq!(nearest("8"), "v8");
    assert_eq!(nearest("talk:v7"), "talk:V7");
    assert_eq!(nearest("step3"), "blog:step3");
    assert_eq!(nearest("blog:step5-step6"), "blog:step4");
    assert_eq!(nearest("blogs"), "blog");
}
