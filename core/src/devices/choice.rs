//! The devices that someone asks for.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use super::HOST;
use crate::error::{Error, Result};

/// The devices asked for on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first GPU, or the host where there is none.
    Auto,
    /// These GPUs; one at least, each once.
    Gpus(Vec<usize>),
    /// All GPUs that this process sees.
    AllGpus,
    /// The host.
    Cpu,
}

impl Choice {
    /// Whether it is more than one device, or may be.
    pub fn is_several(&self) -> bool {
        match self {
            Choice::Auto | Choice::Cpu => false,
            Choice::Gpus(indices) => indices.len() > 1,
            Choice::AllGpus => true,
        }
    }
}

/// Names of devices; numbers stand for N and M.
pub const NAMED: [&str; 4] = ["auto", "gpu", "gpu:all", HOST];

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Choice> {
        let unknown = || {
            let mut error = Error::unknown(
                "device",
                text,
                ["auto", "gpu", "gpu:N", "gpu:N,M", "gpu:all", HOST],
            );
            let gpu = text.to_lowercase().strip_prefix("cuda").map(|index| format!("gpu{index}"));
            if let (Error::UnknownName { nearest, .. }, Some(gpu)) = (&mut error, gpu)
                && gpu.parse::<Choice>().is_ok()
            {
                *nearest = gpu;
            }
            error
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Choice::Auto),
            None if text == "gpu" => Ok(Choice::Gpus(vec![0])),
            None if text == HOST => Ok(Choice::Cpu),
            Some(("gpu", "all")) => Ok(Choice::AllGpus),
            Some(("gpu", indices)) => {
                let indices: Vec<usize> = indices
                    .split(',')
                    .map(|index| index.parse().map_err(|_| unknown()))
                    .collect::<Result<_>>()?;
                let mut seen = HashSet::new();
                match indices.iter().find(|&index| !seen.insert(index)) {
                    Some(twice) => Err(Error::Data {
                        origin: format!("--device {text}"),
                        what: format!("names gpu:{twice} twice"),
                    }),
                    None => Ok(Choice::Gpus(indices)),
                }
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Gpus(indices) => {
                let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
                write!(f, "gpu:{}", indices.join(","))
            }
            Choice::AllGpus => f.write_str("gpu:all"),
            Choice::Cpu => f.write_str(HOST),
        }
    }
}
