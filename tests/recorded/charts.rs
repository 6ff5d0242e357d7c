//! Charts of all archived profiles: each version has its name and a point for each level.

use std::path::{Path, PathBuf};

use gpp::chart::{Chart, Roofline, rooflines};
use gpp::profile;
use gpp::record::run::RunRecord;
use gpp::record::{self, Ceilings, Profile};
use gpp::table::{bars, bars_of_matrices};

use crate::common::{json, repository};
use crate::{archive, attribute};

/// Profiles of a folder, and its ceilings.
pub fn load(folder: &Path) -> (Vec<Profile>, Ceilings) {
    let ceilings = record::read(&folder.join("ceilings.json")).unwrap();
    (profile::load(folder).unwrap(), ceilings)
}

fn folders() -> Vec<PathBuf> {
    let all = json(&repository("data/runs")).into_iter();
    let found: Vec<PathBuf> = all.filter(|path| path.ends_with("ceilings.json")).collect();
    assert!(found.len() >= 4, "{found:?}");
    found.iter().map(|path| path.parent().unwrap().to_path_buf()).collect()
}

fn texts(svg: &str) -> Vec<(&str, f64, f64)> {
    let elements = svg.split("<text").skip(1).map(|text| text.split_once('>').unwrap());
    let number = |tag, name| attribute(tag, name).unwrap().parse().unwrap();
    elements
        .map(|(tag, rest)| {
            assert!(tag.contains("font-family=\"sans-serif\""), "{tag}");
            (rest.split('<').next().unwrap().trim(), number(tag, "x"), number(tag, "y"))
        })
        .collect()
}

fn check(svg: &str, what: &str, versions: &[String]) {
    assert!(svg.contains("viewBox=\"0 0 640 480\"") && svg.contains("role=\"img\""), "{what}");
    let texts = texts(svg);
    let number = |tag: &str, name| attribute(tag, name).unwrap().parse::<f64>().unwrap();
    let points = svg.split("<circle ").skip(1).map(|tag| format!(" {tag}"));
    let points: Vec<_> = points.map(|tag| (number(&tag, "cx"), number(&tag, "cy"))).collect();
    assert_eq!(points.len(), versions.len(), "{what}");
    let mut names = Vec::new();
    for (version, point) in versions.iter().zip(points) {
        let found: Vec<_> = texts.iter().filter(|(text, ..)| text == version).collect();
        assert_eq!(found.len(), 1, "{what}: {version}");
        let &(_, x, y) = found[0];
        let wide = 9.0 * version.len() as f64;
        assert!((66.0..624.0).contains(&x) && (66.0..426.0).contains(&y), "{what}: {version}");
        let distance = (x - point.0).hypot(y - point.1);
        assert!(distance < 100.0 + wide, "{what}: {version} is {distance} pixels from its point");
        names.push((x, y, wide));
    }
    for (at, a) in names.iter().enumerate() {
        let meets =
            |b: &&(f64, f64, f64)| 2.0 * (a.0 - b.0).abs() < a.2 + b.2 && (a.1 - b.1).abs() < 16.0;
        assert_eq!(names[at + 1..].iter().find(meets), None, "{what}: {}", versions[at]);
    }
    for unit in ["arithmetic intensity [FLOP/byte]", "FLOP/s"] {
        assert!(texts.iter().any(|(text, ..)| text.ends_with(unit)), "{what}: {unit}");
    }
}

fn ids(chart: &Roofline) -> Vec<String> {
    chart.points.iter().map(|point| point.version.clone()).collect()
}

#[test]
fn all_versions_are_named_in_any_chart_of_the_archive() {
    let mut drawn = 0;
    for folder in folders() {
        let (profiles, ceilings) = load(&folder);
        for chart in rooflines(&profiles, &ceilings) {
            let (what, svg) = (format!("{}: {}", folder.display(), chart.name), chart.svg());
            check(&svg, &what, &ids(&chart));
            assert_eq!(svg.matches("<circle ").count(), chart.points.len(), "{what}");
            assert!(texts(&svg).iter().any(|(text, ..)| *text == chart.title), "{what}");
            drawn += 1;
        }
    }
    assert!(drawn > 10, "{drawn}");
}

#[test]
fn bars_have_the_lengths_of_times() {
    let run: RunRecord = record::read(&archive("si214/run.json")).unwrap();
    check_bars(&run);
    // Each series has its colour.
    let of = "h200-2026-11-28/si214-single/run.json";
    let run: RunRecord = record::read(&repository(&format!("data/runs/{of}"))).unwrap();
    let svg = check_bars(&run);
    for (color, name, count) in [("127CF4", "new", 1), ("C75E00", "single", 4)] {
        // The bars, and the square of the legend.
        let filled = svg.matches(&format!("fill=\"#{color}\"")).count();
        assert_eq!(filled, count + 1, "{name}");
        assert!(texts(&svg).iter().any(|(text, ..)| *text == name), "{name}");
    }
}

#[test]
fn the_picture_of_matrices_is_that_of_its_record() {
    let of = "data/runs/h100-2026-11-27/offdiag/si214-128.json";
    let chart = bars_of_matrices(&record::read(&repository(of)).unwrap());
    assert_eq!(chart.bars.len(), 6);
    let picture = std::fs::read_to_string(repository("docs/images/matrix.svg")).unwrap();
    assert!(picture == chart.svg(), "gpp table --from {of} --plot docs/images/matrix.svg draws it");
}

fn check_bars(run: &RunRecord) -> String {
    let chart = bars(run, &run.results);
    let svg = chart.svg();
    let width = |element: &str| attribute(element, "width").unwrap().parse::<f64>().unwrap();
    let filled = svg.split("<rect ").skip(2).filter(|rect| !rect.contains("height=\"12\""));
    let widths: Vec<f64> = filled.map(|rect| width(&format!(" {rect}"))).collect();
    assert_eq!(widths.len(), run.results.len());
    for (width, (name, ms)) in widths.iter().zip(&chart.bars) {
        let expected = ms / chart.bars[0].1 * widths[0];
        assert!((width - expected).abs() <= 2.0, "{name}: {width}, not {expected}");
        let is_there = |wanted: &str| texts(&svg).iter().any(|(text, ..)| *text == wanted);
        assert!(is_there(&format!("{ms:.1}")) && is_there(name), "{name}");
    }
    svg
}

#[test]
fn points_that_cannot_be_drawn_are_counted_and_the_others_drawn() {
    let (mut profiles, ceilings) = load(&archive("si214"));
    profiles[0].bytes.hbm = 0.0;
    let chart = &rooflines(&profiles, &ceilings)[0];
    let (svg, ids) = (chart.svg(), ids(chart));
    assert!(svg.contains("points not drawn: 1; slope: HBM"));
    assert_eq!(ids.len(), profiles.len());
    check(&svg, "the others", &ids[1..]);
}
