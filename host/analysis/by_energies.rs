//! The roofline with the number of energies as its knob: a version at several of them.

use std::collections::BTreeMap;

use crate::catalogue::order;
use crate::record::profile::Profile;

/// A version at several numbers of energies.
pub struct ByEnergies {
    /// The version's id.
    pub version: String,
    /// Its profiles by number, each with it for a name: `nw 6`.
    pub profiles: Vec<Profile>,
    numbers: Vec<u32>,
}

impl ByEnergies {
    /// The versions with profiles at more than one number of energies, in their order. Of two profiles at one
    /// number the first counts. Profiles that do not tell their number are left out.
    pub fn of(profiles: &[Profile]) -> Vec<ByEnergies> {
        let mut versions: BTreeMap<(usize, &str), BTreeMap<u32, &Profile>> = BTreeMap::new();
        for profile in profiles {
            let Some(nw) = profile.nw else { continue };
            let place = order::place(&profile.version).unwrap_or(usize::MAX);
            versions.entry((place, &profile.version)).or_default().entry(nw).or_insert(profile);
        }
        versions.retain(|_, by_number| by_number.len() > 1);
        let of_version = |by_number: BTreeMap<u32, &Profile>| ByEnergies {
            version: by_number.values().next().map_or(String::new(), |p| p.version.clone()),
            numbers: by_number.keys().copied().collect(),
            profiles: by_number.into_iter().map(|(nw, profile)| at(profile, nw)).collect(),
        };
        versions.into_values().map(of_version).collect()
    }

    /// File name of its chart, without the ending.
    pub fn name(&self) -> String {
        format!("roofline-energies-{}", self.version.replace(':', "-"))
    }

    /// What its chart says above.
    pub fn title(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        format!("{}, {} energies", self.version, numbers.join(", "))
    }
}

/// A profile with the number of energies for a name.
fn at(profile: &Profile, nw: u32) -> Profile {
    Profile { version: format!("nw {nw}"), ..profile.clone() }
}
