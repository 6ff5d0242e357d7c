//! Arguments that take names, one or several with commas: none of them is empty, and completions know them
//! all. What is no name of anything is told later, with those like it.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use gpp_core::offdiag::versions;
use gpp_cpu::level::Level;

use crate::analysis::explain::matrices::JOURNEY;
use crate::catalogue::{JOURNEYS, names};
use crate::devices;
use crate::error::Error;
use crate::problem::systems::SYSTEMS;

/// Takes names, and knows which there are.
#[derive(Clone, Copy)]
pub struct Names(fn() -> Vec<&'static str>);

/// Names of versions and of what stands for several.
pub const VERSIONS: Names = Names(names::known);

/// Names of journeys.
pub const STORIES: Names = Names(|| JOURNEYS.iter().map(|told| told.id).collect());

/// Names of versions that are explained: also of Σ as a matrix.
pub const EXPLAINED: Names = Names(|| {
    let matrices = versions::ALL.iter().map(|version| version.id);
    names::known().into_iter().chain(matrices).chain([JOURNEY]).collect()
});

/// Names of their journeys.
pub const EXPLAINED_STORIES: Names =
    Names(|| JOURNEYS.iter().map(|told| told.id).chain([JOURNEY]).collect());

/// Names of built-in systems.
pub const BUILT_IN: Names = Names(|| SYSTEMS.iter().map(|system| system.name.as_str()).collect());

/// Names of devices.
pub const DEVICES: Names = Names(|| devices::NAMED.to_vec());

/// Names of a processor's vectors.
pub const VECTORS: Names = Names(|| Level::ALL.map(Level::name).to_vec());

impl Names {
    /// An unknown name is unknown among these.
    pub fn among(self, error: Error) -> Error {
        match error {
            Error::UnknownName { what, given, .. } => Error::unknown(what, &given, (self.0)()),
            other => other,
        }
    }
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let parser: fn(&str) -> Result<String, String> = none_empty;
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The names as they are given.
fn none_empty(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    match names.iter().position(|name| name.is_empty()) {
        None => Ok(text.into()),
        Some(_) if names.len() == 1 => Err("needs a name, see `gpp list`".into()),
        Some(at) => {
            let (at, count) = (at + 1, names.len());
            Err(format!("name {at} of {count} is empty: commas stand between names"))
        }
    }
}
