//! Memory is what was planned: of a rank's share, of versions in addition to the arrays, of files and slabs. Tests run one
//! after the other, since all of the process is measured: see [`common::alone`].

#[path = "../common/mod.rs"]
mod common;
mod file;
mod planned;
mod slabs;
#[cfg(target_os = "linux")]
mod small_calls;
mod threads;

use common::{Kind, QUIET, alone, made, place, remade};
use gpp::catalogue::{self, Version};
use gpp::devices::Choice;
use gpp::problem::arrays::Of;
use gpp::problem::input_file::{InputFile, write};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Extents, Problem, Slabs, Sums, System};
use gpp::ranks::Ranks;
use gpp::session::{MemoryLimits, Session};
use gpp_kernels::plan::Poles;
use peak_alloc::PeakAlloc;
use threads::{OnThread, on_each};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const FOUR: usize = 4;

/// Few bands, so that slabs are nearly all there is: 33 MB of them.
fn system() -> System {
    let demo = System::find("demo").unwrap();
    System { nbands: 4, nvband: 2, ngpown: 516, ncouls: 2000, masked: 0.0, ..demo.clone() }
}

fn version(id: &str) -> Version {
    catalogue::find(id).unwrap()
}

fn peak<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = call();
    (result, MEMORY.peak_usage().saturating_sub(before) as u64)
}

#[test]
fn a_rank_holds_its_share_whoever_walks_through_all() {
    let _turn = alone();
    let system = system();
    let whole = system.extents();
    let share = Extents { ngpown: whole.ngpown / FOUR, ..whole };
    for (rank, slab) in [(0, 16), (1, 100), (3, 129), (2, 516)] {
        let ranks = OnThread::like_others(rank, FOUR);
        let limits = MemoryLimits { slab: Some(slab), ..MemoryLimits::default() };
        let session = Session::open(&Choice::Cpu, limits, &ranks).unwrap();
        let (problem, taken) = peak(|| {
            let problem = session.load(Box::new(Synthesis::new(&system, 5, QUIET))).unwrap();
            assert!(problem.stays());
            let igp = session.slab_size(&problem, &[version("cpu:simd")], false).unwrap();
            assert_eq!(igp, slab);
            session.in_whole_slabs(problem, igp).unwrap()
        });
        let own = ranks.share(whole.ngpown.div_ceil(slab));
        let igp = (own.len() * slab).min(whole.ngpown);
        let held = Extents { ngpown: igp.max(share.ngpown), ..whole }.bytes_of(Of::Slab)
            + whole.bytes_of(Of::Bands);
        // What a share lacks of its slabs is made beside it.
        let lacking = Extents { ngpown: 2 * slab.min(whole.ngpown), ..whole }.bytes_of(Of::Slab);
        // An array that grows is copied here, by the system it is moved.
        let most = held + held / 2 + lacking + (1 << 20);
        assert!(taken < most, "{rank} {slab}: {taken} of {held}");

        let before = MEMORY.current_usage() as u64;
        let of_one = Extents { ngpown: slab.min(whole.ngpown), ..whole }.bytes_of(Of::Slab);
        let (evaluation, taken) =
            peak(|| gpp::reference::evaluate(Slabs::new(&problem, slab), QUIET).unwrap());
        assert!(evaluation.sums.asx.iter().all(|z| z.re.is_finite()));
        assert!(taken < of_one + (1 << 20), "{rank} {slab}: {taken} of {of_one}");
        let grown = (MEMORY.current_usage() as u64).saturating_sub(before);
        assert!(grown < 1 << 20, "{rank} {slab}: {grown} kept of a walk through all");
        let held = problem.in_memory().map_or(0, |slab| slab.view().len());
        assert_eq!(held, if own.is_empty() { 0 } else { igp });
    }
}

/// Bytes that this thread has read of files; none where the system does not count them.
fn read() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

