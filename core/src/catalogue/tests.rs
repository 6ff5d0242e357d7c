use super::*;

#[test]
fn what_the_table_states_exists() {
    for series in SERIES {
        let ids = series.ids();
        assert!(ids.contains(&series.baseline), "{}", series.id);
        assert!(ids.contains(&series.best), "{}", series.id);
    }
    for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
        let best = best(back_end).id();
        assert_eq!(series_of(best).unwrap().best, best);
    }
}

#[test]
fn ids_ranges_best_and_versions() {
    let ids = |names: &str| -> Vec<&str> {
        named(names, BackEnd::Gpu).unwrap().iter().map(|version| version.id()).collect()
    };
    assert_eq!(ids("v3"), ["v3"]);
    assert_eq!(ids("v1-v3, v8"), ["v1", "v2", "v3", "v8"]);
    assert_eq!(ids("v2,v1-v2"), ["v2", "v1"]);
    let runs = |back_end| named("v0,all", back_end).unwrap().len();
    let made_for_gpus = |listed: &Listed| listed.kernel.back_end() == BackEnd::Gpu;
    assert_eq!(runs(BackEnd::Gpu), versions().filter(made_for_gpus).count());
    assert_eq!(runs(BackEnd::Cpu), versions().count());
    for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
        let best_named = single("--version", "best", back_end).unwrap();
        assert_eq!(best_named.id(), best(back_end).id());
    }
    assert_eq!(ids("v0-v14"), ids(MAIN));
    assert_eq!(ids("v8-v9,blog:step3"), ["v8", "v9", "blog:step3"]);
    assert_eq!(ids("talk:V1-V9"), ids("talk:V1-talk:V9"));
    assert_eq!(ids("blog"), ids("blog:baseline-step4"));
    assert_eq!(ids("talk:V9-bgw"), ["talk:V9", "talk:bgw"]);
    for series in SERIES {
        assert_eq!(ids(series.id), series.ids());
        assert_eq!(ids(&format!("{}:best", series.id)), [series.best]);
    }
    for wrong in ["", "v8-v0", "v0-x", "8", "v0,", "v0..v8", "v0-talk:V1", "talk:V9-V1", "talk:"] {
        assert!(named(wrong, BackEnd::Gpu).is_err(), "{wrong}");
    }
    assert!(single("--version", "v0,v1", BackEnd::Gpu).is_err());
}

#[test]
fn what_was_meant() {
    let nearest = |name: &str| match named(name, BackEnd::Gpu) {
        Err(Error::Unknown { nearest, .. }) => nearest,
        _ => panic!("{name} is known, or no name"),
    };
    assert_eq!(nearest("talk:v7"), "talk:V7");
    assert_eq!(nearest("step3"), "blog:step3");
    assert_eq!(nearest("blog:step5-step6"), "blog:step4");
    assert_eq!(nearest("blogs"), "blog");
}

#[test]
fn every_version_has_a_file_whose_header_names_its_lines() {
    let mut paths = Vec::new();
    for listed in versions() {
        let id = listed.id();
        let file = sources::of(id).unwrap_or_else(|| panic!("{id}"));
        let header = file.header();
        assert!(header[0].contains(": ") && header[0].ends_with('.'), "{header:?}");
        assert!(!header.concat().contains(['[', ']']), "{header:?}");
        paths.push(file.path);
        let lines = sources::changed(id).unwrap_or_else(|| panic!("{id} names no lines"));
        let in_nest = |line: &usize| (1..=sources::NEST.len()).contains(line);
        let is_sorted = lines.is_sorted_by(|a, b| a < b);
        assert!(is_sorted && lines.iter().all(in_nest), "{id}: {lines:?}");
    }
    let count = paths.len();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), count);
    assert_eq!((sources::of("none"), sources::changed("none")), (None, None));
    assert_eq!(sources::changed("v3"), Some(vec![9]));
    assert_eq!(sources::changed("v8"), Some(vec![]));
}
