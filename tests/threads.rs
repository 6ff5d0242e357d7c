//! How many threads compute on a CPU, and where; neither changes a bit. One test, since it counts its process's threads.
#![cfg(target_os = "linux")]

mod common;

use common::arrays::{Arrays, all, versions};
use common::running::threads;
use gpp_core::Calculator;
use gpp_cpu::pool::mask;

const ALLOWED: &str = "Cpus_allowed_list:";

#[test]
fn as_many_threads_as_said_compute_wherever_the_process_may_and_change_no_bit() {
    // Whoever started this may say how many.
    if std::env::var_os("OMP_NUM_THREADS").is_some() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        assert!(again.env_remove("OMP_NUM_THREADS").status().unwrap().success());
        return;
    }
    let (arrays, own) = (Arrays::of([60, 40], [12, 3], 3), mask());
    let room = Calculator::open("cpu").unwrap().threads();
    assert!(1 <= room && room <= own.len());
    // They stay open, each with a number of its own.
    let (mut calculators, mut expected) = (Vec::new(), None);
    for count in [3, 1, 2] {
        let before = threads(ALLOWED);
        let calculator = Calculator::open("cpu").unwrap().with_threads(count).unwrap();
        assert_eq!(calculator.threads(), count);
        let found = all(versions(), &calculator, &arrays).unwrap();
        assert!(found == *expected.get_or_insert(found.clone()), "{count} threads");
        let started: Vec<_> =
            threads(ALLOWED).into_iter().filter(|(id, _)| !before.contains_key(id)).collect();
        let names: Vec<&str> = started.iter().map(|(_, (name, _))| &name[..]).collect();
        assert_eq!(started.len(), count, "{names:?}");
        for (_, (name, allowed)) in &started {
            assert!(name.starts_with("gpp-cpu-"), "{names:?}");
            // Bound to no core: where the process runs they do, whoever else runs there.
            assert_eq!(*allowed, threads(ALLOWED)[&std::process::id().to_string()].1, "{name}");
        }
        calculators.push((count, calculator));
    }
    for (count, calculator) in &calculators {
        assert_eq!(calculator.threads(), *count);
        assert!(Some(all(versions(), calculator, &arrays).unwrap()) == expected, "{count} threads");
        let by_default = calculator.clone().with_threads(0).unwrap();
        assert_eq!([calculator.threads(), by_default.threads()], [room; 2]);
        let by_room = Some(all(versions(), calculator, &arrays).unwrap());
        assert!(by_room == expected, "as many as there is room for");
        let error = by_default.with_threads(65_536).err().unwrap().to_string();
        assert!(error.starts_with("threads: needs 1 to 65535, or 0"), "{error}");
        assert_eq!(calculator.threads(), room);
    }
    assert_eq!(mask(), own, "the caller's CPUs stay the caller's");
}
