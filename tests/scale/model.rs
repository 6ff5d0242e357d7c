//! The model, of points that took as long as it says, and what is shown of them.

use std::fs;

use assert_cmd::Command;
use gpp::analysis::scale::predict::{predictions, team};
use gpp::analysis::scale::task::{Kind, Task};
use gpp::analysis::scale::{BOUND, rated};
use gpp::engine::Share;
use gpp::problem::systems;
use gpp::record::provenance::Provenance;
use gpp::record::scale::{Constants, Data, Line, Modelled, Over, Point, Scale};
use gpp::record::system::SystemInfo;
use gpp::record::times::Times;
use gpp::record::{self, Head};
use gpp::reference::verify::Outcome;
use predicates::str::contains;
use proptest::prelude::*;

use crate::common;

/// Of what nothing was measured.
fn empty(system: &str, group: usize, ngpown: usize) -> Scale {
    let known = systems::find(system).unwrap();
    let info = common::device("gpu:0");
    Scale {
        head: Head::new(&info, Provenance::now(&info)),
        version: "v13".into(),
        source_hash: None,
        system: SystemInfo {
            masked: 0,
            name: known.name.clone(),
            nbands: known.nbands,
            nvband: known.nvband as i32,
            ngpown,
            ncouls: known.ncouls,
            nstart: known.nstart,
            nend: known.nend,
            state_ev: None,
            energies_ev: None,
        },
        complex_modes: known.complex_modes,
        over: Over::Devices,
        group,
        places: Vec::new(),
        points: Vec::new(),
        model: None,
    }
}

/// A point that took what the model says.
fn made(line: Line, task: &Task, constants: &Constants) -> Point {
    let uploads_s = task.uploads(constants);
    let [doublings, bytes] = task.gather();
    let gather = doublings * constants.gather_s + bytes * constants.gather_byte_s;
    Point {
        line,
        data: task.data,
        members: task.members,
        nbands: 1,
        ngpown: task.ngpown,
        ncouls: 1,
        nw: 1,
        igp: task.igp,
        slabs: task.ngpown.div_ceil(task.igp),
        kernel: None,
        kernel_hash: None,
        times: Times::of(vec![task.seconds(constants)]),
        state: None,
        gather_s: (task.members > 1).then_some(gather),
        shares: vec![Share { uploads_s, ..Share::default() }; task.members],
        imbalance: None,
        same_bits: Some(true),
        outcome: Outcome::Passed,
        reference: None,
        speed_up: None,
        efficiency: None,
        modelled: None,
    }
}

/// A scaling over up to eight devices of what took as long as the model says.
fn made_by(constants: &Constants, system: &str, group: usize, ngpown: usize) -> Scale {
    let mut scale = empty(system, group, ngpown);
    let (kind, groups) = (Kind::of(&scale), ngpown.div_ceil(group));
    for data in [Data::Place, Data::Host] {
        for members in [1, 2, 4, 8] {
            let of = |ngpown: usize| team(&kind, ngpown, members, data);
            scale.points.push(made(Line::Strong, &of(ngpown), constants));
            let part = (groups * members).div_ceil(8) * group;
            scale.points.push(made(Line::Weak, &of(part), constants));
        }
    }
    for igp in [groups / 8, groups / 16] {
        let (igp, data) = (igp * group, Data::Place);
        let task = Task { kind: &kind, members: 1, ngpown, igp, data };
        scale.points.push(made(Line::Slabs, &task, constants));
    }
    scale.head.complete = true;
    scale
}

#[test]
fn a_page_shows_the_scaling_beside_its_profiles() {
    let dir = tempfile::tempdir().unwrap();
    let archive = common::repository("data/runs/h200-2026-11-23/si214");
    for entry in fs::read_dir(archive).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "json") {
            fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
        }
    }
    let constants = Constants {
        slab_s: 1e-5,
        igp_s: 1.5e-5,
        bandwidth: Some(5e10),
        gather_s: 2e-5,
        gather_byte_s: 1e-9,
    };
    let path = dir.path().join("scale.json");
    let report = |system: &str| {
        let scale = rated(&made_by(&constants, system, 16, 1385));
        record::write(&path, &scale).unwrap();
        let mut command = Command::cargo_bin("gpp").unwrap();
        command.current_dir(dir.path()).args(["report", "--from", "."]).assert()
    };
    report("si214").success();
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    let parts = [
        "Scaling over devices",
        "10.00 µs a slab and 15.000 µs a G′, 50.0 GB/s from the host; fitted on up to 2",
        "at worst",
        ">si510<",
        "a group for each of the devices",
        "20.0 µs for each doubling",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    report("demo").code(2).stderr(contains("scale.json: is of demo, the profiles beside it"));
}

fn near(found: f64, known: f64) -> bool {
    (found - known).abs() <= 1e-6 * known
}

