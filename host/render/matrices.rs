//! Tables of stored records of Σ as a matrix.

use gpp_core::offdiag::versions::{self, Version};

use super::table::{Cells, or_dash};
use crate::experiments::offdiag::folder::{COUNTERS, Counter, Folder};
use crate::record::offdiag::{OfVersion, Offdiag};
use crate::record::state::State;

/// What the board did meanwhile.
pub const BOARD: [&str; 3] = ["MHz", "W", "J"];

/// Median clock, mean power and the joules of a calculation.
pub fn of_board(own: Option<&OfVersion>) -> [String; 3] {
    let state = own.and_then(|own| own.state.as_ref());
    let whole = |value: f64| format!("{value:.0}");
    [
        or_dash(state.and_then(|state| state.sm_mhz).map(|mhz| whole(mhz.median))),
        or_dash(state.and_then(State::watts).map(whole)),
        or_dash(own.and_then(OfVersion::joules).map(whole)),
    ]
}

/// A row for each version of a system and so many bands.
pub fn by_version(folder: &Folder, system: &str, bands: usize) -> Cells {
    let of = |id| folder.find(system, bands, id).map(|(_, own)| own);
    let row = |version: &&Version| {
        let own = of(version.id);
        let seconds = own.map(|own| own.time_s.median);
        let before = version.from.and_then(of).map(|before| before.time_s.median);
        let faster = before.zip(seconds).map(|(before, now)| format!("{:.2}", before / now));
        let row = [
            version.id.into(),
            format!("{:.1}", version.capability),
            version.change.into(),
            or_dash(seconds.map(|seconds| format!("{seconds:.2}"))),
            or_dash(own.map(|own| format!("{:.1}", own.tflops))),
            or_dash(faster),
        ];
        row.into_iter().chain(of_board(own)).collect()
    };
    let own = ["version", "capability", "what it changes", "time [s]", "TFLOP/s", "× before"];
    let headings = own.into_iter().chain(BOARD).map(String::from).collect();
    Cells { headings, rows: versions::ALL.iter().map(row).collect() }
}

/// Counters of each version's first product of `sch`.
pub fn counters(folder: &Folder) -> Cells {
    let row = |version: &&Version| {
        let cell = |counter: &Counter| {
            let value = folder.counter(version, counter.metric);
            or_dash(value.map(|value| format!("{:.*}", counter.decimals, counter.factor * value)))
        };
        [version.id.into()].into_iter().chain(COUNTERS.iter().map(cell)).collect()
    };
    let heading = |counter: &Counter| format!("{} [{}]", counter.name, counter.unit);
    let headings = ["version".into()].into_iter().chain(COUNTERS.iter().map(heading)).collect();
    Cells { headings, rows: versions::ALL.iter().map(row).collect() }
}

/// A row for each record, of its fastest version, by system and number of bands.
pub fn by_bands(folder: &Folder) -> Cells {
    let mut found: Vec<(&Offdiag, &OfVersion)> =
        folder.records.iter().filter_map(|record| Some((record, record.fastest()?))).collect();
    found.sort_by_key(|(record, _)| (&record.system.name, record.count()));
    let row = |(record, own): (&Offdiag, &OfVersion)| {
        let error = own.verification.as_ref().and_then(|verdict| verdict.max_rel_error);
        let row = [
            record.system.name.clone(),
            record.count().to_string(),
            or_dash(own.version.as_ref()),
            format!("{:.2}", own.time_s.median),
            format!("{:.1}", own.tflops),
        ];
        let error = or_dash(error.map(|error| format!("{error:.1e}")));
        row.into_iter().chain(of_board(Some(own))).chain([error]).collect()
    };
    let own = ["system", "bands", "version", "time [s]", "TFLOP/s"];
    let headings = own.into_iter().chain(BOARD).chain(["error"]).map(String::from).collect();
    Cells { headings, rows: found.into_iter().map(row).collect() }
}
