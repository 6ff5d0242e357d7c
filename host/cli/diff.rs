//! `gpp diff`: one version against another.

use std::process::ExitCode;

use super::args::DiffArgs;
use super::explain::{Gathered, gather, show};
use crate::render::explain::Parts;

pub fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let named = args.named()?;
    let [before, version] = named;
    match gather(&args.cards, &named)? {
        Gathered::Records(records) => {
            let card = records.card(version.id(), Some(before.id()))?;
            show(&[card], args.cards.format, Parts::Compared)
        }
        Gathered::NotVerified(code) => Ok(code),
    }
}
