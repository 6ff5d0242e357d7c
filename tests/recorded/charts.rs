//! Charts of archived records: the pictures of the docs, and all rooflines.

use std::fs;
use std::path::{Path, PathBuf};

use gpp::chart::{Chart, rooflines};
use gpp::record::{self, Ceilings, Profile};
use gpp::table::{bars, bars_of_matrices};

use crate::common::{json, repository};

pub fn load(folder: &Path) -> (Vec<Profile>, Ceilings) {
    (gpp::profile::load(folder).unwrap(), record::read(&folder.join("ceilings.json")).unwrap())
}

/// `gpp table --plot` and `gpp roofline` draw them.
#[test]
fn pictures_are_those_of_their_records() {
    let is_picture = |name: &str, chart: &dyn Fn(&Path) -> String, of: &str| {
        let picture = fs::read_to_string(repository(&format!("docs/images/{name}.svg"))).unwrap();
        let drawn = chart(&repository(&format!("data/runs/{of}")));
        assert!(picture == drawn, "docs/images/{name}.svg is not of {of}");
    };
    let times = |path: &Path| {
        let run: gpp::record::run::RunRecord = record::read(path).unwrap();
        bars(&run, &run.results).svg()
    };
    is_picture("times", &times, "h200-2026-11-28/si214/run.json");
    is_picture("single", &times, "h200-2026-11-28/si214-single/run.json");
    is_picture("cpu", &times, "cpu-2026-11-27/demo/run.json");
    let matrices = |path: &Path| bars_of_matrices(&record::read(path).unwrap()).svg();
    is_picture("matrix", &matrices, "h100-2026-11-27/offdiag/si214-128.json");
    let roofline = |folder: &Path| {
        let (profiles, ceilings) = load(folder);
        rooflines(&profiles, &ceilings)[0].svg()
    };
    is_picture("roofline", &roofline, "h200-2026-11-28/si214");
}

#[test]
fn rooflines_have_a_point_and_a_name_for_each_version() {
    let all = json(&repository("data/runs")).into_iter();
    let found: Vec<PathBuf> = all.filter(|path| path.ends_with("ceilings.json")).collect();
    let mut drawn = 0;
    for folder in found.iter().filter_map(|path| path.parent()) {
        let (profiles, ceilings) = load(folder);
        for profile in &profiles {
            let calculations = profile.time_s.map_or(1.0, |time| profile.duration_s / time);
            assert!(
                (0.6..1.6).contains(&calculations),
                "{}: {}",
                folder.display(),
                profile.version
            );
        }
        for chart in rooflines(&profiles, &ceilings) {
            let (what, svg) = (format!("{}: {}", folder.display(), chart.name), chart.svg());
            assert_eq!(svg.matches("<circle ").count(), chart.points.len(), "{what}");
            for point in &chart.points {
                let name = format!(">\n{}\n</text>", point.version);
                assert_eq!(svg.matches(&name).count(), 1, "{what}: {}", point.version);
            }
            drawn += 1;
        }
    }
    assert!(drawn > 10, "{drawn}");
}

#[test]
fn points_that_cannot_be_drawn_are_counted_and_the_others_drawn() {
    let (mut profiles, ceilings) = load(&crate::archive("si214"));
    profiles[0].bytes.hbm = 0.0;
    let svg = rooflines(&profiles, &ceilings)[0].svg();
    assert!(svg.contains("points not drawn: 1; slope: HBM"));
    assert_eq!(svg.matches("<circle ").count(), profiles.len() - 1);
}
