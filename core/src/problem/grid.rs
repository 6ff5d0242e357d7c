//! Energies that replace a problem's own.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::problem::header::{Header, MOST_ENERGIES};

/// The energies that a problem is evaluated at instead of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum EnergyGrid {
    Even(Even),
    /// A number of energies with the problem's own spacing, from its first one on.
    Count(usize),
    /// Those of [`EnergyGrid::Even`] as a file holds them, apart by rounding: the first one is iw = 1, and `e_lk`
    /// is the second one; if it is alone, it is iw = 2 and `e_lk`.
    Spaced(Even),
    /// In eV above `e_lk`.
    Listed(Vec<f64>),
}

/// Energies at equal distances: `FROM:TO:COUNT`, or one alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Even {
    from: f64,
    to: f64,
    count: usize,
}

impl Even {
    /// `count` energies from `from` to `to`, in eV above `e_lk`.
    pub fn new(from: f64, to: f64, count: usize) -> Result<Even> {
        for (name, part) in [("FROM", from), ("TO", to), ("TO − FROM", to - from)] {
            if !part.is_finite() {
                return Err(no_number(name, part));
            }
        }
        match count {
            1 if from == to => Ok(Even { from, to, count }),
            1 => Err(Error::new(format!("one energy needs FROM = TO, found {from} and {to}"))),
            2..=MOST_ENERGIES if from < to => Ok(Even { from, to, count }),
            2..=MOST_ENERGIES => Err(Error::new(format!(
                "several energies need FROM below TO, found {from} and {to}"
            ))),
            _ => Err(no_count(count)),
        }
    }

    /// In eV above `e_lk`, ascending; both ends are exact.
    fn above_state(self) -> Vec<f64> {
        let Even { from, to, count } = self;
        let part = |i: usize| if count == 1 { 0.0 } else { i as f64 / (count - 1) as f64 };
        let at = |i: usize| if i + 1 == count { to } else { from + (to - from) * part(i) };
        (0..count).map(at).collect()
    }
}

impl Display for Even {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.from, self.to, self.count)
    }
}

fn no_number(name: &str, found: impl Display) -> Error {
    Error::new(format!("{name} needs a finite number, found `{found}`"))
}

fn no_count(found: impl Display) -> Error {
    Error::new(format!("COUNT needs a whole number from 1 to {MOST_ENERGIES}, found `{found}`"))
}

impl FromStr for Even {
    type Err = Error;

    fn from_str(text: &str) -> Result<Even> {
        let number = |name, text: &str| text.trim().parse().map_err(|_| no_number(name, text));
        match text.split(':').collect::<Vec<_>>()[..] {
            [only] if !only.is_empty() => {
                let only = number("FROM", only)?;
                Even::new(only, only, 1)
            }
            [from, to, count] => {
                let (from, to) = (number("FROM", from)?, number("TO", to)?);
                let count = count.trim().parse().map_err(|_| no_count(count))?;
                Even::new(from, to, count)
            }
            _ => Err(Error::new("needs FROM:TO:COUNT or one energy, in eV above the state's")),
        }
    }
}

impl EnergyGrid {
    pub fn nw(&self) -> usize {
        match self {
            EnergyGrid::Even(even) | EnergyGrid::Spaced(even) => even.count,
            EnergyGrid::Count(count) => *count,
            EnergyGrid::Listed(energies) => energies.len(),
        }
    }

    /// A header with these energies.
    #[must_use]
    pub fn of(&self, header: &Header) -> Header {
        let header = Header { energies: None, ..header.clone() };
        let listed = |energies: Vec<f64>| Header {
            nstart: 1,
            nend: energies.len(),
            energies: Some(energies),
            ..header.clone()
        };
        match self {
            EnergyGrid::Even(even) => listed(even.above_state()),
            EnergyGrid::Listed(energies) => listed(energies.clone()),
            EnergyGrid::Spaced(Even { from, count: 1, .. }) => {
                Header { nstart: 2, nend: 2, e_lk: header.e_lk + from, ..header }
            }
            EnergyGrid::Spaced(Even { from, to, count }) => {
                let sig_dw = (to - from) / (count - 1) as f64;
                let e_lk = header.e_lk + (from + sig_dw);
                Header { nstart: 1, nend: *count, sig_dw, e_lk, ..header }
            }
            EnergyGrid::Count(count) => {
                Header { nend: (header.nstart + count).saturating_sub(1), ..header }
            }
        }
    }
}
