//! Records in use are of the kernels as they are: each tells a hash of the code that ran, which this compiler's
//! kernels are compared with, and one of its source and what that uses, for any compiler.

mod common;

use std::collections::BTreeSet;

use common::repository;
use gpp::catalogue::sources;
use gpp::devices::gpu;
use gpp::experiments::offdiag::source;
use gpp::experiments::profile::folder;
use gpp::figures::archive::{Archive, System};
use gpp::figures::{energies, offdiag, processor};
use gpp::record::comparison::{Comparison, Racer, Side};
use gpp::record::offdiag::{OfVersion, Offdiag};
use gpp::record::profile::Profile;
use gpp::record::run::Run;
use gpp::record::scale::Scale;
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
    /// The version or its file, and the hash of its source.
    version: String,
    source: Option<String>,
}

/// A kernel's symbol and the hashes of its code and of its source.
type Hashes<'a> = [&'a Option<String>; 3];

/// The kernels of a record, each with what it is of and its version.
fn kernels<'a>(
    record: &str,
    head: &Head,
    all: impl IntoIterator<Item = (String, &'a str, Hashes<'a>)>,
) -> Vec<Of> {
    let by = head.provenance.as_ref().and_then(|provenance| provenance.kernels_by.clone());
    let of = |(what, version, [symbol, hash, source]): (String, &str, Hashes)| Of {
        what: format!("{record}, {what}"),
        by: by.clone(),
        symbol: symbol.clone(),
        hash: hash.clone(),
        version: version.into(),
        source: source.clone(),
    };
    all.into_iter().map(of).collect()
}

fn of_run(name: &str, run: &Run) -> Vec<Of> {
    let results = run.results.iter();
    let all = results.map(|one| {
        let hashes = [&one.kernel, &one.kernel_hash, &one.source_hash];
        (one.version.clone(), one.version.as_str(), hashes)
    });
    kernels(name, &run.head, all)
}

fn of_profiles(name: &str, profiles: &[Profile]) -> Vec<Of> {
    let of = |profile: &Profile| Of {
        what: format!("{name}, profile of {}", profile.version),
        by: profile.kernels_by.clone(),
        symbol: profile.launches.first().cloned(),
        hash: profile.kernel_hash.clone(),
        version: profile.version.clone(),
        source: profile.source_hash.clone(),
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
        (name, of_comparison(name, &record))
    });
    let scalings = ["scaling-real", "scaling-complex"].map(|file| {
        let record: Scale = archive.record("scaling", &format!("{file}.json")).unwrap();
        let all = record.points.iter().map(|point| {
            let what = format!("{} at {} terms", point.line.name(), point.terms());
            let hashes = [&point.kernel, &point.kernel_hash, &record.source_hash];
            (what, record.version.as_str(), hashes)
        });
        ("scaling", kernels(file, &record.head, all))
    });
    let tunings = ["tune-real", "tune-complex"].map(|file| {
        let record: Tuning = archive.record("tuning", &format!("{file}.json")).unwrap();
        let all = record.results.iter().map(|trial| {
            let hashes = [&trial.kernel, &trial.kernel_hash, &trial.source_hash];
            (format!("{:?}", trial.shape), record.version.as_str(), hashes)
        });
        ("tuning", kernels(file, &record.head, all))
    });
    comparisons.into_iter().chain(scalings).chain(tunings).collect()
}

/// The kernels of our side.
fn of_comparison(name: &str, record: &Comparison) -> Vec<Of> {
    let racers =
        record.heats.iter().flat_map(|heat| heat.racers.iter().map(move |one| (heat, one)));
    let ours = racers.filter(|(_, racer)| racer.side == Side::Rust).map(|(heat, racer)| {
        let Racer { kernel, kernel_hash, source_hash, name, .. } = racer;
        (format!("{name} on {}", heat.system), name.as_str(), [kernel, kernel_hash, source_hash])
    });
    kernels(name, &record.head, ours)
}

/// What a processor ran: its systems, its energies, and beside Fortran.
fn of_processor(archive: &Archive) -> Vec<Of> {
    let systems = processor::RUNS.iter().map(|(system, _)| *system).chain(["si214"]);
    let mut all: Vec<Of> = systems
        .flat_map(|system| of_run(system, &processor::run(archive, system).unwrap()))
        .collect();
    for folder in processor::ENERGIES {
        let runs = processor::runs(archive, folder).unwrap();
        all.extend(runs.iter().flat_map(|(nw, run)| of_run(&format!("{folder}/{nw}"), run)));
    }
    let profiles = folder::load(&archive.path(processor::NAME).with_file_name("demo")).unwrap();
    all.extend(of_profiles("demo", &profiles));
    all.extend(of_comparison("race", &processor::comparison(archive).unwrap()));
    all
}

