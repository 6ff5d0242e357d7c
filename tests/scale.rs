//! `gpp scale`: teams of devices, of ranks and of cores on the processor, and the model of their times.

mod common;

use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};

use assert_cmd::Command;
use common::QUIET;
use gpp::analysis::scale::predict::{predictions, team};
use gpp::analysis::scale::rated;
use gpp::analysis::scale::task::{Kind, Task};
use gpp::catalogue;
use gpp::devices::host::Host;
use gpp::devices::{Device, DeviceInfo};
use gpp::engine::Share;
use gpp::experiments::parting::Limits;
use gpp::experiments::scale::{All, Options, scale};
use gpp::problem::systems;
use gpp::ranks::{Alone, Ranks};
use gpp::record::provenance::Provenance;
use gpp::record::scale::{Constants, Data, Law, Measured, Over, Scale};
use gpp::record::system::SystemInfo;
use gpp::record::times::{Repetition, Times};
use gpp::record::{self, Head};
use gpp::reference::verify::Outcome;
use predicates::str::contains;
use proptest::prelude::*;

fn options(system: &str) -> Options {
    Options {
        version: catalogue::best(catalogue::BackEnd::Cpu),
        system: systems::find(system).unwrap(),
        seed: 214,
        laws: vec![Law::Strong, Law::Weak],
        quick: false,
        repetition: Repetition { warmup: 0, repeat: 2 },
        limits: Limits::default(),
    }
}

/// What holds of every record that is complete.
fn check(scale: &Scale, over: Over, counts: &[usize]) {
    assert!(scale.head.complete && scale.passed(), "{:?}", scale.measured);
    assert_eq!(scale.over, over);
    for law in [Law::Strong, Law::Weak] {
        let points: Vec<&Measured> = scale.measured.iter().filter(|p| p.law == law).collect();
        let members: Vec<usize> = points.iter().map(|point| point.members).collect();
        assert_eq!(members, counts, "{}", law.name());
        assert_eq!((points[0].speed_up, points[0].efficiency), (Some(1.0), Some(1.0)));
        assert!(points.iter().all(|point| point.speed_up.unwrap() > 0.0));
        let last = points.last().unwrap();
        assert_eq!(last.ngpown, scale.system.ngpown);
        let one = if law == Law::Strong { last.ngpown } else { last.ngpown.div_ceil(last.members) };
        assert_eq!(points[0].ngpown, one);
    }
    assert!(scale.measured.iter().all(|p| p.same_bits == Some(true) && p.data == Data::Place));
    let model = scale.model.as_ref().unwrap();
    assert!(model.constants.igp_s > 0.0 && model.constants.bandwidth.is_none());
    assert!(!model.assumptions.is_empty());
    let systems: Vec<&str> = model.predictions.iter().map(|of| of.system.as_str()).collect();
    assert!(systems.starts_with(&[&scale.system.name]) && systems.contains(&"si510"));
    assert!(scale.measured.iter().all(|point| point.modelled.unwrap().seconds > 0.0));
    let text = record::text(scale);
    assert_eq!(record::parse::<Scale>(&text, Path::new("scale.json")).unwrap(), *scale);
    let mut shown = Vec::new();
    gpp::render::scale::scale(&mut shown, scale).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    for part in ["efficiency", "model: ", "take for granted", over.name(), "si510", "100.0 %"] {
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
    for point in scale.measured.iter().filter(|point| point.slabs > 1) {
        assert_eq!(point.shares.len(), point.members);
        let summed: usize = point.shares.iter().map(|share| share.igp).sum();
        assert_eq!(summed, point.ngpown);
        assert_eq!(point.gather_s.is_some(), point.members > 1);
    }
    // Slabs of other sizes on one member, of 139 igp.
    let options = Options { quick: true, laws: vec![Law::Strong], ..self::options("demo") };
    let scale = rated(&self::scale(all, &options, QUIET, |_| ()).unwrap());
    let members = |law: Law| -> Vec<usize> {
        scale.measured.iter().filter(|p| p.law == law).map(|p| p.members).collect()
    };
    assert_eq!((members(Law::Strong), members(Law::Slabs)), (vec![1, 2, 5], vec![1, 1]));
    assert!(scale.passed() && scale.model.unwrap().worst_deviation.unwrap().is_finite());
}

/// What ranks on threads share.
struct Group {
    size: usize,
    barrier: Barrier,
    sent: Mutex<Vec<Vec<u8>>>,
    part: Mutex<Option<Arc<Group>>>,
}

impl Group {
    fn of(size: usize) -> Arc<Group> {
        let (sent, part) = (Mutex::new(vec![Vec::new(); size]), Mutex::new(None));
        Arc::new(Group { size, barrier: Barrier::new(size), sent, part })
    }
}

/// A rank that is a thread.
struct OnThread {
    rank: usize,
    group: Arc<Group>,
}

impl OnThread {
    /// What all send.
    fn all(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.group.sent.lock().unwrap()[self.rank] = bytes.to_vec();
        self.barrier();
        let all = self.group.sent.lock().unwrap().clone();
        self.barrier();
        all
    }
}

impl Ranks for OnThread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn local(&self) -> (usize, usize) {
        (self.rank, self.group.size)
    }

    fn barrier(&self) {
        self.group.barrier.wait();
    }

    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        let all = self.all(bytes);
        self.is_root().then_some(all)
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.all(&bytes).swap_remove(0)
    }

    fn abort(&self, _: u8) -> ! {
        panic!("no rank fails")
    }

    fn first(&self, size: usize) -> Option<Box<dyn Ranks>> {
        if self.is_root() {
            *self.group.part.lock().unwrap() = Some(Group::of(size));
        }
        self.barrier();
        let group = self.group.part.lock().unwrap().clone().unwrap();
        self.barrier();
        (self.rank < size).then(|| Box::new(OnThread { rank: self.rank, group }) as _)
    }
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
    assert!(records[1..].iter().all(|record| record.measured.is_empty() && record.passed()));
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
        let strong = scale.measured.iter().filter(|point| point.law == Law::Strong);
        let members: Vec<usize> = strong.map(|point| point.members).collect();
        assert!(members[0] == 1 && members.is_sorted() && members.len() <= 3);
        assert!(scale.measured.iter().all(|point| point.times.samples.len() == 1));
        let other = record::read::<record::scaling::Scaling>(&path).unwrap_err().to_string();
        assert!(other.contains("it holds a scaling over devices"), "{other}");
    }
}

