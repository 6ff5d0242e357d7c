//! How many threads of the CPU compute.

use gpp_cpu::pool::{MOST, Threads};

use super::Calculator;
use crate::error::{Error, Result};

impl Calculator {
    /// Computes on so many threads of the CPU from now on, 1 to 65535; 0 takes that back: then there are as
    /// many as `OMP_NUM_THREADS` said when this was opened, else as many as the mask and the cgroup of the thread
    /// that opened it have room for. Clones have the same threads. Sums have the same bits for any number.
    ///
    /// Threads have the mask of the thread that calls first, and are bound to no core. On a GPU they look at arrays;
    /// what is laid out for GPUs is made by rayon's own threads.
    ///
    /// # Errors
    /// [`Error::Data`] for another number; [`Error::Forked`].
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        if threads > MOST {
            let what = format!(
                "needs 1 to {MOST}, or 0 for as many as there is room for; found {threads}"
            );
            return Err(Error::Data { origin: "threads".into(), what });
        }
        self.opened.require_process()?;
        self.opened.team().set(threads);
        Ok(())
    }

    /// This calculator with [`Calculator::set_threads`].
    ///
    /// # Errors
    /// Those of [`Calculator::set_threads`].
    pub fn with_threads(mut self, threads: usize) -> Result<Calculator> {
        self.set_threads(threads)?;
        Ok(self)
    }

    /// How many threads of the CPU a calculation has at most. Versions before cpu:smt run one on each core
    /// where nothing sets the number.
    pub fn threads(&self) -> usize {
        self.opened.team().count(Threads::All)
    }
}
