//! Memory is what was planned: what a rank keeps and reads of a problem it shares, and what versions take beside
//! the arrays, against what was said of it before.

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod planned;
#[path = "../common/threads.rs"]
mod threads;

use std::{fs, thread};

use common::{Kind, Make, QUIET, alone, changed, make};
use gpp::catalogue::{self, Kernel};
use gpp::devices::Device;
use gpp::devices::host::Host;
use gpp::memory::{Crew, Held, Limits, Loaded};
use gpp::problem::file::{Input, write};
use gpp::problem::memory::Of;
use gpp::problem::slab::slab_count;
use gpp::problem::source::Kept;
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Extents, Frame, Problem, Source, System, systems};
use gpp::ranks::Ranks;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use peak_alloc::PeakAlloc;
use threads::{Group, OnThread};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// One of four ranks, of which the others have what it has.
struct OneOfFour(usize);

const FOUR: usize = 4;

impl Ranks for OneOfFour {
    fn rank(&self) -> usize {
        self.0
    }

    fn size(&self) -> usize {
        FOUR
    }

    fn local(&self) -> (usize, usize) {
        (self.0, FOUR)
    }

    fn barrier(&self) {}

    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(vec![bytes.to_vec(); FOUR])
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn abort(&self, _: u8) {
        panic!("no rank fails")
    }

    fn first(&self, _: usize) -> Option<Box<dyn Ranks>> {
        None
    }
}

/// Few bands, so that slabs are nearly all there is: 33 MB of them.
fn system() -> System {
    let demo = systems::find("demo").unwrap();
    System { nbands: 4, nvband: 2, ngpown: 516, ncouls: 2000, masked: 0.0, ..demo.clone() }
}

fn version(id: &str) -> Kernel {
    catalogue::find(id).unwrap().kernel
}

/// What a call returns, and the bytes that it took at most.
fn peak<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = call();
    (result, MEMORY.peak_usage().saturating_sub(before) as u64)
}

#[test]
fn a_rank_holds_its_share_whoever_walks_through_all() {
    let _turn = alone();
    let (host, system) = (Host::new(), system());
    let devices: [&dyn Device; 1] = [&host];
    let whole = system.extents();
    let share = Extents { ngpown: whole.ngpown / FOUR, ..whole };
    for (rank, slab) in [(0, 16), (1, 100), (3, 129), (2, 516)] {
        let ranks = OneOfFour(rank);
        let crew = Crew { devices: &devices, ranks: &ranks };
        let limits = Limits { slab: Some(slab), ..Limits::default() };
        let (loaded, taken) = peak(|| {
            let source = Box::new(Synthesis::new(&system, 5, QUIET));
            let loaded = Loaded::of(source, crew, limits).unwrap();
            assert!(loaded.stays());
            let igp = loaded.igp(&[version("cpu:simd")], crew, limits).unwrap();
            assert_eq!(igp, slab);
            loaded.for_slabs(igp, &ranks).unwrap()
        });
        let own = ranks.share(slab_count(whole.ngpown, slab));
        let igp = (own.len() * slab).min(whole.ngpown);
        let held = Held::Share(igp.max(share.ngpown)).bytes(whole);
        // What a share lacks of its slabs is made beside it.
        let lacking = Extents { ngpown: 2 * slab.min(whole.ngpown), ..whole }.bytes_of(Of::Slab);
        // An array that grows is copied here, by the system it is moved.
        let most = held + held / 2 + lacking + (1 << 20);
        assert!(taken < most, "{rank} {slab}: {taken} of {held}");

        let before = MEMORY.current_usage() as u64;
        let of_one = Extents { ngpown: slab.min(whole.ngpown), ..whole }.bytes_of(Of::Slab);
        let (evaluation, taken) =
            peak(|| gpp::reference::evaluate(loaded.slabs(slab), QUIET).unwrap());
        assert!(evaluation.sums.asx.iter().all(|z| z.re.is_finite()));
        assert!(taken < of_one + (1 << 20), "{rank} {slab}: {taken} of {of_one}");
        let grown = (MEMORY.current_usage() as u64).saturating_sub(before);
        assert!(grown < 1 << 20, "{rank} {slab}: {grown} kept of a walk through all");
        let held = loaded.slabs(slab).held();
        assert_eq!(
            held.iter().map(|slab| slab.view().len()).sum::<usize>(),
            if own.is_empty() { 0 } else { igp }
        );
    }
}

/// Bytes that this thread has read of files; none where the system does not count them.
fn read() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

