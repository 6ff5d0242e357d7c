//! Records in use are of the kernels as they are: each tells a hash of the code that ran.

mod common;

use std::collections::BTreeSet;

use common::repository;
use gpp::devices::gpu;
use gpp::figures::archive::{Archive, System};
use gpp::figures::energies;
use gpp::record::comparison::Comparison;
use gpp::record::profile::Profile;
use gpp::record::run::Run;
use gpp::record::scaling::Scaling;
use gpp::record::tuning::Tuning;
use gpp::record::{self, Head};

/// A kernel that a record is of.
struct Of {
    /// The record and what of it.
    what: String,
    /// The kernel's compiler.
    by: Option<String>,
    symbol: Option<String>,
    hash: Option<String>,
}

/// The kernels of a record, each with what it is of, its symbol and its hash.
fn kernels<'a>(
    record: &str,
    head: &Head,
    all: impl IntoIterator<Item = (String, &'a Option<String>, &'a Option<String>)>,
) -> Vec<Of> {
    let by = head.provenance.as_ref().and_then(|provenance| provenance.kernels_by.clone());
    let of = |(what, symbol, hash): (String, &Option<String>, &Option<String>)| Of {
        what: format!("{record}, {what}"),
        by: by.clone(),
        symbol: symbol.clone(),
        hash: hash.clone(),
    };
    all.into_iter().map(of).collect()
}

fn of_run(name: &str, run: &Run) -> Vec<Of> {
    let results = run.results.iter();
    let all = results.map(|one| (one.version.clone(), &one.kernel, &one.kernel_hash));
    kernels(name, &run.head, all)
}

fn of_profiles(name: &str, profiles: &[Profile]) -> Vec<Of> {
    let of = |profile: &Profile| Of {
        what: format!("{name}, profile of {}", profile.version),
        by: profile.kernels_by.clone(),
        symbol: profile.launches.first().cloned(),
        hash: profile.kernel_hash.clone(),
    };
    profiles.iter().map(of).collect()
}

fn both(mut one: Vec<Of>, other: Vec<Of>) -> Vec<Of> {
    one.extend(other);
    one
}

/// The kernels of the records of systems and energies.
fn of_systems(archive: &Archive) -> Vec<(&'static str, Vec<Of>)> {
    let systems = archive.systems().map(|(name, System { run, profiles, .. })| {
        (name, both(of_run(name, run), of_profiles(name, profiles)))
    });
    let runs = energies::runs(archive).unwrap();
    let runs = runs.iter().map(|(nw, run)| ("energies", of_run(&format!("run-{nw}"), run)));
    let profiled = energies::profiled(archive).unwrap();
    let profiled = profiled.iter().map(|(nw, records)| {
        let name = format!("nw{nw}");
        let profiles = of_profiles(&name, &records.profiles);
        ("energies", both(of_run(&name, &records.run().unwrap()), profiles))
    });
    systems.chain(runs).chain(profiled).collect()
}

/// The kernels of comparisons, scalings and tunings.
fn of_others(archive: &Archive) -> Vec<(&'static str, Vec<Of>)> {
    let comparisons = ["compare", "compare-si510"].map(|name| {
        let record: Comparison = archive.record(name, &format!("{name}.json")).unwrap();
        let parity = record.parity.iter().map(|row| {
            (format!("{} on {}", row.version, row.system), &row.kernel, &row.kernel_hash)
        });
        let best = record.best.iter();
        let best =
            best.map(|row| (format!("best on {}", row.system), &row.kernel, &row.kernel_hash));
        (name, kernels(name, &record.head, parity.chain(best)))
    });
    let scalings = ["scaling-real", "scaling-complex"].map(|file| {
        let record: Scaling = archive.record("scaling", &format!("{file}.json")).unwrap();
        let points = record.points.iter();
        let all = points.map(|point| {
            let what = format!("{} at {} terms", point.line.name(), point.terms);
            (what, &point.kernel, &point.kernel_hash)
        });
        ("scaling", kernels(file, &record.head, all))
    });
    let tunings = ["tune-real", "tune-complex"].map(|file| {
        let record: Tuning = archive.record("tuning", &format!("{file}.json")).unwrap();
        let trials = record.results.iter();
        let all =
            trials.map(|trial| (format!("{:?}", trial.shape), &trial.kernel, &trial.kernel_hash));
        ("tuning", kernels(file, &record.head, all))
    });
    comparisons.into_iter().chain(scalings).chain(tunings).collect()
}

