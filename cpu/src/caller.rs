//! What a thread has that is its caller's: a floating-point environment, with traps and a rounding mode, and a mask
//! of signals.

use std::sync::atomic::{AtomicI64, Ordering};

/// Does work in the default floating-point environment, and restores the thread's own one.
pub fn in_default_environment<R>(work: impl FnOnce() -> R) -> R {
    struct Restored(control::Word);
    impl Drop for Restored {
        fn drop(&mut self) {
            control::set(&self.0);
        }
    }
    /// The compiler moves no arithmetic out of a function that it does not see through.
    #[inline(never)]
    fn run<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let _restored = Restored(control::get());
    control::set(&control::DEFAULT);
    run(work)
}

/// Starts threads. They compute in the default floating-point environment, and leave signals to the caller's threads:
/// POSIX has a thread inherit both from the one that starts it.
pub fn starting<R>(start: impl FnOnce() -> R) -> R {
    in_default_environment(|| {
        #[cfg(unix)]
        let _restored = signals::blocked();
        start()
    })
}

#[cfg(unix)]
mod signals {
    use std::mem::zeroed;
    use std::ptr::null_mut;

    /// Signals that a thread sends to itself by a fault of its own, and that of profilers, which count each thread.
    const OWN: [i32; 8] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGSYS,
        libc::SIGPROF,
    ];

    /// Restores a mask when it is dropped.
    pub struct Restored(libc::sigset_t);

    impl Drop for Restored {
        fn drop(&mut self) {
            // SAFETY: a mask that the system has filled in.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
        }
    }

    /// Blocks all others on this thread.
    pub fn blocked() -> Restored {
        // SAFETY: a mask is plain bytes, which `sigfillset` and `pthread_sigmask` fill in; the signals are the
        // system's own.
        unsafe {
            let (mut mask, mut own) = (zeroed(), zeroed());
            libc::sigfillset(&mut mask);
            OWN.iter().for_each(|&signal| _ = libc::sigdelset(&mut mask, signal));
            libc::pthread_sigmask(libc::SIG_BLOCK, &mask, &mut own);
            Restored(own)
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    /// MXCSR, and the control word of the x87.
    pub struct Word(u32, u16);

    pub const DEFAULT: Word = Word(0x1f80, 0x037f);

    pub fn get() -> Word {
        let mut word = Word(0, 0);
        // SAFETY: stores four and two bytes where they belong.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut word.0, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &raw mut word.1, options(nostack, preserves_flags));
        }
        word
    }

    pub fn set(word: &Word) {
        // SAFETY: loads words that the processor has stored, or its defaults: neither has a reserved bit.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const word.0, options(nostack, preserves_flags));
            asm!("fldcw [{}]", in(reg) &raw const word.1, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod control {
    use std::arch::asm;

    /// FPCR and FPSR.
    pub struct Word(u64, u64);

    pub const DEFAULT: Word = Word(0, 0);

    pub fn get() -> Word {
        let (control, status);
        // SAFETY: reads two registers.
        unsafe {
            asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags));
            asm!("mrs {}, fpsr", out(reg) status, options(nomem, nostack, preserves_flags));
        }
        Word(control, status)
    }

    pub fn set(word: &Word) {
        // SAFETY: writes what was read, or the defaults.
        unsafe {
            asm!("msr fpcr, {}", in(reg) word.0, options(nostack, preserves_flags));
            asm!("msr fpsr, {}", in(reg) word.1, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    pub struct Word;

    pub const DEFAULT: Word = Word;

    pub fn get() -> Word {
        Word
    }

    pub fn set(_: &Word) {}
}

/// What a calculation is asked to stop for: a number of the caller's, of a signal for instance. Versions look at it
/// between pieces of work of a few milliseconds; what they return after that is not a sum.
pub struct Stop(AtomicI64);

/// No `i32`: nobody has asked yet, or nobody may.
const NOTHING: i64 = i64::MAX;
const NOBODY: i64 = i64::MIN;

impl Stop {
    /// Nobody has asked.
    pub const fn new() -> Stop {
        Stop(AtomicI64::new(NOTHING))
    }

    /// Asks for it. Returns whether this is the first time; later ones have no effect.
    pub fn ask(&self, code: i32) -> bool {
        let (order, code) = (Ordering::SeqCst, code.into());
        self.0.compare_exchange(NOTHING, code, order, order).is_ok()
    }

    /// What it was asked for, if it was.
    pub fn asked(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::Relaxed)).ok()
    }

    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.asked().is_some()
    }
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

/// For calculations that nobody stops: it takes no asking.
pub static NEVER: Stop = Stop(AtomicI64::new(NOBODY));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_who_asks_is_heard_and_nobody_by_never() {
        let stop = Stop::new();
        assert_eq!((stop.asked(), stop.is_asked()), (None, false));
        assert!(stop.ask(0) && !stop.ask(7));
        assert_eq!((stop.asked(), stop.is_asked()), (Some(0), true));
        assert!(!NEVER.ask(1) && !NEVER.is_asked());
    }
}