#[test]
fn ranks_read_their_share_and_what_stays_once() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.dat");
    let made = Make { nbands: 3, ngpown: 403, ncouls: 997, nw: 2, kind: Kind::Real, seed: 3 };
    let problem = make(made);
    let sums = gpp::reference::of(&problem, QUIET).unwrap().unwrap().sums;
    write(&path, &problem, &sums, QUIET).unwrap();
    let host = Host::new();
    let devices: [&dyn Device; 1] = [&host];
    if read().is_none() {
        return;
    }
    let whole = problem.extents();
    let pairs = whole.bytes_of(Of::Slab) - 16 * (whole.nbands * whole.ngpown) as u64;
    for rank in 0..FOUR {
        let ranks = OneOfFour(rank);
        let crew = Crew { devices: &devices, ranks: &ranks };
        let before = read().unwrap();
        let source = Box::new(Input::open(&path, QUIET).unwrap());
        let loaded = Loaded::of(source, crew, Limits::default()).unwrap();
        assert_eq!(loaded.frame().poles(), Poles::Real);
        let loaded = loaded.for_slabs(8, &ranks).unwrap();
        let slabs = loaded.slabs(8);
        for at in ranks.share(slabs.count()) {
            let igp = slabs.range(at).unwrap();
            let part = slabs.part(igp.clone()).unwrap();
            assert_eq!(part.view(), problem.slab().part(igp));
        }
        let read = read().unwrap() - before;
        let bands = whole.bytes_of(Of::Bands);
        // Slabs end a few igp off, bands are read ahead.
        let most = bands + pairs / FOUR as u64 + 16 * 16 * 2 * 997 + (1 << 19);
        assert!(read < most, "rank {rank} read {read} of {pairs} bytes of pairs, at most {most}");
    }
    // Without room for a share each looks at its own part, once, and nobody at another's.
    let source = Input::open(&path, QUIET).unwrap();
    let before = read().unwrap();
    let frame = Frame::of(&source, &OneOfFour(2)).unwrap();
    let read = read().unwrap() - before;
    assert_eq!(frame.poles(), Poles::Real);
    assert!(
        read < whole.bytes_of(Of::Bands) + pairs / FOUR as u64 + (1 << 17),
        "{read} of {pairs}"
    );
}

#[test]
fn ranks_know_of_poles_that_others_have() {
    let _turn = alone();
    let made = Make { nbands: 2, ngpown: 9, ncouls: 5, nw: 2, kind: Kind::First, seed: 3 };
    let real = |problem: Problem| {
        changed(problem, |wtilde, _, _| wtilde.iter_mut().for_each(|pole| pole.im = 0.0)).unwrap()
    };
    for turned in [None, Some(0_usize), Some(13), Some(44)] {
        let turn = |wtilde: &mut [Complex64], _: &mut [f64], _: &mut [f64]| {
            if let Some(at) = turned {
                wtilde[at].im = 0.25;
            }
        };
        let problem = changed(real(make(made)), turn).unwrap();
        let expected = if turned.is_some() { Poles::Any } else { Poles::Real };
        // More ranks than igp too.
        for size in [1, 2, 3, 12] {
            let group = Group::of(size);
            thread::scope(|scope| {
                for rank in 0..size {
                    let (problem, group) = (&problem, group.clone());
                    scope.spawn(move || {
                        let frame = Frame::of(problem, &OnThread { rank, group }).unwrap();
                        assert_eq!(frame.poles(), expected, "{turned:?} on {size} ranks");
                    });
                }
            });
        }
    }
}

#[test]
fn devices_that_processes_share_are_counted() {
    let group = Group::of(3);
    let named = |rank: usize| -> Vec<String> {
        [&["GPU-a", "GPU-b"][..], &["GPU-a"], &[]][rank]
            .iter()
            .map(|uuid| uuid.to_string())
            .collect()
    };
    thread::scope(|scope| {
        for (rank, having) in [vec![2, 1], vec![2], vec![]].into_iter().enumerate() {
            let group = group.clone();
            scope.spawn(move || {
                assert_eq!(OnThread { rank, group }.having(&named(rank)), having);
            });
        }
    });
}

#[test]
fn a_slab_moves_to_other_igp_with_the_same_bits() {
    let _turn = alone();
    let system = System { ngpown: 23, ncouls: 41, ..system() };
    let whole = Synthesis::new(&system, 7, QUIET).load().unwrap();
    for from in [0..1, 3..9, 0..23, 20..23] {
        for to in [0..23, 4..8, 2..4, 8..15, 0..3, 3..9, 9..9, 15..23] {
            let source = Box::new(Synthesis::new(&system, 7, QUIET));
            let kept = Kept::new(source, from.clone()).unwrap().moved(to.clone()).unwrap();
            assert_eq!(kept.igp().len(), to.len(), "{from:?} to {to:?}");
            let held = kept.held();
            assert_eq!(held.len(), usize::from(!to.is_empty()));
            for slab in held {
                assert_eq!(slab.view(), whole.slab().part(to.clone()), "{from:?} to {to:?}");
            }
            let bands = kept.bands().unwrap();
            for igp in [to.clone(), 0..23, 1..2, 5..6] {
                if !igp.is_empty() {
                    let part = kept.slab(&bands, igp.clone()).unwrap();
                    assert_eq!(part.view(), whole.slab().part(igp.clone()));
                    assert_eq!(kept.poles(igp).unwrap(), Poles::Real);
                }
            }
        }
    }
}
