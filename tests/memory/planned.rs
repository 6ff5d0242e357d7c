//! What versions take beside the arrays, and whole runs, against what was said before.

use gpp::catalogue::{self, Kernel};
use gpp::devices::Device;
use gpp::devices::cpu::CpuDevice;
use gpp::engine::Engine;
use gpp::memory::{Limits, Resources, SMALL, load, slab_size, workspace};
use gpp::problem::arrays::{ARRAYS, Of};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{EnergyGrid, Extents, Problem, Slabs, Source, System};
use gpp::ranks::Alone;
use gpp::setup::Session;
use gpp_cpu::pool::Threads;
use gpp_cpu::problem::{IgPanels, Lanes};
use gpp_kernels::arrays::Layout;
use gpp_kernels::plan::Poles;

use crate::common::{Kind, QUIET, alone, at_energies, made};
use crate::{peak, system, version};

fn assert_planned(problem: &Problem, ids: &[&str], igp: usize) {
    let host = CpuDevice::new();
    let devices: [&dyn Device; 1] = [&host];
    let versions: Vec<Kernel> = ids.iter().map(|id| version(id)).collect();
    let resources = Resources { devices: &devices, ranks: &Alone, limits: Limits::default() };
    let said = workspace(problem, &versions, resources, igp) - SMALL;
    let slabs = Slabs::new(problem, igp);
    let ((), taken) = peak(|| {
        let worker = host.worker(problem).unwrap();
        let mut engine = Engine::new(slabs, igp, vec![worker]).unwrap();
        versions.iter().for_each(|version| drop(engine.run(*version).unwrap()));
    });
    // Threads and sums of blocks have some of their own.
    assert!(taken < said + (3 << 20), "{ids:?} {igp}: took {taken}, {said} were said");
    assert!(said < 2 * taken + (6 << 20), "{ids:?} {igp}: {said} were said, it took {taken}");
}

#[test]
fn versions_take_beside_the_arrays_what_is_said() {
    let _turn = alone();
    let few = made([40, 96, 4000, 3], Kind::Real, 4);
    let many = at_energies(&made([10, 96, 4000, 3], Kind::Real, 4), 5);
    // Their pairs sorted, beside which the arrays are small.
    for igp in [96, 32] {
        assert_planned(&many, &["sigma:cells"], igp);
        assert_planned(&many, &["sigma:blocks"], igp);
        assert_planned(&few, &["cpu:paired"], igp);
        // A plan that reorders the bands has all their matrix elements twice.
        assert_planned(&few, &["v13"], igp);
    }
    assert_planned(&many, &["cpu:paired", "sigma:cells", "v13"], 32);
}

#[test]
fn runs_stay_within_what_they_are_given() {
    let _turn = alone();
    let host = CpuDevice::new();
    let devices: [&dyn Device; 1] = [&host];
    let within = |bytes: u64| {
        let limits = Limits { host: Some(SMALL + bytes), ..Limits::default() };
        Resources { devices: &devices, ranks: &Alone, limits }
    };
    // 49 MB.
    let system = System { ngpown: 384, ncouls: 4000, ..system() };
    // What finds room with all that is made of it; what finds room, but not sorted; what does not.
    for (id, mib, is_whole, is_one) in [
        ("sigma:cells", 170, true, true),
        ("sigma:cells", 90, true, false),
        ("sigma:blocks", 90, true, false),
        ("sigma:cells", 30, false, false),
        ("cpu:paired", 100, true, true),
        ("cpu:paired", 12, false, false),
        ("v13", 30, false, false),
    ] {
        let room = mib << 20;
        let (resources, versions) = (within(room), [version(id)]);
        let ((), taken) = peak(|| {
            let source = Box::new(Synthesis::new(&system, 5, QUIET).at(&EnergyGrid::Count(5)));
            let problem = load(source, resources).unwrap();
            let igp = slab_size(&problem, &versions, resources).unwrap();
            let found = (problem.is_whole(), igp == 384);
            assert_eq!(found, (is_whole, is_one), "{id} {mib}: {igp}");
            let session = Session { resources, slabs: Slabs::new(&problem, igp) };
            let mut engine = session.engine(&versions).unwrap();
            (0..2).for_each(|_| drop(engine.run(versions[0]).unwrap()));
        });
        assert!(taken < room + (3 << 20), "{id} with {mib} MiB took {taken} bytes");
        // Slabs are as large as that allows, or half of it where they are to be several.
        assert!(taken > room / 4, "{id} with {mib} MiB took {taken} bytes");
    }
    let resources = within(1 << 19);
    let problem = load(Box::new(Synthesis::new(&system, 5, QUIET)), resources).unwrap();
    let refused = slab_size(&problem, &[version("sigma:cells")], resources).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("not enough host memory for bands and two slabs of 1 igp"), "{text}");
    assert!(text.ends_with("--host-memory allows 64.5 MiB"), "{text}");
}

#[test]
fn partial_sums_are_counted_for_slabs_of_any_size() {
    // 2048 igp of si510: 1.7 GB.
    let slab = Extents { ngpown: 2048, ..System::find("si510").unwrap().extents() };
    let arrays = ARRAYS.iter().filter(|array| array.of == Of::Slab);
    let arrays: u64 = arrays
        .map(|a| Layout::ALL.map(|layout| a.bytes(slab, layout)).into_iter().max().unwrap())
        .sum();
    let fallback = slab.fallback_bytes().max(8 * (slab.ncouls * slab.ngpown) as u64);
    let said = slab.device_bytes(Of::Slab) - arrays - fallback;
    let gpu = version("v13").gpu().unwrap();
    let kernel = gpu.kernel(Poles::Real);
    let extents = gpp_kernels::kernel::Dimensions {
        nbands: slab.nbands as u32,
        ngpown: slab.ngpown as u32,
        ncouls: slab.ncouls as u32,
        nw: slab.nw as u32,
        fallback_begins: &[0, 0],
        clusters: 0,
    };
    let needed = u64::from(kernel.grid(&extents).blocks()) * slab.nw as u64 * 4 * 8;
    assert!(needed > 65_535 * 12 * 8, "{needed}");
    assert!(said >= needed, "{said} of {needed}");
}

/// One re-layout of aqsn is there at a time, whatever follows whatever; of the rest little.
#[test]
fn there_is_one_other_layout_at_a_time() {
    let _turn = alone();
    let problem = made([700, 3, 900, 2], Kind::Mixed, 5);
    assert!(!problem.order().is_kept());
    let host = CpuDevice::new();
    let _started = [Threads::Cores, Threads::All].map(|threads| host.pool(threads).unwrap());
    let mut engine = Engine::whole(&host, &problem).unwrap();
    let mut wanted = 0;
    let ((), taken) = peak(|| {
        for kernel in catalogue::versions().map(|listed| listed.kernel) {
            if let Kernel::Cpu(cpu) = kernel {
                engine.run(kernel).unwrap();
                wanted += usize::from(cpu.needs.panels.is_some());
            }
        }
    });
    assert!(wanted > 0);
    let relaid = IgPanels::bytes(problem.header().ncouls, problem.header().nbands, Lanes::Bands);
    assert!((relaid..relaid + relaid / 4).contains(&taken), "{taken} of {relaid}");
}
