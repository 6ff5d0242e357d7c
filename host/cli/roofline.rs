//! `gpp roofline`: charts from stored profiles; nothing runs.

use std::path::Path;
use std::process::ExitCode;

use super::args::RooflineArgs;
use crate::analysis::by_energies::ByEnergies;
use crate::analysis::matrices::Matrices;
use crate::error::{Error, Result};
use crate::experiments::offdiag::folder::Folder;
use crate::experiments::profile::folder::Records;
use crate::process::output::{print, require_name};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::render::{charts, profiles};

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "folder")?;
    }
    let records = Records::load(&args.from)?;
    let versions = by_energies(args, &records)?;
    let Records { profiles, ceilings, .. } = records;
    let matrices = args.offdiag.as_deref().map(|folder| matrices(folder, &ceilings)).transpose()?;
    let output = match &args.output {
        Some(output) => output,
        None => Path::new("."),
    };
    charts::write(output, &profiles, &ceilings)?;
    charts::by_energies(output, &versions, &ceilings)?;
    matrices.iter().try_for_each(|of| charts::matrices(output, of))?;
    print(|to| {
        versions.iter().try_for_each(|version| profiles::by_energies(to, version, &ceilings))?;
        writeln!(to, "rooflines in {}", output.display())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The versions of Σ as a matrix; errors name the flag.
fn matrices<'a>(folder: &Path, ceilings: &'a Ceilings) -> Result<Matrices<'a>> {
    let found = Folder::load(folder).and_then(|folder| Matrices::of(&folder, ceilings));
    found.map_err(of_offdiag)
}

/// What is wrong with Σ as a matrix is said of its flag.
pub fn of_offdiag(error: Error) -> Error {
    match error {
        Error::Data { origin, what } => Error::Data { origin: format!("--offdiag {origin}"), what },
        other => other,
    }
}

/// The versions that the folders hold at several numbers of energies.
fn by_energies(args: &RooflineArgs, records: &Records) -> Result<Vec<ByEnergies>> {
    let mut all: Vec<Profile> = records.profiles.clone();
    let wrong =
        |folder: &Path, what: String| Error::Data { origin: folder.display().to_string(), what };
    let tells = |folder: &Path, profiles: &[Profile]| match profiles.iter().all(|p| p.nw.is_some())
    {
        true => Ok(()),
        false => {
            Err(wrong(folder, "does not tell its number of energies: `gpp profile` does".into()))
        }
    };
    if !args.with.is_empty() {
        tells(&records.folder, &all)?;
    }
    for folder in &args.with {
        let Records { system, profiles, ceilings, .. } = Records::load(folder)?;
        let [own, other] = [&records.ceilings.device, &ceilings.device];
        if (&records.system, own) != (&system, other) {
            let of = format!("is of {system} on {other}, --from of {} on {own}", records.system);
            return Err(wrong(folder, of));
        }
        tells(folder, &profiles)?;
        let twice = profiles.iter().find(|own| {
            all.iter().any(|other| (&other.version, other.nw) == (&own.version, own.nw))
        });
        if let Some(Profile { version, nw: Some(nw), .. }) = twice {
            return Err(wrong(
                folder,
                format!("has {version} at {nw} energies, which another has"),
            ));
        }
        all.extend(profiles);
    }
    let versions = ByEnergies::of(&all);
    match args.with.first() {
        Some(folder) if versions.is_empty() => {
            Err(wrong(folder, format!("has no version of {}", args.from.display())))
        }
        _ => Ok(versions),
    }
}
