//! `gpp scale`: teams of devices, of ranks and of cores on the processor, and the model of their times.

#[path = "../common/mod.rs"]
mod common;
mod model;
mod threads;

use std::path::Path;

use assert_cmd::Command;
use common::QUIET;
use gpp::analysis::scale::{BOUND, rated};
use gpp::catalogue;
use gpp::devices::Device;
use gpp::devices::host::Host;
use gpp::experiments::parting::Limits;
use gpp::experiments::scale::{All, Options, scale};
use gpp::problem::systems;
use gpp::ranks::Alone;
use gpp::record;
use gpp::record::scale::{Data, Line, Over, Point, Scale};
use gpp::record::times::Repetition;
use gpp::render::scale::NOTHING;
use predicates::str::contains;
use threads::{Group, OnThread};

fn options(system: &str) -> Options {
    Options {
        version: catalogue::best(catalogue::BackEnd::Cpu),
        system: systems::find(system).unwrap().clone(),
        seed: 214,
        lines: vec![Line::Strong, Line::Weak],
        quick: false,
        repetition: Repetition::exactly(0, 2),
        limits: Limits::default(),
    }
}

/// What holds of every record that is complete.
fn check(scale: &Scale, over: Over, counts: &[usize]) {
    assert!(scale.head.complete && scale.passed(), "{:?}", scale.points);
    assert_eq!(scale.over, over);
    for line in [Line::Strong, Line::Weak] {
        let points: Vec<&Point> = scale.points.iter().filter(|p| p.line == line).collect();
        let members: Vec<usize> = points.iter().map(|point| point.members).collect();
        assert_eq!(members, counts, "{}", line.name());
        assert_eq!((points[0].speed_up, points[0].efficiency), (Some(1.0), Some(1.0)));
        assert!(points.iter().all(|point| point.speed_up.unwrap() > 0.0));
        let last = points.last().unwrap();
        assert_eq!(last.ngpown, scale.system.ngpown);
        let one =
            if line == Line::Strong { last.ngpown } else { last.ngpown.div_ceil(last.members) };
        assert_eq!(points[0].ngpown, one);
    }
    assert!(scale.points.iter().all(|p| p.same_bits == Some(true) && p.data == Data::Place));
    let model = scale.model.as_ref().unwrap();
    assert!(model.constants.igp_s > 0.0 && model.constants.bandwidth.is_none());
    assert!(!model.assumptions.is_empty());
    let systems: Vec<&str> = model.predictions.iter().map(|of| of.system.as_str()).collect();
    let holds = model.worst_deviation.is_some_and(|worst| worst.abs() <= BOUND);
    assert_eq!(!systems.is_empty(), holds);
    assert!(!holds || systems.starts_with(&[&scale.system.name]) && systems.contains(&"si510"));
    assert!(scale.points.iter().all(|point| point.modelled.unwrap().seconds > 0.0));
    let text = record::text(scale);
    assert_eq!(record::parse::<Scale>(&text, Path::new("scale.json")).unwrap(), *scale);
    let mut shown = Vec::new();
    gpp::render::scale::scale(&mut shown, scale).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    let parts = if holds { ["take for granted", "si510"] } else { [NOTHING, "at worst"] };
    for part in ["efficiency", "model: ", over.name(), "100.0 %"].into_iter().chain(parts) {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn devices_of_one_process() {
    let hosts: Vec<Host> = (0..5).map(|_| Host::new().with_threads(1)).collect();
    let devices: Vec<&dyn Device> = hosts.iter().map(|host| host as &dyn Device).collect();
    let options = options("tiny");
    let all = All::of(&devices, &Alone, options.version.kernel).unwrap();
    let mut told = 0;
    let scale = rated(&scale(all, &options, QUIET, |_| told += 1).unwrap());
    check(&scale, Over::Devices, &[1, 2, 4, 5]);
    assert_eq!((told, scale.places.len()), (8, 5));
    for point in scale.points.iter().filter(|point| point.slabs > 1) {
        assert_eq!(point.shares.len(), point.members);
        let summed: usize = point.shares.iter().map(|share| share.igp).sum();
        assert_eq!(summed, point.ngpown);
        assert_eq!(point.gather_s.is_some(), point.members > 1);
    }
    // Slabs of other sizes on one member, of 139 igp.
    let options = Options { quick: true, lines: vec![Line::Strong], ..self::options("demo") };
    let scale = rated(&self::scale(all, &options, QUIET, |_| ()).unwrap());
    let members = |line: Line| -> Vec<usize> {
        scale.points.iter().filter(|p| p.line == line).map(|p| p.members).collect()
    };
    assert_eq!((members(Line::Strong), members(Line::Slabs)), (vec![1, 2, 5], vec![1, 1]));
    assert!(scale.passed() && scale.model.unwrap().worst_deviation.unwrap().is_finite());
}

#[test]
fn ranks_with_a_device_each() {
    let world = Group::of(3);
    let ran = |rank: usize| {
        let ranks = OnThread { rank, group: world.clone() };
        let host = Host::new().with_threads(1);
        let devices = [&host as &dyn Device];
        let options = options("tiny");
        let all = All::of(&devices, &ranks, options.version.kernel).unwrap();
        scale(all, &options, QUIET, |_| ()).unwrap()
    };
    let records: Vec<Scale> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|rank| scope.spawn(move || ran(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    check(&rated(&records[0]), Over::Ranks, &[1, 2, 3]);
    assert_eq!(records[0].places.iter().map(|place| place.rank).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(records[1..].iter().all(|record| record.points.is_empty() && record.passed()));
}

fn gpp(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("gpp").unwrap().arg("scale").args(arguments).assert()
}

#[test]
fn cores_of_the_processor() {
    for system in ["tiny", "demo-complex"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scale.json");
        let json = path.to_str().unwrap();
        gpp(&["-d", "cpu", "-s", system, "--quick", "-j", json])
            .success()
            .stdout(contains("over cores of"));
        let scale: Scale = record::read(&path).unwrap();
        assert!(scale.passed() && scale.head.complete && scale.over == Over::Cores);
        assert_eq!(scale.complex_modes, system == "demo-complex");
        let strong = scale.points.iter().filter(|point| point.line == Line::Strong);
        let members: Vec<usize> = strong.map(|point| point.members).collect();
        assert!(members[0] == 1 && members.is_sorted() && members.len() <= 3);
        assert!(scale.points.iter().all(|point| point.times.samples.len() == 1));
        let other = record::read::<record::run::Run>(&path).unwrap_err().to_string();
        assert!(other.contains("it holds a scaling"), "{other}");
    }
}

/// One command times extents, and so does its older spelling.
#[test]
fn extents_of_the_problem() {
    let quick = ["--quick", "-d", "cpu", "--repeat", "2", "-j", "-"];
    let record = |command: &[&str]| -> Scale {
        let output = Command::cargo_bin("gpp").unwrap().args(command).args(quick).assert();
        let text = String::from_utf8(output.success().get_output().stdout.clone()).unwrap();
        record::parse(&text, Path::new("scale.json")).unwrap()
    };
    let lines = |scale: &Scale| -> Vec<Line> { scale.points.iter().map(|p| p.line).collect() };
    let some = record(&["scale", "--over", "nw,all", "--complex"]);
    let older = record(&["scaling"]);
    for (scale, complex) in [(&some, true), (&older, false)] {
        assert!(scale.passed() && scale.head.complete && scale.over == Over::Extents);
        assert_eq!((scale.complex_modes, scale.model.as_ref()), (complex, None));
        assert_eq!(lines(scale), [Line::All; 2]);
        assert!(scale.points.iter().all(|point| point.times.samples.len() == 2));
        let best = scale.points.iter().filter_map(|point| point.efficiency).fold(0.0, f64::max);
        assert_eq!(best, 1.0);
        let mut shown = Vec::new();
        gpp::render::scale::scale(&mut shown, scale).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        for part in ["over extents of", "terms/s", "100.0 %", "energies"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("speed-up") && !shown.contains("slabs"), "{shown}");
    }
}

#[test]
fn bad_usage_says_what_was_needed() {
    for (arguments, part) in [
        (&["-s", "si215"][..], "unknown system `si215`"),
        (&["-v", "v0,v8"], "--version v0,v8: takes one version, not 2"),
        (&["-v", "v99"], "unknown version `v99`"),
        (&["--strong", "--weak"], "cannot be used with"),
        (&["--over", "nbands", "--system", "tiny"], "--system"),
        (&["--over", "nbands", "--weak"], "--weak"),
        (&["--over", "nbands", "--host-memory", "1GiB"], "--host-memory"),
        (&["--over", "nbands", "-d", "gpu:all"], "--device gpu:all: this command takes one device"),
        (&["--over", "nband"], "needs nbands, ngpown, ncouls, nw, all"),
        (&["--complex"], "--over"),
        (&["-d", "cpu", "-v", "v9"], "v9: is emulated on a CPU"),
        (&["-d", "cpu", "--device-memory", "1GiB"], "--device-memory: has no effect on a CPU"),
        (&["-d", "cpu", "-j", "/no/such/scale.json"], "No such file"),
    ] {
        gpp(arguments).code(2).stderr(contains(part));
    }
}
