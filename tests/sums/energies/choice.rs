//! Whether the version that is chosen for a problem is the fastest, by times that were measured.

use std::fs;

use gpp::catalogue::best_for;
use gpp::kernels::plan::Poles;
use gpp::problem::{Extents, Outline, System, synthesis};
use gpp::record;
use gpp::record::run::{Measurement, RunRecord};

use crate::common::{json, repository};

#[test]
fn the_choice_is_the_fastest_of_archived_runs() {
    let mut compared = 0;
    let archive = fs::read_dir(repository("data/runs")).unwrap();
    let folders = archive.map(|entry| entry.unwrap().path()).flat_map(|run| {
        ["energies", "energies-wide", "energies-complex", "energies-demo-complex"]
            .map(|name| run.join(name))
    });
    for path in folders.filter(|folder| folder.exists()).flat_map(|folder| json(&folder)) {
        let Ok(run) = record::read::<RunRecord>(&path) else { continue };
        let system = &run.system;
        let is_any = System::find(&system.name).unwrap().complex_modes;
        let extents = Extents { nw: system.nw(), ..System::find(&system.name).unwrap().extents() };
        let poles = if is_any { Poles::Any } else { Poles::Real };
        let header = synthesis::header(System::find(&system.name).unwrap(), 0);
        let least = system.energies_ev.iter().copied().fold(f64::INFINITY, f64::min);
        let least = system.state_ev.unwrap_or(0.0) + least;
        let cut_bands = (0..system.nvband as usize).filter(|&n| header.e(n) > least).count();
        let outline = Outline { extents, cut_bands, poles, keeps_order: true, lists_once: false };
        let sorts = |result: &Measurement| result.version.starts_with("sigma:");
        if run.results.len() > 1 && run.results.iter().any(sorts) {
            let chosen = best_for(run.head.device.back_end(), outline);
            // v14 is for those who ask for it: its last bits depend on slabs.
            let is_asked =
                |result: &&Measurement| result.version != "v14" && !result.is_sigma_alone();
            let others = run.results.iter().filter(is_asked);
            let times = others.map(|result| result.times.median);
            let least = times.fold(f64::INFINITY, f64::min);
            // No archived run has the versions that came after it.
            let own = run.results.iter().find(|result| result.version == chosen.id());
            let Some(time) = own.map(|own| own.times.median) else { continue };
            assert!(time <= 1.1 * least, "{} at {outline:?}: {time} s, {least} s", chosen.id());
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared} records");
}
