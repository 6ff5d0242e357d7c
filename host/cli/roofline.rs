//! `gpp roofline`: charts from stored profiles; nothing runs.

use std::process::ExitCode;

use super::args::RooflineArgs;
use crate::analysis::by_energies::ByEnergies;
use crate::error::{Error, Result};
use crate::experiments::profile::folder::Records;
use crate::process::output::{print, require_name};
use crate::record::profile::Profile;
use crate::render::{charts, profiles};

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "folder")?;
    }
    let records = Records::load(&args.dir)?;
    let versions = by_energies(args, &records)?;
    let Records { folder, profiles, ceilings, .. } = records;
    let output = args.output.as_ref().unwrap_or(&folder);
    charts::write(output, &profiles, &ceilings)?;
    charts::by_energies(output, &versions, &ceilings)?;
    print(|to| {
        versions.iter().try_for_each(|version| profiles::by_energies(to, version, &ceilings))?;
        writeln!(to, "rooflines in {}", output.display())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The versions that the folders hold at several numbers of energies.
fn by_energies(args: &RooflineArgs, records: &Records) -> Result<Vec<ByEnergies>> {
    let mut all: Vec<Profile> = records.profiles.clone();
    for folder in &args.with {
        let Records { system, profiles, ceilings, .. } = Records::load(folder)?;
        let wrong = |what: String| Error::Data { origin: folder.display().to_string(), what };
        let [own, other] = [&records.ceilings.device, &ceilings.device];
        if (&records.system, own) != (&system, other) {
            let of = format!("is of {system} on {other}, --dir of {} on {own}", records.system);
            return Err(wrong(of));
        }
        if profiles.iter().any(|profile| profile.nw.is_none()) {
            return Err(wrong("does not tell its number of energies: `gpp profile` does".into()));
        }
        all.extend(profiles);
    }
    let versions = ByEnergies::of(&all);
    match args.with.first() {
        Some(folder) if versions.is_empty() => Err(Error::Data {
            origin: folder.display().to_string(),
            what: format!("has no version of {} at another number of energies", args.dir.display()),
        }),
        _ => Ok(versions),
    }
}
