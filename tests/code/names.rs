//! Names that mean one thing, and modules that import each other in no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Paths and texts of all Rust in a folder but tests, examples and benches.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let some = entries.filter(|path| !path.ends_with("tests") && !path.ends_with("tests.rs"));
    let (folders, files): (Vec<_>, Vec<_>) = some.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let texts = files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
    texts.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'))
        .filter(|word| !word.is_empty())
}

/// Bindings by `let` and parameters whose names are pronouns.
fn bindings(text: &str) -> usize {
    let pronoun = |word: &str| ["own", "at", "all", "of", "whole", "rest", "own_"].contains(&word);
    let lets = text.split("let ").skip(1).filter(|rest| {
        let rest = rest.strip_prefix("mut ").unwrap_or(rest);
        words(rest).next().is_some_and(|word| rest.starts_with(word) && pronoun(word))
    });
    let parameters = text.split(['(', ',', '|']).skip(1).filter_map(|rest| rest.split_once(':'));
    let parameters = parameters.filter(|(name, _)| pronoun(name.trim()));
    lets.count() + parameters.count()
}

#[test]
fn names_mean_one_thing() {
    let (mut types, mut of, mut pronouns) = (BTreeMap::<String, usize>::new(), 0, 0);
    let folders = ["host", "core", "cpu", "kernels", "capi", "python", "build"].map(Path::new);
    for (_, text) in folders.into_iter().flat_map(sources) {
        for line in text.lines() {
            let mut words = words(line).skip_while(|word| ["pub", "crate", "super"].contains(word));
            let kind = words.next().unwrap_or_default();
            if ["struct", "enum", "trait", "union"].contains(&kind)
                && !line.trim_start().starts_with("//")
                && let Some(name) = words.next().filter(|name| name.starts_with(char::is_uppercase))
            {
                *types.entry(name.into()).or_default() += 1;
            }
        }
        let names = words(&text).collect::<Vec<_>>();
        of += names.windows(2).filter(|pair| pair == &["fn", "of"]).count();
        pronouns += bindings(&text);
    }
    types.retain(|_, count| *count > 1);
    assert!(types.len() <= 20, "{} types are defined twice: {types:?}", types.len());
    assert!(of <= 10, "{of} functions are called of");
    assert!(pronouns <= 120, "{pronouns} bindings are pronouns");
}

/// The modules of a crate that one imports, by its paths from `crate`.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
    let paths = code.split("crate::").skip(1).flat_map(|path| {
        let group = path.strip_prefix('{').and_then(|group| group.split('}').next());
        let names = group.unwrap_or(path).split(',').map(|item| words(item).next());
        names.take(if group.is_some() { usize::MAX } else { 1 }).flatten()
    });
    paths.map(String::from).collect()
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    for folder in ["host", "core/src", "cpu/src", "kernels/src", "capi/src", "python/src"] {
        let mut edges = BTreeMap::<String, BTreeSet<String>>::new();
        for (path, text) in sources(folder.as_ref()) {
            let path = path.strip_prefix(folder).unwrap().to_str().unwrap();
            let module = path.split('/').next().unwrap().trim_end_matches(".rs");
            if !["lib", "main"].contains(&module) {
                edges.entry(module.into()).or_default().extend(imports(&text));
            }
        }
        // What imports nothing that is left is taken away until nothing changes.
        while let Some(free) = edges.iter().find_map(|(module, imports)| {
            let is_free = imports.iter().all(|other| other == module || !edges.contains_key(other));
            is_free.then(|| module.clone())
        }) {
            edges.remove(&free);
        }
        let left = edges.keys();
        assert!(edges.is_empty(), "{folder}: modules in a circle, or above one: {left:?}");
    }
}
