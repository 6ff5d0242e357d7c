//! How to measure and where results go.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use crate::process::output::{is_stdout, print};
use crate::process::progress::Progress;
use crate::record;
use crate::record::times::Repetition;

/// How to measure.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Measurement")]
pub struct MeasureArgs {
    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(short, long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each version or shape
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    /// Runs before them
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = runs)]
    pub warmup: usize,
}

/// Where results go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the record as JSON to a file, or to standard output for -
    #[arg(short, long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// No tables, no progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
}

impl MeasureArgs {
    /// How often each version runs.
    pub fn repetition(&self) -> Repetition {
        Repetition { warmup: self.warmup, repeat: self.repeat }
    }
}

impl OutputArgs {
    /// Whether long work shows its progress.
    pub fn progress(&self) -> Progress {
        Progress { shown: !self.quiet }
    }

    /// Prints a record as `text` says, unless nothing or JSON is to be printed, and writes it where
    /// it was asked for. One that fails does not keep the other from being written.
    pub fn show<R: Serialize>(
        &self,
        record: &R,
        text: impl FnOnce(&mut dyn Write, &R) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let to_stdout = self.json.as_deref().is_some_and(is_stdout);
        let silent = self.quiet || to_stdout;
        let printed = if silent { Ok(()) } else { print(|to| text(to, record)) };
        if let Some(path) = &self.json {
            record::write(path, record)?;
        }
        Ok(printed?)
    }
}

/// More runs than anyone waits for.
const MOST_RUNS: usize = 1_000_000;

/// A number of runs that is none.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// It is no number.
    #[error("needs a whole number up to {MOST_RUNS}: {0}")]
    NoNumber(#[from] std::num::ParseIntError),
    /// It is too large.
    #[error("needs at most {MOST_RUNS}")]
    TooMany,
    /// It is zero.
    #[error("needs at least 1")]
    None,
}

pub fn runs(text: &str) -> Result<usize, CountError> {
    match text.parse()? {
        n if n > MOST_RUNS => Err(CountError::TooMany),
        n => Ok(n),
    }
}

pub fn at_least_one(text: &str) -> Result<usize, CountError> {
    match runs(text)? {
        0 => Err(CountError::None),
        n => Ok(n),
    }
}
