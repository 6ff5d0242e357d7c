//! What is the caller's stays his: the floating-point environment, signals, the working directory, the environment's
//! variables, a process forked from his. He hears how far a calculation is on his own thread, and stops it at once.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use std::ptr::null;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use common::alone;
use common::arrays::{Arrays, all, own_versions, versions};
use common::running::threads;
use gpp_core::{Calculator, Error, Formula};

unsafe extern "C" {
    fn feenableexcept(traps: i32) -> i32;
    fn fedisableexcept(traps: i32) -> i32;
    fn fegetexcept() -> i32;
    fn fesetround(mode: i32) -> i32;
    fn fegetround() -> i32;
}

fn arrays() -> Arrays {
    Arrays::of([60, 40], [12, 3], 3)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    traps: i32,
    rounding: i32,
    flushes: bool,
}

/// Invalid operations, divisions by zero and overflows, as `gfortran -ffpe-trap` has them.
const TRAPS: i32 = 0x1 | 0x4 | 0x8;
const UPWARD: i32 = 0x800;

const FLUSHES: u32 = 0x8040;

impl State {
    fn here() -> State {
        let mut control = 0u32;
        // SAFETY: functions of the C library without arguments; four bytes are stored.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut control);
            let flushes = control & FLUSHES == FLUSHES;
            State { traps: fegetexcept(), rounding: fegetround(), flushes }
        }
    }

    fn during<R>(self, work: impl FnOnce() -> R) -> (R, State) {
        let own = State::here();
        self.set();
        let result = work();
        let left = State::here();
        own.set();
        (result, left)
    }

    fn set(self) {
        let mut control = 0u32;
        // SAFETY: the C library's functions with its own numbers; MXCSR as it was, but for two bits.
        unsafe {
            fedisableexcept(!0);
            fesetround(self.rounding);
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut control);
            control = if self.flushes { control | FLUSHES } else { control & !FLUSHES };
            std::arch::asm!("ldmxcsr [{}]", in(reg) &control);
            feenableexcept(self.traps);
        }
    }
}

/// Also those of a callback, which is called on the caller's thread.
#[test]
fn traps_and_rounding_are_the_callers_and_change_no_bit() {
    let _turn = alone();
    let (arrays, before) = (arrays(), Calculator::open("cpu").unwrap());
    let (tell, told) = channel();
    let telling = before.clone().with_progress(move |part| {
        tell.send((thread::current().id(), State::here(), part)).unwrap();
        None
    });
    let expected = all(versions(), &before, &arrays).unwrap();
    let own = State { traps: 0, rounding: 0, flushes: false };
    assert_eq!(State::here(), own);
    for state in [
        State { traps: TRAPS, ..own },
        State { rounding: UPWARD, ..own },
        State { flushes: true, ..own },
    ] {
        let of_before = state.during(|| all(versions(), &before, &arrays));
        let of_new = state.during(|| all(versions(), &Calculator::open("cpu")?, &arrays));
        let of_telling = state.during(|| all(versions(), &telling, &arrays));
        for (found, left) in [of_before, of_new, of_telling] {
            assert!(found.unwrap() == expected, "{state:?}");
            assert_eq!(left, state);
        }
        let seen: Vec<_> = told.try_iter().collect();
        assert!(seen.iter().all(|(id, own, _)| (*id, *own) == (thread::current().id(), state)));
        let [begins, ends] = [0.0, 1.0].map(|end| seen.iter().filter(|seen| seen.2 == end).count());
        assert!(begins > 0 && ends > 2 * versions().count(), "{begins} {ends}");
        let mut calls = seen.split(|seen| seen.2 == 1.0);
        assert!(calls.all(|call| call.is_sorted_by_key(|seen| seen.2)), "{seen:?}");
    }
}

#[test]
fn signals_go_to_the_callers_threads_alone() {
    let _turn = alone();
    let mask = || {
        // SAFETY: a mask is plain bytes, which the system fills in.
        unsafe {
            let mut mask = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, null(), &mut mask);
            (1..=31).map(|signal| libc::sigismember(&mask, signal)).collect::<Vec<_>>()
        }
    };
    let own = mask();
    let state = || (std::env::current_dir().unwrap(), std::env::vars_os().collect::<Vec<_>>());
    let before = (state(), threads("SigBlk:"));
    // SAFETY: asks for the name of the locale, which is read at once.
    let locale =
        || unsafe { std::ffi::CStr::from_ptr(libc::setlocale(libc::LC_ALL, null())).to_owned() };
    let of_caller = locale();
    // SAFETY: a signal of the system's, of which there is no handler.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    let calculator = Calculator::open("cpu").unwrap().with_threads(3).unwrap();
    all(versions(), &calculator, &arrays()).unwrap();
    // Those of tests that run beside this one are not gpp's.
    let is_new = |(id, (name, _)): &(String, (String, String))| {
        !before.1.contains_key(id) && name.starts_with("gpp-")
    };
    let started: Vec<_> = threads("SigBlk:").into_iter().filter(is_new).collect();
    assert_eq!(started.len(), 3, "{started:?}");
    use libc::*;
    let bits = |signals: [i32; 5]| signals.map(|signal| 1u64 << (signal - 1)).iter().sum();
    let others: u64 = bits([SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGWINCH]);
    // Faults, and what ends the process, even if none of its other threads is left.
    let faults: u64 = bits([SIGSEGV, SIGBUS, SIGFPE, SIGINT, SIGTERM]);
    for (_, (name, blocked)) in started {
        let blocked = u64::from_str_radix(&blocked, 16).unwrap();
        assert_eq!(blocked & (others | faults), others, "{name} {blocked:x}");
    }
    assert_eq!((mask(), locale(), state()), (own, of_caller, before.0));
}

