//! Profiles for the terminal.

use std::io::{self, Write};
use std::path::Path;

use super::table::{fit, or_dash, table, terminal};
use super::units::Unit;
use crate::analysis::by_energies::ByEnergies;
use crate::analysis::levels::Level;
use crate::analysis::peaks::of_own_ceiling;
use crate::analysis::roofline::{Timing, points};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// One line for each profile: what it takes, moves and waits for.
fn profiles(profiles: &[Profile], ceilings: Option<&Ceilings>, width: Option<u16>) -> String {
    let time = Unit::of_times(profiles.iter().map(Profile::seconds));
    let rate = Unit::of_rates(profiles.iter().map(Profile::rate));
    let mut table = table(&[
        "version",
        &format!("time [{}]", time.name),
        rate.name,
        "FLOP/term",
        "FMA",
        "of its ceiling",
        "sustained",
        "FP64 busy",
        "FLOP/B HBM",
        "L2",
        "L1",
        "shared",
        "waits for",
    ]);
    let timing = Timing::of(profiles);
    for p in profiles {
        let points = points(p, timing);
        let [hbm, l2, l1, shared] =
            [Level::Hbm, Level::L2, Level::L1, Level::Shared].map(|level| {
                let point = points.iter().find(|point| point.level == level);
                or_dash(point.map(|point| format!("{:.2}", point.intensity)))
            });
        let own = ceilings.map(|ceilings| of_own_ceiling(p, ceilings));
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        table.add_row(vec![
            p.version.clone(),
            time.show(p.seconds()),
            rate.show(p.rate()),
            format!("{:.1}", p.flops_per_term()),
            percent(p.fma_ratio()),
            or_dash(own.map(|own| percent(own.burst))),
            or_dash(own.and_then(|own| own.sustained).map(percent)),
            or_dash(p.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            hbm,
            l2,
            l1,
            shared,
            or_dash(p.main_stall().map(|(why, share)| format!("{why} {}", percent(share)))),
        ]);
    }
    fit(table, &[10, 11, 6, 5, 9, 4, 3], width)
}

/// A version at several numbers of energies.
///
/// # Errors
/// Those of `to`.
pub fn by_energies(to: &mut dyn Write, of: &ByEnergies, ceilings: &Ceilings) -> io::Result<()> {
    writeln!(to, "{}\n{}", of.version, profiles(&of.profiles, Some(ceilings), terminal()))
}

/// Profiles and the folder that they were stored in; shares of their own ceilings where these are known.
///
/// # Errors
/// Those of `to`.
pub fn stored(
    to: &mut dyn Write,
    made: &[Profile],
    ceilings: Option<&Ceilings>,
    folder: &Path,
) -> io::Result<()> {
    let width = terminal();
    writeln!(to, "{}", profiles(made, ceilings, width))?;
    writeln!(to, "{} profiles in {}", made.len(), folder.display())
}