/// Records by this compiler whose kernel has other code today.
fn of_other_code(kernels: &[Of]) -> Vec<String> {
    let here = kernels.iter().filter(|of| of.by.is_some() && of.by.as_deref() == gpu::KERNELS_BY);
    let other = here.filter_map(|Of { what, symbol, hash, .. }| {
        let (symbol, recorded) = (symbol.as_deref()?, hash.as_deref()?);
        let today = gpu::hash(symbol);
        (today.as_deref() != Some(recorded)).then(|| {
            let today = today.unwrap_or("no such kernel".into());
            format!("{what}: {symbol} was {recorded}, is {today}")
        })
    });
    other.collect()
}

#[test]
fn records_in_use_are_of_the_kernels_as_they_are() {
    let archive = Archive::open(&repository("")).unwrap();
    let (mut unhashed, mut other) = (BTreeSet::new(), Vec::new());
    for (name, kernels) in of_systems(&archive).into_iter().chain(of_others(&archive)) {
        assert!(!kernels.is_empty(), "{name}");
        if kernels.iter().any(|of| of.symbol.is_none() || of.hash.is_none()) {
            unhashed.insert(archive.folder(name).to_string());
        }
        let of_folder = |one: String| format!("{}/{one}", archive.folder(name));
        other.extend(of_other_code(&kernels).into_iter().map(of_folder));
    }
    assert!(other.is_empty(), "older than their kernels:\n{}", other.join("\n"));
    let listed: BTreeSet<String> = archive.unhashed().iter().cloned().collect();
    assert_eq!(unhashed, listed, "`unhashed` of data/runs/figures.json");
}

/// Runs and profiles that lie beside those in use: of other journeys, and of versions that a system's own lack.
#[test]
fn so_are_the_records_beside_them() {
    let archive = Archive::open(&repository("")).unwrap();
    let mut looked_at = BTreeSet::new();
    for folder in ["si214", "si510", "compare"].map(|name| archive.folder(name)) {
        for path in common::json(&archive.runs.join(folder)) {
            let what = path.display().to_string();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let kernels = match name.split('-').next() {
                Some("run") => of_run(&what, &record::read(&path).unwrap()),
                Some("profile") => of_profiles(&what, &[record::read(&path).unwrap()]),
                _ => continue,
            };
            let is_told = |of: &Of| of.symbol.is_some() && of.hash.is_some();
            assert!(!kernels.is_empty() && kernels.iter().all(is_told), "{what} has no hash");
            assert_eq!(of_other_code(&kernels), Vec::<String>::new());
            looked_at.extend(kernels.into_iter().filter_map(|of| of.symbol));
        }
    }
    // Every version's kernels are among them.
    for version in gpp::kernels::versions::ALL {
        let stem = format!("gpp_{}", version.id().to_lowercase().replace(':', "_"));
        let is_of = |symbol: &String| *symbol == stem || symbol.starts_with(&format!("{stem}_"));
        assert!(looked_at.iter().any(is_of), "{stem}");
    }
}

#[test]
fn a_record_of_other_code_is_found() {
    let Some(by) = gpu::KERNELS_BY else { return };
    let archive = Archive::open(&repository("")).unwrap();
    let System { run, profiles, .. } = archive.system("si214").unwrap();
    let (mut run, mut profiles) = (run.clone(), profiles.clone());
    run.head.provenance.as_mut().unwrap().kernels_by = Some(by.into());
    for result in &mut run.results {
        result.kernel_hash = result.kernel.as_deref().and_then(gpu::hash);
        assert!(result.kernel_hash.is_some(), "{}", result.version);
    }
    for profile in &mut profiles {
        profile.kernels_by = Some(by.into());
        profile.kernel_hash = gpu::hash(&profile.launches[0]);
        assert!(profile.kernel_hash.is_some(), "{}", profile.version);
    }
    let all =
        |run: &Run, profiles: &[Profile]| both(of_run("run", run), of_profiles("of", profiles));
    assert_eq!(of_other_code(&all(&run, &profiles)), Vec::<String>::new());

    run.results[3].kernel_hash = run.results[4].kernel_hash.clone();
    profiles[5].launches[0] = "gpp_gone".into();
    let found = of_other_code(&all(&run, &profiles));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("run, v3: ") && found[1].ends_with("is no such kernel"));
    // Of another compiler's kernels nothing is known here.
    run.head.provenance.as_mut().unwrap().kernels_by = Some("rustc 1.0.0, LLVM 3.6.0".into());
    assert_eq!(of_other_code(&all(&run, &profiles)).len(), 1);
}
