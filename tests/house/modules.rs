//! A crate's modules, and which of them each names: in `use`, in paths and inside macros.
//!
//! Files are read as tokens, so comments and strings are none and the tokens of a macro count like
//! any others. A path is followed through re-exports to the module that has the item. What is named
//! without a path, a method or what a glob brings in, is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tokens::{self, Named};

/// A module's path from the crate's root, which is empty.
pub type Module = Vec<String>;

/// One place where a file names another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The module that names, and the one that is named: both are files.
    pub from: Module,
    pub to: Module,
    /// `file:line`.
    pub place: String,
}

struct Contents {
    /// The module whose file this is in.
    file: Module,
    path: PathBuf,
    named: Vec<Named>,
}

/// The modules of one crate.
pub struct Modules(BTreeMap<Module, Contents>);

impl Modules {
    /// Reads `lib.rs` and every module below `folder`, a path relative to `root`.
    ///
    /// # Panics
    /// Where a file cannot be read or is no Rust.
    pub fn read(root: &Path, folder: &str) -> Modules {
        let mut modules = Modules(BTreeMap::new());
        let sources = crate::files::all(root).into_iter().filter(|path| {
            path.starts_with(folder) && path.extension().is_some_and(|extension| extension == "rs")
        });
        for path in sources {
            let inside = path.strip_prefix(folder).unwrap().with_extension("");
            let mut module: Module =
                inside.iter().map(|part| part.to_str().unwrap().to_string()).collect();
            match module.last().map(String::as_str) {
                // A crate of its own, which nothing can name.
                Some("main") if module.len() == 1 => continue,
                Some("lib") if module.len() == 1 => _ = module.pop(),
                Some("mod") => _ = module.pop(),
                _ => {}
            }
            let text = fs::read_to_string(root.join(&path)).unwrap();
            for (inner, named) in tokens::named(&text, &path) {
                let contents = Contents { file: module.clone(), path: path.clone(), named };
                modules.0.insert([module.clone(), inner].concat(), contents);
            }
        }
        modules
    }

    /// Modules that are files.
    pub fn files(&self) -> impl Iterator<Item = &Module> {
        self.0
            .iter()
            .filter(|(module, contents)| **module == contents.file)
            .map(|(module, _)| module)
    }

    /// Every place where one file names another.
    pub fn references(&self) -> BTreeSet<Reference> {
        let mut references = BTreeSet::new();
        for (module, contents) in &self.0 {
            for named in &contents.named {
                let mut found = BTreeSet::new();
                self.follow(module, &named.path, &mut BTreeSet::new(), &mut found);
                for (to, _) in found {
                    let to = self.0[&to].file.clone();
                    if to != contents.file {
                        let place = format!("{}:{}", contents.path.display(), named.line);
                        references.insert(Reference { from: contents.file.clone(), to, place });
                    }
                }
            }
        }
        references
    }

    /// Finds the modules that a path named in `module` may lead to, each with what is left of the
    /// path there: nothing where it names the module itself. Paths of other crates lead nowhere.
    fn follow(
        &self,
        module: &Module,
        path: &[String],
        seen: &mut BTreeSet<(Module, Vec<String>)>,
        found: &mut BTreeSet<(Module, Vec<String>)>,
    ) {
        let (mut at, mut rest) = (module.clone(), path);
        let mut rooted = false;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "super" => _ = at.pop(),
                "self" => {}
                _ => break,
            }
            (rooted, rest) = (true, after);
        }
        if !seen.insert((at.clone(), rest.to_vec())) {
            return;
        }
        let Some((first, after)) = rest.split_first() else {
            found.insert((at, Vec::new()));
            return;
        };
        let child = [at.as_slice(), std::slice::from_ref(first)].concat();
        if self.0.contains_key(&child) {
            let rest = [&["self".to_string()], after].concat();
            return self.follow(&child, &rest, seen, found);
        }
        let Some(contents) = self.0.get(&at) else { return };
        let mut imported = false;
        for named in &contents.named {
            if named.name.as_ref() == Some(first) {
                let mut targets = BTreeSet::new();
                self.follow(&at, &named.path, seen, &mut targets);
                imported |= !targets.is_empty() || named.path[0] != *first;
                for (target, left) in targets {
                    if left.is_empty() {
                        let rest = [&["self".to_string()], after].concat();
                        self.follow(&target, &rest, seen, found);
                    } else {
                        found.insert((target, left));
                    }
                }
            }
        }
        if rooted && !imported {
            found.insert((at, rest.to_vec()));
        }
    }
}
