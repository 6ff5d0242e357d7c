//! Whether the version that is chosen for a problem is the fastest, by times that were measured.

use std::path::{Path, PathBuf};

use gpp::catalogue::{BackEnd, Task, best_for};
use gpp::kernels::plan::Poles;
use gpp::problem::systems;
use gpp::record;
use gpp::record::run::{Measurement, Run};

use crate::common;

/// The versions that `best` chooses between, on a back end, and the time of each.
fn times(run: &Run) -> Vec<(String, f64)> {
    let time = |result: &Measurement| (result.version.clone(), result.times.median);
    run.results.iter().map(time).collect()
}

/// Fails where the version chosen takes longer than the fastest by more than this factor.
fn choice_is_fast(task: &Task, back_end: BackEnd, times: &[(String, f64)], most: f64) {
    let chosen = best_for(back_end, task);
    let least = times.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let (_, time) = times.iter().find(|(id, _)| id == chosen.id()).expect("it ran");
    assert!(*time <= most * least, "{} at {task:?}: {times:?}", chosen.id());
}

#[test]
fn the_choice_is_the_fastest_of_archived_runs() {
    let mut compared = 0;
    let folders = ["energies", "energies-complex", "energies-demo-complex"];
    for folder in folders.iter().flat_map(|name| glob(&format!("data/runs/*/{name}"))) {
        for path in files(&folder) {
            let Ok(run) = record::read::<Run>(&path) else { continue };
            let system = &run.system;
            let is_any = systems::find(&system.name).unwrap().complex_modes;
            let task = Task {
                nbands: system.nbands,
                pairs: (system.ngpown * system.ncouls) as u64,
                nw: system.nw(),
                poles: if is_any { Poles::Any } else { Poles::Real },
            };
            let sorts = |result: &Measurement| result.version.starts_with("sigma:");
            if run.results.len() > 1 && run.results.iter().any(sorts) {
                let back_end = run.head.device.back_end();
                choice_is_fast(&task, back_end, &times(&run), 1.1);
                compared += 1;
            }
        }
    }
    assert!(compared >= 11, "{compared} records");
}

/// 501 energies of poles off the real axis in at most forty times the time of two, each by the fastest version.
#[test]
fn many_energies_take_as_long_as_some_do() {
    let all = [
        "h200-2026-11-23/energies-complex",
        "cpu-2026-11-25/energies-complex",
        "cpu-2026-11-25/energies-demo-complex",
    ];
    for folder in all {
        let [two, many] = [2, 501].map(|nw| {
            let path = common::repository(&format!("data/runs/{folder}/run-{nw}.json"));
            let run: Run = record::read(&path).unwrap();
            assert_eq!(run.system.nw(), nw);
            times(&run).into_iter().map(|(_, time)| time).fold(f64::INFINITY, f64::min)
        });
        assert!(many <= 40.0 * two, "{folder}: {many} s for {two} s");
    }
}

/// The folders of a pattern with one `*`.
fn glob(pattern: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let (before, after) = pattern.split_once('*').expect("a star");
    let (folder, begin) = before.rsplit_once('/').expect("a folder");
    let (end, rest) = after.split_once('/').unwrap_or((after, ""));
    let (begin, end, rest) = (begin.to_string(), end.to_string(), rest.to_string());
    files(&common::repository(folder)).into_iter().filter_map(move |path| {
        let name = path.file_name()?.to_str()?.to_string();
        (name.starts_with(&begin) && name.ends_with(&end)).then(|| path.join(&rest))
    })
}

/// What is in a folder, nothing where there is none.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}
