//! How a problem was parted, and what each worker did.

use comfy_table::Cell;

use super::table::{fit, table};
use super::units::{Unit, time};
use crate::record::parting::{Parting, Place, Work};

/// The slabs in a line.
pub fn parting(parting: &Parting) -> String {
    let Parting { igp, slabs, in_memory, ranks, places, .. } = parting;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let whose = if *in_memory { "all in memory" } else { "made or read slab by slab" };
    format!(
        "{slabs} slab{} of {igp} G′, {whose}; {} worker{} of {ranks} rank{}",
        plural(*slabs),
        places.len(),
        plural(places.len()),
        plural(*ranks)
    )
}

/// A line for each worker.
pub fn shares(of: &Parting, work: &Work, width: Option<u16>) -> String {
    let seconds = work.shares.iter().flat_map(|share| [share.kernels_s, share.busy_s]);
    let unit = Unit::of_times(seconds);
    let mut shares = table(&[
        "worker",
        "slabs",
        "G′",
        &format!("kernels [{}]", unit.name),
        &format!("uploads [{}]", unit.name),
        "GB/s",
        &format!("source [{}]", unit.name),
        &format!("busy [{}]", unit.name),
        "UUID",
    ]);
    let shown = |seconds: f64| if seconds > 0.0 { unit.show(seconds) } else { "–".into() };
    for (place, share) in of.places.iter().zip(&work.shares) {
        let rate = share.uploaded as f64 / share.uploads_s / 1e9;
        shares.add_row(vec![
            Cell::new(worker(of, place)),
            Cell::new(share.slabs),
            Cell::new(share.igp),
            Cell::new(shown(share.kernels_s)),
            Cell::new(shown(share.uploads_s)),
            Cell::new(if rate.is_finite() { format!("{rate:.1}") } else { "–".into() }),
            Cell::new(shown(share.source_s)),
            Cell::new(shown(share.busy_s)),
            Cell::new(place.device.uuid.as_deref().unwrap_or("–")),
        ]);
    }
    let mut text = fit(shares, &[8, 6, 5], width);
    if let Some(imbalance) = work.imbalance.filter(|_| work.shares.len() > 1) {
        text +=
            &format!("\nimbalance {:.1} %: the longest busy over the average", imbalance * 100.0);
    }
    if let Some(first) = work.first_s {
        text += &format!("\nfirst calculation, nothing in place: {}", time(first));
    }
    text
}

/// A device, and whose it is where there are several.
fn worker(of: &Parting, place: &Place) -> String {
    match (&place.host, of.ranks) {
        (_, 1) => place.device.id.clone(),
        (Some(host), _) => format!("rank {} on {host}: {}", place.rank, place.device.id),
        (None, _) => format!("rank {}: {}", place.rank, place.device.id),
    }
}
