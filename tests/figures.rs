//! The texts' figures are those of the archive, and one that is not is found.

mod common;

use common::repository;
use gpp::figures::archive::Archive;
use gpp::figures::typed::typed;
use gpp::figures::{Difference, energies, fill, fill_all};

fn archive() -> Archive {
    Archive::open(&repository("")).unwrap()
}

/// The text as the archive has it, and what differed.
fn filled(text: &str) -> (String, Vec<Difference>) {
    fill(&archive(), text)
}

#[test]
fn texts_have_the_archive_s_figures() {
    let differing: Vec<String> = fill_all(&repository(""), &[])
        .unwrap()
        .iter()
        .flat_map(|f| f.differences.iter().map(move |found| format!("{}:{found}", f.file)))
        .collect();
    assert!(differing.is_empty(), "`gpp figures` corrects:\n{}", differing.join("\n"));
}

/// The cells of a table by their first words.
fn table(name: &str) -> Vec<Vec<String>> {
    let (text, _) = filled(&format!("<!-- figures: {name} -->\n<!-- /figures -->\n"));
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(2);
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|c| c.trim().into()).collect();
    rows.map(cells).collect()
}

/// What a GPU takes for many energies, and what the text says of it beside its table.
#[test]
fn many_energies_on_a_gpu_take_what_is_archived() {
    let runs = energies::runs(&archive()).unwrap();
    let rows = table("energies");
    assert_eq!(rows.len(), runs.len());
    let seconds = |nw: usize, id: &str| runs[&nw].passed_result(id).map(|of| of.times.median);
    let unit = seconds(2, "v13").unwrap();
    for (row, &nw) in rows.iter().zip(runs.keys()) {
        let result = runs[&nw].passed_result("sigma:blocks").unwrap();
        let blocks = result.times.median;
        let ms = |seconds: f64| format!("{:.1}", seconds * 1e3);
        assert_eq!(row[0], nw.to_string());
        assert_eq!(row[1], seconds(nw, "v13").map_or("–".into(), ms));
        assert_eq!(row[2..4], [ms(blocks), format!("{:.2}", blocks / unit)]);
        assert_eq!(row[4], format!("{:.2}", nw as f64 / blocks / (2.0 / unit)));
        assert_eq!(row[5], result.energy_j.map_or("–".into(), |joules| format!("{joules:.0}")));
        assert_eq!(row[6], format!("{:.1e}", result.verification.max_rel_error.unwrap()));
        let ends = runs[&nw].system.energies_ev.as_ref().unwrap();
        assert!(nw <= 6 || (ends[0], ends[nw - 1]) == (-10.0, 10.0), "{nw}");
    }
    assert_eq!(rows[1][7], "golden sums");

    let text = std::fs::read_to_string(repository("docs/many-energies.md")).unwrap();
    assert!(
        text.contains("up to six energies cost as much as one, and from five energies on it is")
    );
    let [one, six] = [1, 6].map(|nw| seconds(nw, "sigma:blocks").unwrap());
    assert!((six / one - 1.0).abs() < 0.05, "{one} {six}");
    for &nw in runs.keys() {
        let Some(v13) = seconds(nw, "v13") else { continue };
        let over = seconds(nw, "sigma:blocks").unwrap() / v13;
        match nw {
            ..4 => assert!(over > 1.1, "{nw}: {over}"),
            4 => assert!((over - 1.0).abs() < 0.1, "{nw}: {over}"),
            _ => assert!(over < 0.9, "{nw}: {over}"),
        }
    }
}

#[test]
fn rooflines_of_many_energies_are_of_their_profiles() {
    let profiled = energies::profiled(&archive()).unwrap();
    let rows = table("energies-roofline");
    assert_eq!(rows.len(), 2 * profiled.len());
    for (at, (version, (nw, records))) in ["v13", "sigma:blocks"]
        .into_iter()
        .flat_map(|version| profiled.iter().map(move |of| (version, of)))
        .enumerate()
    {
        let profile = records.profiles.iter().find(|of| of.version == version).unwrap();
        let peak = 100.0 * profile.rate() / records.ceilings.fp64;
        let row = &rows[at];
        assert_eq!(row[..2], [version.to_string(), nw.to_string()]);
        assert_eq!(row[2], format!("{:.1}", profile.rate() / 1e12));
        assert_eq!(row[3], format!("{peak:.0} %"));
        assert_eq!(row[4], format!("{:.0} %", 100.0 * profile.fma_ratio()));
        assert_eq!(row[5], format!("{:.1}", profile.flops() / profile.bytes.hbm));
        assert_eq!(row[7], format!("{:.1}", profile.flops() / profile.bytes.l1.unwrap()));
    }
    let rate = |row: &Vec<String>| row[2].parse::<f64>().unwrap();
    let (v13, blocks) = rows.split_at(profiled.len());
    assert!(v13.iter().zip(blocks).all(|(v13, blocks)| rate(blocks) < rate(v13)), "{rows:?}");
}

