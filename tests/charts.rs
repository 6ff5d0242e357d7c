//! Charts of all archived profiles: no name is over another name or a dot, and each dot is there for a
//! pointer and for the keyboard.

mod common;

use std::path::PathBuf;

use gpp::chart::{self, Roofline};
use gpp::offdiag::records::{Folder, Matrices};
use gpp::profile;
use gpp::record::profile::{Ceilings, Profile};
use gpp::record::{self, SCHEMA};
use gpp::roofline::{FIGURES, LEVELS, Level, Timing, of_matrix_units, points};

/// The folders of the archive that hold profiles and ceilings.
fn folders() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = walkdir(&common::repository("data/runs"));
    found.sort();
    assert!(found.len() > 5, "{found:?}");
    found
}

fn walkdir(dir: &std::path::Path) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    let below = folders.iter().flat_map(|folder| walkdir(folder));
    let own = dir.join("ceilings.json").exists().then(|| dir.to_path_buf());
    below.chain(own).collect()
}

/// Profiles as the present layout has them: all levels known, both roofs measured.
fn with_all_levels(profiles: &[Profile], ceilings: &Ceilings) -> (Vec<Profile>, Ceilings) {
    let profiles = profiles.iter().enumerate().map(|(at, profile)| {
        let mut profile = Profile { schema: SCHEMA, ..profile.clone() };
        profile.bytes.l2 = profile.bytes.l2.map(|bytes| 0.68 * bytes);
        profile.bytes.shared = (at > 1).then_some(profile.bytes.l1.unwrap_or(1e9) * 0.9);
        profile
    });
    let sustained = Some(0.92 * ceilings.fp64);
    (profiles.collect(), Ceilings { fp64_sustained: sustained, ..ceilings.clone() })
}

/// Left, top, right, bottom of what a text may cover.
#[derive(Clone, Debug)]
struct Box([f64; 4], String);

