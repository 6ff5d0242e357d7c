//! What versions take beside the arrays, and whole runs, against what was said before.

use gpp::catalogue::{self, Version};
use gpp::devices::cpu::CpuDevice;
use gpp::engine::Engine;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Source, System};
use gpp::ranks::Alone;
use gpp::session::{MemoryLimits, SMALL, Session};
use gpp_core::offdiag::MatrixTask;
use gpp_core::offdiag::cpu::MatrixOnCpu;
use gpp_cpu::pool::DefaultThreads;

use crate::common::arrays::synthesised;
use crate::common::matrices::{Given, on_cpu};
use crate::common::{EnergyGrid, Kind, QUIET, alone, at_energies, made};
use crate::{peak, system, version};

fn opened(limits: MemoryLimits) -> Session<'static> {
    Session::open(&gpp::devices::Choice::Cpu, limits, &Alone).unwrap()
}

#[test]
fn versions_take_beside_the_arrays_no_more_than_is_said() {
    let _turn = alone();
    let session = opened(MemoryLimits::default());
    let few = made([40, 96, 4000, 3], Kind::Real, 4);
    let many = at_energies(&made([10, 96, 4000, 3], Kind::Real, 4), 5);
    for (problem, ids) in [
        // Their pairs sorted, beside which the arrays are small.
        (&many, &["sigma:cells"][..]),
        (&many, &["sigma:blocks"]),
        (&few, &["cpu:paired"]),
        (&few, &["cpu:single"]),
        // A plan that reorders the bands has all their matrix elements twice.
        (&few, &["v13"]),
        (&few, &["v14"]),
        (&many, &["cpu:paired", "sigma:cells", "v13"]),
    ] {
        let versions: Vec<Version> = ids.iter().map(|id| version(id)).collect();
        for igp in [96, 32] {
            let said = session.host_bytes(problem, &versions, igp);
            let ((), taken) = peak(|| {
                let mut engine = session.engine(problem, igp, &versions).unwrap();
                versions.iter().for_each(|version| drop(engine.run(*version).unwrap()));
            });
            // Threads and sums of blocks have some of their own.
            assert!(taken < said + (3 << 20), "{ids:?} {igp}: took {taken}, {said} were said");
        }
    }
}

#[test]
fn runs_stay_within_what_they_are_given() {
    let _turn = alone();
    let within =
        |bytes: u64| opened(MemoryLimits { host: Some(SMALL + bytes), ..MemoryLimits::default() });
    // 49 MB.
    let system = System { ngpown: 384, ncouls: 4000, ..system() };
    // What finds room with all that is made of it; what finds room, but not sorted; what does not.
    for (id, mib, is_whole, is_one) in [
        ("sigma:cells", 200, true, true),
        ("sigma:cells", 90, true, false),
        ("sigma:blocks", 90, true, false),
        ("sigma:cells", 40, false, false),
        ("cpu:paired", 100, true, true),
        ("cpu:paired", 30, false, false),
        ("v13", 30, false, false),
    ] {
        let room = mib << 20;
        let (session, versions) = (within(room), [version(id)]);
        let ((), taken) = peak(|| {
            let mut source = Box::new(Synthesis::new(&system, 5, QUIET));
            let header = EnergyGrid::Count(5).apply_to(source.header());
            source.set_header(header);
            let problem = session.load(source).unwrap();
            let igp = session.slab_size(&problem, &versions, false).unwrap();
            assert_eq!((problem.is_whole(), igp == 384), (is_whole, is_one), "{id} {mib}: {igp}");
            let mut engine = session.engine(&problem, igp, &versions).unwrap();
            (0..2).for_each(|_| drop(engine.run(versions[0]).unwrap()));
        });
        assert!(taken < room + (3 << 20), "{id} with {mib} MiB took {taken} bytes");
        // Slabs are not much smaller than that allows.
        assert!(taken > room / 8, "{id} with {mib} MiB took {taken} bytes");
    }
    let session = within(1 << 19);
    let problem = session.load(Box::new(Synthesis::new(&system, 5, QUIET))).unwrap();
    let refused = session.slab_size(&problem, &[version("sigma:cells")], false).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("not enough host memory for bands and two slabs of 1 igp"), "{text}");
    assert!(text.ends_with("--host-memory allows 64.5 MiB"), "{text}");
}

/// One re-layout of aqsn is there at a time, whatever follows whatever; of the rest little.
#[test]
fn there_is_one_other_layout_at_a_time() {
    let _turn = alone();
    let problem = made([700, 3, 900, 2], Kind::Mixed, 5);
    assert!(!problem.order().is_kept());
    let host = CpuDevice::new();
    let _started = [DefaultThreads::Cores, DefaultThreads::All].map(|of| host.pool(of).unwrap());
    let (mut engine, mut layouts) = (Engine::whole(&host, &problem).unwrap(), Vec::new());
    let ((), taken) = peak(|| {
        for kernel in catalogue::versions() {
            if let Version::Cpu(cpu) = kernel {
                engine.run(kernel).unwrap();
                layouts.extend(cpu.needs.panels);
            }
        }
    });
    let header = problem.header();
    let bytes = |lanes| gpp_cpu::problem::IgPanels::bytes(header.ncouls, header.nbands, lanes);
    let relaid = layouts.into_iter().map(bytes).max().unwrap();
    assert!((relaid..relaid + relaid / 4).contains(&taken), "{taken} of {relaid}");
}

#[test]
fn a_matrix_takes_what_is_said() {
    let _turn = alone();
    let host = CpuDevice::new();
    host.team().set(2);
    for (name, bands) in [("tiny", 600), ("demo", 200)] {
        let problem = synthesised(name, EnergyGrid::Count(2));
        let given = Given::of(&problem, bands, 1);
        let task = MatrixTask::new(&problem, &given);
        let said = MatrixOnCpu::new(&host, task).unwrap().needs();
        let sum = || on_cpu(&task).unwrap();
        sum();
        let (_, taken) = peak(sum);
        assert!(taken < said + (1 << 20), "{name}: took {taken}, {said} were said");
        // Threads have some packed, which stays.
        assert!(said < taken * 5 / 4 + (5 << 20), "{name}: {said} were said, it took {taken}");
    }
}