/// Sentences that stood in these texts when they were wrong, each put back at the end of its text.
#[test]
fn sentences_that_were_wrong_are_named_when_they_are_put_back() {
    let f = |name: &str, text: &str| format!("<!--f:{name}-->{text}<!--/f-->");
    let over = f("best over-cuda .1", "7.2");
    let wrong = [
        ("README.md", "And v13 is at the power cap again, at 80 % of the looks.".to_string()),
        ("README.md", "v0 to v7 are bound by the board's power: it holds their clock back whenever one looks.".into()),
        ("README.md", format!("One energy instead of three costs more, {} % are left.", f("scaling nw", "72"))),
        ("README.md", "One energy instead of three costs more, 72 % are left (86 % for complex poles).".into()),
        ("README.md", format!("Five more, v9 to v13, {over} times faster than v8 in CUDA C++.")),
        ("README.md", format!("In {} ms it is {over} × as fast.", f("time v13", "21.9"))),
        ("README.md", "H200: medians of at least 5 settled runs by GPU events.".into()),
        ("docs/distributed.md", "| weak, in place; from the host's memory | 98 %; 98 % |".into()),
        ("docs/distributed.md", "| devices, in place | 70.9 (101 %) |".into()),
        ("docs/distributed.md", "Fitted on up to two devices, the model is 1.2 % off at worst.".into()),
        ("docs/many-energies.md", "The power cap holds it back, at up to six energies.".into()),
        ("docs/past-the-paper.md", "The board's power, which holds v13 back at 80 % of the looks.".into()),
    ];
    let archive = archive();
    for (file, sentence) in wrong {
        let held = std::fs::read_to_string(repository(file)).unwrap();
        let text = format!("{}\n\n{sentence}\n", held.trim_end());
        let last = text.lines().count();
        let mut found = fill(&archive, &text).1;
        found.extend(typed(&text));
        let named = found.iter().filter(|difference| difference.line == last).count();
        assert!(named > 0, "{file}: {sentence}");
        assert_eq!(named, found.len(), "{file}: {:?}", found[0].to_string());
    }
}

#[test]
fn what_is_typed_needs_a_reason() {
    for (text, lines) in [
        ("It takes 20.5 ms.", &[1][..]),
        ("One\n\n| v0 | 20 % | 3 × |\n", &[3, 3]),
        ("A `20 ms` in code, [20 ms](x.md) in a link.\n\n```sh\nsleep 20 s\n```\n", &[1]),
        ("v0 to v7, 128 threads, 2³² elements, 10⁵ energies, rustc 1.95, Table 3", &[]),
        (
            "A bound, <!--t:of the formula-->128 W<!--/t-->, and <!--f:joules v0-->233<!--/f--> J.",
            &[],
        ),
        ("<!-- typed: of old -->\n\n20 ms\n\n<!-- /typed -->\n\n30 ms", &[7]),
        (
            "It is at its limit of power. v3 is, for <!--f:lost v3-->24<!--/f--> %, at the limit of power.",
            &[1],
        ),
        ("So it is the fastest of the nine.", &[1]),
        ("So <!--f:fastest paper-->v4<!--/f--> is the fastest of the nine.", &[]),
        ("# Above 20 ms\n", &[]),
    ] {
        let found: Vec<usize> = typed(text).iter().map(|difference| difference.line).collect();
        assert_eq!(found, lines, "{text}");
    }
}

#[test]
fn words_are_of_the_records() {
    let of = |name: &str| {
        let (_, found) = filled(&format!("a <!--f:{name}-->?<!--/f-->"));
        found[0].computed.clone()
    };
    let system = archive();
    let system = system.system("si214").unwrap();
    let time = |id: &str| system.result(id).unwrap().times.median;
    let fastest = of("fastest v0-v8").unwrap();
    assert!((0..=8).all(|at| time(&fastest) <= time(&format!("v{at}"))), "{fastest}");
    assert_eq!(of("fastest paper"), Ok(fastest));
    assert_eq!(of("fastest past"), Ok("v13".into()));
    let lost = |id: &str| system.result(id).unwrap().state.as_ref().unwrap().clock_lost().unwrap();
    let (capped, uncapped) = (of("capped v9").unwrap(), of("uncapped v9").unwrap());
    assert_eq!(
        (&*capped, &*uncapped),
        if lost("v9") < 0.005 { ("none", "v9") } else { ("v9", "none") }
    );
    assert!(of("cap v3").unwrap().starts_with("at its limit of power, for"));
    assert!(of("step v0 v1").unwrap().ends_with("% less time"));
    assert!(of("fastest v99").is_err() && of("capped talk").is_err());
}

