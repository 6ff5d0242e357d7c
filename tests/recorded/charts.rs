//! Charts of all archived profiles: each version has its name and a point for each level, in SVG and in PNG.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use gpp::chart::{Chart, Roofline};
use gpp::offdiag::records::Folder;
use gpp::profile;
use gpp::record::{self, Ceilings, Profile};
use gpp::roofline::{Figure, Level, figures, of_matrix_units};

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

fn check(svg: &str, what: &str, versions: &[&str]) {
    assert!(svg.contains("viewBox=\"0 0 640 480\"") && svg.contains("role=\"img\""), "{what}");
    let texts = texts(svg);
    let mut heights: Vec<f64> = Vec::new();
    for version in versions {
        let named = |(text, x, _): &&(&str, f64, f64)| text == version && *x > 320.0;
        let found: Vec<_> = texts.iter().filter(named).collect();
        assert_eq!(found.len(), 1, "{what}: {version}");
        heights.push(found[0].2);
    }
    heights.sort_by(f64::total_cmp);
    assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= 14.0), "{what}: {heights:?}");
    assert!(heights.iter().all(|height| (66.0..426.0).contains(height)), "{what}: {heights:?}");
    for unit in ["arithmetic intensity [FLOP/byte]", "FLOP/s"] {
        assert!(texts.iter().any(|(text, ..)| text.ends_with(unit)), "{what}: {unit}");
    }
}

fn ids<'a>(profiles: &[&'a Profile]) -> Vec<&'a str> {
    profiles.iter().map(|profile| profile.version.as_str()).collect()
}

#[test]
fn all_versions_are_named_in_any_chart_of_the_archive() {
    let mut drawn = 0;
    for folder in folders() {
        let (profiles, ceilings) = load(&folder);
        for Figure { name, title, shown, level } in figures(&profiles) {
            let what = format!("{}: {name}", folder.display());
            let svg = Roofline::of(&title, &shown, &ceilings, level).svg();
            if level != Level::Shared {
                check(&svg, &what, &ids(&shown));
            }
            assert!(texts(&svg).iter().any(|(text, ..)| text.ends_with(&title)), "{what}");
            drawn += 1;
        }
    }
    assert!(drawn > 10, "{drawn}");
}

#[test]
fn points_are_where_they_are_in_either_kind_of_picture() {
    let (profiles, ceilings) = load(&archive("si214"));
    let shown: Vec<&Profile> = profiles.iter().collect();
    let chart = Roofline::of("all", &shown, &ceilings, Level::Hbm);
    let mut reader = png::Decoder::new(Cursor::new(chart.png())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let picture = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((picture.width, picture.height), chart.size());
    let svg = chart.svg();
    let circles = svg.split("<circle ").skip(1).map(|tag| tag.split('"').collect::<Vec<_>>());
    // Every second part is a value: x, y, radius, opacity, colour.
    let circles: Vec<_> = circles.collect();
    assert_eq!(circles.len(), shown.len());
    for circle in &circles {
        let [x, y] = [1, 3].map(|part| circle[part].parse::<usize>().unwrap());
        let at = y * picture.line_size + 3 * x;
        let [r, g, b] = pixels[at..at + 3] else { unreachable!() };
        let color = format!("#{r:02X}{g:02X}{b:02X}");
        assert!(circles.iter().any(|other| other[9] == color), "{circle:?}: {color}");
    }
}

#[test]
fn points_that_cannot_be_drawn_are_counted_and_the_others_drawn() {
    let (mut profiles, ceilings) = load(&archive("si214"));
    profiles[0].bytes.hbm = 0.0;
    let shown: Vec<&Profile> = profiles.iter().collect();
    let svg = Roofline::of("all", &shown, &ceilings, Level::Hbm).svg();
    assert!(svg.contains("points not drawn: 1; slope: HBM"));
    check(&svg, "the others", &ids(&shown[1..]));
}

#[test]
fn versions_of_matrices_stand_under_the_peak_of_matrix_units() {
    let (_, ceilings) = load(&archive("si214"));
    let folder = Folder::load(&archive("offdiag")).unwrap();
    let of = Roofline::of_matrices(&folder, &ceilings).unwrap();
    // 8 · 24 n · 11075 ig · 1374 igp · 128 l operations a launch; byte/s and ns of counters.csv, TFLOP/s of
    // si214-128.json.
    let launch = 373_974_220_800.0;
    for (at, version, bytes_per_s, ns, tflops) in [
        (0, "vector", 140_536_901_880.95, 39_986_688.0, 10.747_833_868_824_847),
        (3, "ring", 916_766_208_512.94, 8_656_192.0, 48.097_891_850_606_32),
        (5, "wide", 294_186_281_358.6, 7_237_568.0, 55.969_928_968_380_86),
    ] {
        let intensity = launch / (bytes_per_s * 1e-9 * ns);
        for (point, share) in [(&of.counted[at], 1.0), (&of.executed[at], 0.75)] {
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
    assert!(of.executed[3..].iter().all(|point| point.flops_per_s > ceilings.fp64));
    let svg = of.svg();
    let versions: Vec<&str> = of.counted.iter().map(|point| &*point.version).collect();
    check(&svg, "matrices", &versions);
    for named in [
        "FP64 matrix peak 66.9 TFLOP/s, by its clock",
        "FP64 vector peak 33.3 TFLOP/s",
        "HBM 3.1 TB/s",
        "the 6 operations executed where 8 are counted",
    ] {
        assert!(svg.contains(named), "{named} is missing");
    }
    let without = Roofline { matrix: None, ..of }.svg();
    assert!(without.contains("FP64 peak 33.3") && !without.contains("matrix peak"));
}