/// The kernels that matrices were summed by.
fn of_matrices(archive: &Archive) -> Vec<Of> {
    let of = |record: &Offdiag, own: &OfVersion| {
        let file = source(own.version.as_deref());
        let hashes = own.kernel_hashes.iter().flatten();
        let mut all: Vec<_> =
            hashes.map(|(symbol, hash)| (Some(symbol.clone()), Some(hash.clone()))).collect();
        if own.version.is_none() {
            all.push((None, None));
        }
        let all = all.iter().map(|(symbol, hash)| {
            let what = format!("{} bands, {symbol:?}", record.count());
            (what, file.as_str(), [symbol, hash, &own.source_hash])
        });
        kernels(offdiag::NAME, &record.head, all)
    };
    let matrices = offdiag::Matrices::read(archive).unwrap();
    let on_processor = offdiag::processor::records(archive).unwrap();
    let on_gpus = matrices.records().flat_map(|(record, own)| of(record, own));
    on_gpus.chain(on_processor.iter().flat_map(|record| of(record, &record.results[0]))).collect()
}

/// What comparing records with the kernels as they are came to.
#[derive(Debug, Default, PartialEq)]
struct Compared {
    /// Records whose kernel has other code today, or whose version has another source.
    other: Vec<String>,
    /// Records that tell nothing by which this build could compare them.
    not: Vec<String>,
}

/// Compares records with the kernels of this build: by their code where this is their compiler, else by their
/// sources.
fn compared<'a>(kernels: impl IntoIterator<Item = &'a Of>) -> Compared {
    let mut found = Compared::default();
    for Of { what, by, symbol, hash, version, source } in kernels {
        let is_by_this = by.is_some() && by.as_deref() == gpu::KERNELS_BY;
        let code = symbol.as_deref().zip(hash.as_deref()).filter(|_| is_by_this);
        let (of, recorded, today) = match (code, source) {
            (Some((symbol, hash)), _) => (symbol, hash, gpu::hash(symbol)),
            (None, Some(source)) => {
                let today = sources::hash(version).or_else(|| sources::hash_at(version));
                (version.as_str(), source.as_str(), today)
            }
            (None, None) => {
                found.not.push(format!("{what}, by {}", by.as_deref().unwrap_or("no compiler")));
                continue;
            }
        };
        if today.as_deref() != Some(recorded) {
            let today = today.unwrap_or("no such kernel".into());
            found.other.push(format!("{what}: {of} was {recorded}, is {today}"));
        }
    }
    found
}

/// What a build has to be to compare records without hashes of their sources.
const BY: Option<&str> = gpu::KERNELS_BY;

#[test]
fn records_in_use_are_of_the_kernels_as_they_are() {
    let archive = Archive::open(&repository("")).unwrap();
    let mut unhashed = BTreeSet::new();
    for (name, kernels) in of_systems(&archive)
        .into_iter()
        .chain(of_others(&archive))
        .chain([(processor::NAME, of_processor(&archive)), (offdiag::NAME, of_matrices(&archive))])
    {
        assert!(!kernels.is_empty(), "{name}");
        let folder = archive.folder(name);
        if kernels.iter().any(|of| of.hash.is_none() && of.source.is_none()) {
            unhashed.insert(folder.to_string());
            continue;
        }
        let Compared { other, not } = compared(&kernels);
        assert!(other.is_empty(), "{folder}: older than their kernels:\n{}", other.join("\n"));
        assert!(not.is_empty(), "{folder}: nothing that {BY:?} could compare:\n{}", not.join("\n"));
    }
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
            assert_eq!(compared(&kernels), Compared::default());
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
    let by = gpu::KERNELS_BY.expect("a build with kernels: see `gpp info`");
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
    let of = |run: &Run, profiles: &[Profile]| {
        compared(&both(of_run("run", run), of_profiles("of", profiles)))
    };
    assert_eq!(of(&run, &profiles), Compared::default());

    run.results[3].kernel_hash = run.results[4].kernel_hash.clone();
    profiles[5].launches[0] = "gpp_gone".into();
    let found = of(&run, &profiles).other;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("run, v3: ") && found[1].ends_with("is no such kernel"));
    // Of another compiler's kernels the sources are compared, and without these nothing.
    run.head.provenance.as_mut().unwrap().kernels_by = Some("rustc 1.0.0, LLVM 3.6.0".into());
    run.results.iter_mut().for_each(|result| result.source_hash = None);
    assert_eq!(of(&run, &[]).not.len(), run.results.len());
    for result in &mut run.results {
        result.source_hash = sources::hash(&result.version);
    }
    assert_eq!(of(&run, &[]), Compared::default());
    run.results[2].source_hash = sources::hash("v13");
    let found = of(&run, &[]).other;
    assert!(found.len() == 1 && found[0].starts_with("run, v2: v2 was "), "{found:?}");
}