#[test]
fn a_wrong_figure_is_named_and_corrected() {
    let text = "# Title\n\nv0 is <!--f:over v0 v0-->7<!--/f--> of itself.\n";
    let (right, differences) = filled(text);
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].to_string(), "3: over v0 v0: written `7`, computed `1.00`");
    assert_eq!(right, text.replace("-->7<", "-->1.00<"));
    assert_eq!(filled(&right), (right.clone(), vec![]));
}

#[test]
fn what_is_no_figure_is_left_as_it_is() {
    for (text, why) in [
        ("a <!--f:time v99-->1<!--/f-->", "no v99"),
        ("a <!--f:speed v0-->1<!--/f-->", "no quantity `speed`"),
        ("a <!--f:time v0 @si1-->1<!--/f-->", "no system `si1`"),
        ("a <!--f:more time v0 v1-->1<!--/f-->", "the other way round"),
        ("a <!--f:time v0-->1", "missing"),
        ("<!--f:time v0-->1<!--/f-->", "no Markdown"),
        ("<!-- figures: none -->\n<!-- /figures -->", "no such table"),
        ("[a](data/runs/none/none.txt)", "does not exist"),
    ] {
        let (same, differences) = filled(text);
        assert_eq!(same, text);
        assert_eq!(differences.len(), 1, "{text}");
        let said = differences[0].to_string();
        assert!(differences[0].computed.is_err() && said.contains(why), "{said}");
    }
}

#[test]
fn tables_and_links_follow() {
    let text = "<!-- figures: profiles @si214 v0,v8- -->\n<!-- /figures -->\n";
    let (table, differences) = filled(text);
    assert_eq!(differences.len(), 1);
    assert!(table.contains("\n| v0 |") && table.contains("\n| v9 |") && !table.contains("| v1 |"));
    assert_eq!(filled(&table).1, []);

    let folder = archive().folder("si214").to_string();
    let (link, _) = filled("see [it](data/runs/h200-0/si214/run.json) and data/runs/h200-0/x");
    assert_eq!(link, format!("see [it](data/runs/{folder}/si214/run.json) and data/runs/h200-0/x"));
}

#[test]
fn a_record_that_is_nowhere_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("data/runs");
    std::fs::create_dir_all(&runs).unwrap();
    let open = |map: &str| {
        std::fs::write(runs.join("figures.json"), map).unwrap();
        Archive::open(dir.path()).err().unwrap().to_string()
    };
    assert!(open(r#"{ "folder": "new" }"#).contains("si214 is not there"));
    assert!(open(r#"{ "folder": "new", "elsewhere": { "si1": "old" } }"#).contains("no record"));
}

/// What only a table wants is missed by that table.
#[test]
fn energies_that_are_nowhere_are_named_where_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("data/runs");
    std::fs::create_dir_all(&runs).unwrap();
    let held = archive();
    let mut elsewhere: serde_json::Map<String, serde_json::Value> = held
        .systems()
        .map(|(name, _)| (name.into(), held.path(name).parent().unwrap().to_str().into()))
        .collect();
    elsewhere.insert("energies".into(), "gone".into());
    let map = serde_json::json!({ "folder": "new", "elsewhere": elsewhere });
    std::fs::write(runs.join("figures.json"), map.to_string()).unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    for name in ["energies", "energies-roofline"] {
        let text = format!("<!-- figures: {name} -->\n<!-- /figures -->");
        let (same, differences) = fill(&archive, &text);
        assert_eq!(same, text);
        let said = differences[0].to_string();
        assert!(said.contains("gone/energies: No such file"), "{said}");
    }
}

#[test]
fn command_says_what_differs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("text.md");
    std::fs::write(&file, "v0 <!--f:over v0 v0-->7<!--/f-->\n").unwrap();
    let gpp = |arguments: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("gpp").unwrap();
        command.current_dir(repository(".")).arg("figures");
        command.args(arguments).arg(&file).assert()
    };
    let said = gpp(&["--check"]).code(1).get_output().stderr.clone();
    assert!(String::from_utf8(said).unwrap().contains("text.md:1: over v0 v0: written `7`"));
    gpp(&[]).success();
    gpp(&["--check"]).success();
}
