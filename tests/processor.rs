//! Versions made for processors beyond what every version is tested for: each level of vectors, any number
//! of threads, their errors beside v3's, the memory that they take.

mod common;

use common::families::{FAMILIES, family};
use common::{FIXTURES, HARD, Kind, Make, QUIET, alone, assorted, fixture, hard_path, make};
use gpp::catalogue::{self, Kernel, Listed};
use gpp::devices::Device;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::measure::same_bits;
use gpp::problem::{Problem, Sums, file};
use gpp::reference;
use gpp::reference::verify::{Outcome, RelativeTo, verify};
use gpp_cpu::level::Level;
use gpp_cpu::pool::Threads;
use gpp_cpu::relaid::Relaid;
use gpp_cpu::version::Cpu;
use peak_alloc::PeakAlloc;

/// Tells how much memory was taken at most. One test at a time: see [`common::alone`].
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The versions made for processors.
fn versions() -> Vec<(Listed, &'static Cpu)> {
    let made_for_processors = |listed: Listed| match listed.kernel {
        Kernel::Cpu(cpu) => Some((listed, cpu)),
        Kernel::Gpu(_) => None,
    };
    catalogue::versions().filter_map(made_for_processors).collect()
}

fn sums(host: &Host, problem: &Problem, kernel: Kernel) -> Sums {
    Engine::whole(host, problem).unwrap().run(kernel).unwrap().sums
}

fn hard() -> impl Iterator<Item = Problem> {
    HARD.into_iter().map(|name| file::read(&hard_path(name), QUIET).unwrap())
}

#[test]
fn each_level_passes_and_threads_change_no_bit() {
    let _turn = alone();
    let made = assorted().into_iter().step_by(5).map(make);
    let hosts: Vec<(Host, Vec<Host>)> = Level::available()
        .into_iter()
        .map(|level| (Host::at(level), [1, 3, 5].map(|n| Host::at(level).with_threads(n)).into()))
        .collect();
    assert!(hosts.iter().any(|(host, _)| host.level() == Level::Scalar));
    let families = FAMILIES.into_iter().flat_map(|kind| (0..5).map(move |at| family(kind, at)));
    let mut failed = Vec::new();
    for problem in made.chain(FIXTURES.map(fixture)).chain(hard()).chain(families) {
        let reference = reference::of(&problem, QUIET).unwrap().unwrap();
        for (host, others) in &hosts {
            for (listed, _) in versions() {
                let what = format!("{} at {} of {}", listed.id(), host.level(), problem.name());
                let found = sums(host, &problem, listed.kernel);
                let verified =
                    verify(&problem, &problem.start().plus(&found), Some(&reference)).unwrap();
                if verified.outcome != Outcome::Passed {
                    failed.push(format!("{what}: {:?}", verified.worst));
                }
                for other in others {
                    let threads = other.team().count(Threads::All);
                    let again = sums(other, &problem, listed.kernel);
                    assert!(same_bits(&found, &again), "{what}: {threads} threads");
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

/// Errors relative to Σ|terms| that a few roundings of each term explain, where they are not random.
const ROUNDINGS: f64 = 8.0 * f64::EPSILON;

#[test]
fn errors_are_no_larger_than_those_of_v3() {
    let _turn = alone();
    let v3 = catalogue::find("v3").unwrap().kernel;
    let host = Host::new();
    for problem in FIXTURES.map(fixture).into_iter().chain(hard()) {
        let problem = problem.without_stored();
        let reference = reference::of(&problem, QUIET).unwrap().unwrap();
        let error = |kernel: Kernel| {
            let found = problem.start().plus(&sums(&host, &problem, kernel));
            let verification = verify(&problem, &found, Some(&reference)).unwrap();
            assert_eq!(verification.relative_to, RelativeTo::Terms);
            verification.max_rel_error.unwrap_or(f64::NAN)
        };
        let of_v3 = error(v3);
        for (listed, _) in versions() {
            let own = error(listed.kernel);
            let what = format!("{} of {}: {own:e}, v3 {of_v3:e}", listed.id(), problem.name());
            assert!(own <= of_v3.max(ROUNDINGS), "{what}");
        }
    }
}

/// One re-layout of aqsn is there at a time, whatever follows whatever; of the rest little.
#[test]
fn there_is_one_other_layout_at_a_time() {
    let _turn = alone();
    let made = Make { nbands: 700, ngpown: 3, ncouls: 900, nw: 2, kind: Kind::Mixed, seed: 5 };
    let problem = make(made);
    assert!(!problem.order().is_kept());
    let host = Host::new();
    let _started = [Threads::Cores, Threads::All].map(|threads| host.pool(threads).unwrap());
    let mut engine = Engine::whole(&host, &problem).unwrap();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut wanted = 0;
    for (listed, cpu) in versions() {
        engine.run(listed.kernel).unwrap();
        wanted += usize::from(cpu.needs.relaid);
    }
    assert!(wanted > 2);
    let taken = (MEMORY.peak_usage() - before) as u64;
    let relaid = Relaid::bytes(problem.header().ncouls, problem.header().nbands);
    assert!((relaid..relaid + relaid / 4).contains(&taken), "{taken} of {relaid}");
    assert_eq!(host.info().id, "cpu");
}