impl Box {
    fn meets(&self, other: &Box) -> bool {
        let (a, b) = (self.0, other.0);
        a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
    }
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn number(element: &str, name: &str) -> f64 {
    attribute(element, name).and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
}

/// The texts that run to the right.
fn texts(svg: &str) -> Vec<Box> {
    let elements = svg.match_indices("<text").map(|(at, _)| &svg[at..]);
    let flat = elements.filter(|text| !text.split('>').next().unwrap().contains("rotate"));
    flat.map(|text| {
        let (tag, said) = text.split_once('>').unwrap();
        let said = said.split('<').next().unwrap().to_string();
        let (x, y, letters) = (number(tag, "x"), number(tag, "y"), number(tag, "font-size"));
        // Of DejaVu Sans, whose letters are high.
        let area = [x, y - 0.93 * letters, x + number(tag, "textLength"), y + 0.24 * letters];
        assert!(area.iter().all(|side| side.is_finite()), "{tag}");
        Box(area, said)
    })
    .collect()
}

/// The corners of a dot's polygon of a class.
fn corners(dot: &str, class: &str) -> Vec<(f64, f64)> {
    let at = dot.find(&format!("class=\"{class}\"")).unwrap();
    let points = attribute(&dot[at..], "points").unwrap();
    let place = |point: &str| {
        let (x, y) = point.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    points.split(' ').map(place).collect()
}

fn dots(svg: &str) -> Vec<&str> {
    svg.split("<g class=\"dot\"").skip(1).map(|dot| dot.split("</g>").next().unwrap()).collect()
}

/// Checks a chart of so many dots, each of which has an area of its own of so many pixels².
fn check(svg: &str, what: &str, expected: usize, least: f64) {
    let dots = dots(svg);
    assert_eq!(dots.len(), expected, "{what}");
    let mut taken: Vec<Box> = Vec::new();
    for dot in &dots {
        assert_eq!(attribute(dot, "tabindex"), Some("0"), "{what}");
        assert_eq!(attribute(dot, "role"), Some("img"), "{what}");
        let told = attribute(dot, "aria-label").unwrap();
        assert!(dot.contains(&format!("<title>{told}</title>")), "{what}: {told}");
        let version = attribute(dot, "data-version").unwrap();
        assert!(told.starts_with(version) && attribute(dot, "data-level").is_some(), "{told}");
        let mark = corners(dot, "mark");
        let side = |of: fn(&(f64, f64)) -> f64| {
            let values = mark.iter().map(of);
            (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max))
        };
        let ((left, right), (top, bottom)) = (side(|p| p.0), side(|p| p.1));
        taken.push(Box([left, top, right, bottom], told.into()));
        // A pointer finds a part of each dot.
        let hit = corners(dot, "hit");
        let area: f64 = (0..hit.len())
            .map(|i| (hit[i], hit[(i + 1) % hit.len()]))
            .map(|(a, b)| a.0 * b.1 - b.0 * a.1)
            .sum();
        assert!(hit.len() > 2 && area / 2.0 > least, "{what}: {told} has {} pixels²", area / 2.0);
    }
    let marks = taken.len();
    for text in texts(svg) {
        for other in &taken {
            assert!(!other.meets(&text), "{what}: `{}` is over `{}`", text.1, other.1);
        }
        let [left, top, right, bottom] = text.0;
        assert!(left >= 0.0 && top >= 0.0 && right <= 600.0 && bottom <= 460.0, "{what}: {text:?}");
        taken.push(text);
    }
    for dot in &dots {
        let version = attribute(dot, "data-version").unwrap();
        let named = |text: &Box| text.1.split(", ").any(|name| name == version);
        assert!(taken[marks..].iter().any(named), "{what}: {version} has no name");
    }
}

/// The dots of these profiles at these levels.
fn dots_at(levels: &[Level], profiles: &[&Profile]) -> usize {
    let timing = Timing::of(profiles.iter().copied());
    let all = profiles.iter().flat_map(|profile| points(profile, timing));
    all.filter(|point| levels.contains(&point.level)).count()
}

#[test]
fn names_are_over_nothing_in_any_chart_of_the_archive() {
    let mut drawn = 0;
    for folder in folders() {
        let archived = profile::load(&folder).unwrap();
        let ceilings: Ceilings = record::read(&folder.join("ceilings.json")).unwrap();
        let present = with_all_levels(&archived, &ceilings);
        for (profiles, ceilings) in [(archived, ceilings), present] {
            for figure in FIGURES {
                let shown = figure.of(&profiles);
                if shown.is_empty() {
                    continue;
                }
                let what = format!("{}: {}", folder.display(), figure.name);
                let title = figure.title(&shown);
                let expected = dots_at(figure.levels(), &shown);
                let (profiles, levels) = (&shown[..], figure.levels());
                let chart = Roofline { title: &title, profiles, ceilings: &ceilings, levels };
                check(&chart.svg().unwrap(), &what, expected, 4.0);
                drawn += 1;
            }
        }
    }
    assert!(drawn > 20, "{drawn}");
}

#[test]
fn versions_of_matrices_stand_under_the_peak_of_matrix_units() {
    let archived = |name| common::repository(&format!("data/runs/h200-2026-11-23/{name}"));
    let ceilings: Ceilings = record::read(&archived("si214/ceilings.json")).unwrap();
    let folder = Folder::load(&archived("offdiag")).unwrap();
    let of = Matrices::of(&folder, &ceilings).unwrap();
    let executed = of.executed();
    // 8 · 24 n · 11075 ig · 1385 igp · 128 l operations a launch; byte/s and ns of counters.csv, TFLOP/s of
    // si214-128.json.
    let launch = 376_968_192_000.0;
    for (at, version, bytes_per_s, ns, tflops) in [
        (0, "vector", 170_898_645_642.39, 32_364_864.0, 10.641_645_345_498_429),
        (3, "ring", 1_095_751_943_043.34, 7_061_088.0, 48.423_136_767_351_2),
        (5, "wide", 361_715_460_776.85, 5_882_240.0, 55.762_616_342_083_93),
    ] {
        let intensity = launch / (bytes_per_s * 1e-9 * ns);
        for (point, share) in [(&of.points[at], 1.0), (&executed[at], 0.75)] {
            assert_eq!((point.version.as_str(), point.level), (version, Level::Hbm));
            let near = |a: f64, b: f64| (a / b - 1.0).abs() <= 1e-12;
            assert!(near(point.intensity, share * intensity), "{point:?}");
            assert!(near(point.flops_per_s, share * 1e12 * tflops), "{point:?}");
        }
    }
    // 132 multiprocessors × 256 operations a clock × 1980 MHz.
    assert_eq!(of.matrix, Some(132.0 * 256.0 * 1.98e9));
    for capability in [Some("7.0"), Some("8.6"), None] {
        assert_eq!(of_matrix_units(&ceilings, capability), None);
    }
    // As the text says.
    assert!(executed[3..].iter().all(|point| point.flops_per_s > ceilings.fp64));
    let svg = chart::matrices(&of).unwrap().svg();
    check(&svg, "matrices", 12, 4.0);
    for named in [
        "FP64 matrix peak 66.9 TFLOP/s, by its clock",
        "measured FP64 vector peak 33.3 TFLOP/s",
        "HBM 4.5 TB/s",
        "executed, 6 of 8 operations",
    ] {
        assert!(svg.contains(named), "{named} is missing");
    }
    let without = chart::matrices(&Matrices { matrix: None, ..of }).unwrap().svg();
    assert!(without.contains("measured FP64 peak 33.3") && !without.contains("matrix peak"));
}

#[test]
fn the_roofs_and_the_clock_are_named() {
    let folder = common::repository("tests/data/records/si214");
    let profiles = profile::load(&folder).unwrap();
    let ceilings: Ceilings = record::read(&folder.join("ceilings.json")).unwrap();
    let drawn = |shown: &[&Profile], ceilings: &Ceilings, levels: &[Level]| {
        Roofline { title: "archived", profiles: shown, ceilings, levels }.svg().unwrap()
    };
    let shown: Vec<&Profile> = profiles.iter().collect();
    let svg = drawn(&shown, &ceilings, &LEVELS);
    // An older record has L2 with the fabric, which is named so.
    for named in ["measured FP64 peak 33.0 TFLOP/s", "L2+fabric", "times and ceilings: runs"] {
        assert!(svg.contains(named), "{named} is missing");
    }
    assert!(!svg.contains("data-level=\"L2\""));
    let hbm = drawn(&shown, &ceilings, &[Level::Hbm]);
    assert!(hbm.contains("data-level=\"HBM\"") && !hbm.contains("data-level=\"L1\""));
    let (profiles, ceilings) = with_all_levels(&profiles, &ceilings);
    let shown: Vec<&Profile> = profiles.iter().collect();
    let svg = drawn(&shown, &ceilings, &LEVELS);
    // One roof, whatever else is known of the peak.
    assert_eq!(svg.matches("FP64").count(), 1);
    assert!(svg.contains("data-level=\"shared\"") && svg.contains("data-level=\"L2\""));
    // One without a time of its own: all by the profiler's.
    let recorded: Vec<Profile> =
        profiles.iter().map(|p| Profile { time_s: None, ..p.clone() }).collect();
    let shown: Vec<&Profile> = recorded[..1].iter().chain(&profiles[1..]).collect();
    assert!(drawn(&shown, &ceilings, &LEVELS).contains("times: under the profiler"));
    // Alone it is read in the dark too; a page brings its own colours.
    assert!(svg.contains("prefers-color-scheme:dark"));
    let levels = &[Level::Hbm];
    let chart = Roofline { title: "in a page", profiles: &shown, ceilings: &ceilings, levels };
    assert!(!chart.inline().unwrap().contains("<style>"));
    for class in ["paper", "grid", "ink"] {
        assert!(svg.contains(&format!("class=\"{class}\"")), "{class}");
    }
}