proptest! {
    #[test]
    fn known_constants_are_found(
        slab_s in 1e-6..1e-4f64,
        igp_s in 1e-5..1e-2f64,
        bandwidth in 1e9..1e11f64,
        gather_s in 1e-6..1e-4f64,
        gather_byte_s in 1e-10..1e-8f64,
        group in 1usize..33,
        groups in 64usize..400,
    ) {
        let of = Constants { slab_s, igp_s, bandwidth: Some(bandwidth), gather_s, gather_byte_s };
        let rated = rated(&made_by(&of, "si214", group, groups * group));
        let model = rated.model.unwrap();
        let found = model.constants;
        prop_assert!(near(found.slab_s, slab_s), "{found:?} {of:?}");
        prop_assert!(near(found.igp_s, igp_s), "{found:?} {of:?}");
        prop_assert!(near(found.bandwidth.unwrap(), bandwidth), "{found:?}");
        prop_assert!(near(found.gather_s, gather_s), "{found:?} {of:?}");
        prop_assert!(near(found.gather_byte_s, gather_byte_s), "{found:?} {of:?}");
        prop_assert_eq!(model.fitted_up_to, 2);
        prop_assert!(model.worst_deviation.unwrap().abs() <= 1e-5);
        let checked = rated.points.iter().filter(|point| !point.modelled.unwrap().fitted);
        prop_assert_eq!(checked.count(), 8);
    }

    #[test]
    fn predictions_are_never_better_than_perfect(
        slab_s in 0.0..1e-3f64,
        igp_s in 1e-5..1e-2f64,
        bandwidth in 1e9..1e11f64,
        gather_s in 0.0..1e-3f64,
        group in 1usize..33,
        ngpown in 1usize..20_000,
    ) {
        let scale = empty("si214", group, ngpown);
        let bandwidth = Some(bandwidth);
        let constants = Constants { slab_s, igp_s, bandwidth, gather_s, gather_byte_s: 0.0 };
        let free = Constants { slab_s: 0.0, gather_s: 0.0, ..constants };
        for (of, free) in predictions(&scale, &constants).iter().zip(predictions(&scale, &free)) {
            prop_assert!(of.teams[0].members == 1 && of.teams[0].efficiency == 1.0);
            let last = of.teams.last().unwrap().members;
            prop_assert_eq!(last, of.groups.min(4096));
            // Without what more members cost, more of them are not slower until groups run out.
            let times = free.teams.windows(2);
            for pair in times {
                prop_assert!(pair[1].seconds <= pair[0].seconds * (1.0 + 1e-12), "{pair:?}");
            }
            for (team, free) in of.teams.iter().zip(&free.teams) {
                prop_assert!(team.seconds >= free.seconds * (1.0 - 1e-12));
                prop_assert!(of.data == Data::Host || team.efficiency <= 1.0 + 1e-12, "{team:?}");
            }
            // All kernels or all uploads, shared evenly.
            let perfect = if of.system == "si214" { igp_s * ngpown as f64 } else { 0.0 };
            for team in &of.teams {
                let least = perfect / team.members as f64;
                prop_assert!(team.seconds >= least * (1.0 - 1e-12), "{team:?}");
            }
        }
    }
}

/// What the program does now: its first slabs are cut, and points are not of a busier board.
#[test]
fn archived_scalings_are_within_the_model_s_bound() {
    let mut checked = 0;
    for path in common::json(&common::repository("data/runs")) {
        let name = path.display().to_string();
        let is_of_now = ["h200x2-2026-11-22-2/scale-si", "h200-2026-11-23/scale-cpu"];
        if !is_of_now.iter().any(|part| name.contains(part)) {
            continue;
        }
        let scale = rated(&record::read::<Scale>(&path).unwrap());
        let model = scale.model.as_ref().unwrap();
        for point in &scale.points {
            let Modelled { deviation, .. } = point.modelled.unwrap();
            let what = format!("{name}: {} over {}", point.data.words(), point.members);
            assert!(deviation.abs() <= BOUND, "{what}: {deviation:+.3}");
            checked += 1;
        }
        assert!(!model.predictions.is_empty(), "{name}");
    }
    assert!(checked >= 35, "{checked} points");
}

/// One member alone checks nothing, and a model that is off says nothing.
#[test]
fn a_model_that_is_not_checked_or_off_predicts_nothing() {
    let path = common::repository("data/runs/h200x2-2026-11-22-2/scale-si510.json");
    let read = || record::read::<Scale>(&path).unwrap();
    let predicts = |scale: &Scale| !rated(scale).model.unwrap().predictions.is_empty();
    let (mut one, mut off) = (read(), read());
    assert!(predicts(&one));
    one.points.retain(|point| point.members == 1);
    assert!(!predicts(&one));
    let two = off.points.iter_mut().find(|point| point.members == 2).unwrap();
    two.times = Times::of(vec![1.1 * two.times.min]);
    assert!(!predicts(&off));
}