#[test]
fn bad_usage_says_what_was_needed() {
    for (arguments, part) in [
        (&["-s", "si215"][..], "unknown system `si215`"),
        (&["-v", "v0,v8"], "--version v0,v8: takes one version, not 2"),
        (&["-v", "v99"], "unknown version `v99`"),
        (&["--strong", "--weak"], "cannot be used with"),
        (&["--quick", "--repeat", "2"], "cannot be used with"),
        (&["-d", "cpu", "-v", "v9"], "v9: is emulated on a CPU"),
        (&["-d", "cpu", "--device-memory", "1GiB"], "--device-memory: has no effect on a CPU"),
        (&["-d", "cpu", "-j", "/no/such/scale.json"], "No such file"),
    ] {
        gpp(arguments).code(2).stderr(contains(part));
    }
}

/// Of what nothing was measured.
fn empty(system: &str, group: usize, ngpown: usize) -> Scale {
    let known = systems::find(system).unwrap();
    let info = DeviceInfo {
        id: "gpu:0".into(),
        name: "Made up".into(),
        driver: None,
        compute_capability: None,
        multiprocessors: 1,
        uuid: None,
        clock_mhz: None,
        memory_bytes: 0,
    };
    Scale {
        head: Head::new(&info, Provenance::now(&info)),
        version: "v13".into(),
        system: SystemInfo {
            name: known.name.clone(),
            nbands: known.nbands,
            nvband: known.nvband as i32,
            ngpown,
            ncouls: known.ncouls,
            nstart: known.nstart,
            nend: known.nend,
        },
        complex_modes: known.complex_modes,
        over: Over::Devices,
        group,
        places: Vec::new(),
        measured: Vec::new(),
        model: None,
    }
}

/// A point that took what the model says.
fn made(law: Law, task: &Task, constants: &Constants) -> Measured {
    let uploads_s = task.uploads(constants);
    let [doublings, bytes] = task.gather();
    let gather = doublings * constants.gather_s + bytes * constants.gather_byte_s;
    Measured {
        law,
        data: task.data,
        members: task.members,
        ngpown: task.ngpown,
        igp: task.igp,
        slabs: task.ngpown.div_ceil(task.igp),
        times: Times::of(vec![task.seconds(constants)]),
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
        let bandwidth = Some(bandwidth);
        let constants = Constants { slab_s, igp_s, bandwidth, gather_s, gather_byte_s };
        let ngpown = groups * group;
        let mut scale = empty("si214", group, ngpown);
        let kind = Kind::of(&scale);
        let mut points = Vec::new();
        for data in [Data::Place, Data::Host] {
            for members in [1, 2, 4, 8] {
                let of = |ngpown: usize| team(&kind, ngpown, members, data);
                points.push(made(Law::Strong, &of(ngpown), &constants));
                let part = (groups * members).div_ceil(8) * group;
                points.push(made(Law::Weak, &of(part), &constants));
            }
        }
        for igp in [groups / 8, groups / 16] {
            let (igp, data) = (igp * group, Data::Place);
            let task = Task { kind: &kind, members: 1, ngpown, igp, data };
            points.push(made(Law::Slabs, &task, &constants));
        }
        scale.measured = points;
        let rated = rated(&scale);
        let model = rated.model.unwrap();
        let found = model.constants;
        prop_assert!(near(found.slab_s, slab_s), "{found:?} {constants:?}");
        prop_assert!(near(found.igp_s, igp_s), "{found:?} {constants:?}");
        prop_assert!(near(found.bandwidth.unwrap(), bandwidth.unwrap()), "{found:?}");
        prop_assert!(near(found.gather_s, gather_s), "{found:?} {constants:?}");
        prop_assert!(near(found.gather_byte_s, gather_byte_s), "{found:?} {constants:?}");
        prop_assert_eq!(model.fitted_up_to, 2);
        prop_assert!(model.worst_deviation.unwrap().abs() <= 1e-5);
        let checked = rated.measured.iter().filter(|point| !point.modelled.unwrap().fitted);
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