#[test]
fn ranks_read_their_share_for_its_poles_and_to_keep_it() {
    let _turn = alone();
    let (_folder, path) = place("input.dat");
    let problem = made([3, 403, 997, 2], Kind::Real, 3);
    let sums = gpp::reference::for_problem(&problem, QUIET).unwrap().unwrap().sums;
    write(&path, &problem, &sums, QUIET).unwrap();
    if read().is_none() {
        return;
    }
    let whole = problem.extents();
    let pairs = whole.bytes_of(Of::Slab) - 16 * (whole.nbands * whole.ngpown) as u64;
    for rank in 0..FOUR {
        let ranks = OnThread::like_others(rank, FOUR);
        let session = Session::open(&Choice::Cpu, MemoryLimits::default(), &ranks).unwrap();
        let before = read().unwrap();
        let shared = session.load(Box::new(InputFile::open(&path, QUIET).unwrap())).unwrap();
        assert_eq!(shared.poles(), Poles::Real);
        let shared = session.in_whole_slabs(shared, 8).unwrap();
        let slabs = Slabs::new(&shared, 8);
        for at in ranks.share(slabs.count()) {
            let igp = slabs.range(at);
            slabs::assert_part(shared.part(igp.clone()).unwrap().view(), problem.slab(), igp);
        }
        let read = read().unwrap() - before;
        let bands = whole.bytes_of(Of::Bands);
        // Slabs end a few igp off, bands are read ahead.
        let most = bands + 2 * pairs / FOUR as u64 + 16 * 16 * 2 * 997 + (1 << 19);
        assert!(read < most, "rank {rank} read {read} of {pairs} bytes of pairs, at most {most}");
    }
    // Without room for a share each looks at its own part, once, and nobody at another's.
    let source = Box::new(InputFile::open(&path, QUIET).unwrap());
    let before = read().unwrap();
    let streamed = Problem::open(source, false, &OnThread::like_others(2, FOUR)).unwrap();
    let read = read().unwrap() - before;
    assert_eq!(streamed.poles(), Poles::Real);
    let most = whole.bytes_of(Of::Bands) + pairs / FOUR as u64 + (1 << 17);
    assert!(read < most, "{read} of {pairs}");
}

#[test]
fn ranks_know_of_poles_that_others_have() {
    let _turn = alone();
    let plain = made([2, 9, 5, 2], Kind::First, 3);
    let (_folder, path) = place("input.dat");
    for turned in [None, Some(0_usize), Some(13), Some(44)] {
        let problem = &remade(&plain, |_, of| {
            of.wtilde.iter_mut().for_each(|pole| pole.im = 0.0);
            turned.into_iter().for_each(|at| of.wtilde[at].im = 0.25);
        });
        write(&path, problem, &Sums::zero(2), QUIET).unwrap();
        let expected = if turned.is_some() { Poles::Any } else { Poles::Real };
        for size in [1, 2, 3, 12] {
            on_each(size, |rank| {
                let source = Box::new(InputFile::open(&path, QUIET).unwrap());
                let problem = Problem::open(source, false, &rank).unwrap();
                assert_eq!(problem.poles(), expected, "{turned:?} on {size} ranks");
            });
        }
    }
}

/// Devices that they share are counted, and the code that one of them stops with, which may be 0, is that of all.
#[test]
fn ranks_know_what_others_have() {
    let named: [&[&str]; 4] = [&["GPU-a", "GPU-b"], &["GPU-a"], &[], &[]];
    let having = [vec![2, 1], vec![2], vec![], vec![]];
    on_each(FOUR, |ranks| {
        let own: Vec<String> = named[ranks.rank()].iter().map(|uuid| uuid.to_string()).collect();
        assert_eq!(ranks.having(&own), having[ranks.rank()]);
        assert_eq!(ranks.first_code([None, Some(0), None, Some(15)][ranks.rank()]), Some(0));
    });
}