#[test]
fn a_forked_process_is_told_so_and_hangs_in_nothing() {
    let _turn = alone();
    let (arrays, calculator) = (arrays(), Calculator::open("cpu").unwrap());
    let mut placed = calculator.place(&arrays.screening()).unwrap();
    let expected = all(versions(), &calculator, &arrays).unwrap();
    let is_told = |error: Option<Error>| matches!(error, Some(Error::Driver(text)) if text.contains("forked"));
    // SAFETY: the child does nothing that another thread of this process could have under way, and ends itself.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child, should it hang.
        unsafe { libc::alarm(20) };
        let formula = Formula::default();
        let (screening, bands, omega) = (arrays.screening(), arrays.bands(), &arrays.omega);
        let mut right = is_told(calculator.sums(&screening, &bands, omega, formula).err());
        right &= is_told(calculator.sums_at(&mut placed, &bands, omega, formula).err());
        right &= is_told(calculator.matrix(&screening, &arrays.matrix(), omega, formula).err());
        right &= is_told(calculator.place(&screening).err());
        let calculator = calculator.with_progress(|_| None);
        right &= is_told(calculator.sums(&screening, &bands, omega, formula).err());
        drop(placed);
        drop(calculator);
        right &= Calculator::open("cpu").and_then(|own| all(versions(), &own, &arrays)).ok()
            == Some(expected);
        // SAFETY: ends the child, without what is registered for the end of its parent.
        unsafe { libc::_exit(if right { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "the child had signal {}", libc::WTERMSIG(status));
    assert_eq!(libc::WEXITSTATUS(status), 0);
    assert!(all(versions(), &calculator, &arrays).is_ok());
}

const AFTER: [Duration; 3] = [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(300)];

/// How long a call goes on that is asked to stop at once, or once it sums and `after` has gone by.
fn stopped(
    calculator: &Calculator,
    after: Duration,
    call: impl FnOnce(&Calculator) -> Option<Error>,
) -> Duration {
    let ((tell, told), begin) = (channel(), Instant::now());
    let calculator = calculator.clone().with_progress(move |part| {
        let asks = after.is_zero() || part > 0.0 && part < 1.0 && begin.elapsed() >= after;
        asks.then(|| tell.send(Instant::now()).map(|()| 7).unwrap())
    });
    let error = call(&calculator);
    let ended = Instant::now();
    assert!(matches!(error, Some(Error::Stopped { code: 7, .. })), "{error:?}");
    ended - told.try_recv().expect("it was asked")
}

#[test]
fn a_calculation_ends_soon_after_it_is_asked_to() {
    let _turn = alone();
    let (formula, mut late) = (Formula::default(), Vec::new());
    let calculator = Calculator::open("cpu").unwrap();
    // Seconds to minutes each.
    let sums = Arrays::of([1111, 400], [9000, 1], 3);
    let many = Arrays::of([1111, 400], [300, 1], 20_000);
    for version in own_versions() {
        let arrays = if version == "sigma:cells" { &many } else { &sums };
        let calculator = calculator.clone().with_version(version).unwrap();
        for after in AFTER {
            let took = stopped(&calculator, after, |calculator| {
                let (screening, bands) = (arrays.screening(), arrays.bands());
                calculator.sums(&screening, &bands, &arrays.omega, formula).err()
            });
            late.push((took, version, after));
        }
    }
    let matrix = Arrays::of([1111, 400], [120, 200], 20);
    for after in AFTER {
        let took = stopped(&calculator, after, |calculator| {
            let (screening, bands) = (matrix.screening(), matrix.matrix());
            calculator.matrix(&screening, &bands, &matrix.omega, formula).err()
        });
        late.push((took, "the matrix", after));
    }
    late.sort();
    // On a machine that does other things too.
    assert!(late.last().unwrap().0 <= Duration::from_millis(250), "{late:?}");
    assert!(all(versions(), &calculator, &arrays()).is_ok());
}
