//! Which module may name which: layers, and no circles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::modules::{Module, Modules, Reference};

/// Every reference from a layer to one above it. `layers` names the crate's first level from the
/// bottom up; the root stands above all and may be named only for what it re-exports.
pub fn upward(modules: &Modules, layers: &[&str]) -> Vec<String> {
    let height = |module: &Module| match module.first() {
        None => Some(layers.len()),
        Some(name) => layers.iter().position(|layer| layer == name),
    };
    let mut found: Vec<String> = modules
        .files()
        .filter(|module| module.len() == 1 && height(module).is_none())
        .map(|module| format!("{} is in none of the layers {}", module[0], layers.join(", ")))
        .collect();
    for layer in layers {
        if !modules.files().any(|module| module[..] == [*layer]) {
            found.push(format!("there is no {layer}"));
        }
    }
    for Reference { from, to, place } in modules.references() {
        let both = height(&from).zip(height(&to));
        if both.is_some_and(|(from, to)| to > from) {
            let (from, to) = (name(&from), name(&to));
            found.push(format!("{place}: {from} names {to}, which is in a layer above it"));
        }
    }
    found
}

/// Circles of files, each with its members and the arrows of a shortest one.
pub fn circles(modules: &Modules) -> Vec<String> {
    let arrows = modules.references().into_iter().map(|r| (r.from.clone(), r.to.clone(), r.place));
    circles_of(arrows)
}

/// Circles between the children of a module, what is below a child being part of it. A module and
/// what is below it may name each other.
pub fn circles_of_siblings(modules: &Modules) -> Vec<String> {
    let arrows = modules.references().into_iter().filter_map(|Reference { from, to, place }| {
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let child = |module: &Module| module.get(..common + 1).map(<[String]>::to_vec);
        Some((child(&from)?, child(&to)?, place))
    });
    circles_of(arrows)
}

type Graph = BTreeMap<Module, BTreeMap<Module, String>>;

fn circles_of(arrows: impl Iterator<Item = (Module, Module, String)>) -> Vec<String> {
    let mut graph = Graph::new();
    for (from, to, place) in arrows {
        graph.entry(from).or_default().entry(to).or_insert(place);
    }
    let mut circles: BTreeMap<BTreeSet<&Module>, Vec<&Module>> = BTreeMap::new();
    for module in graph.keys() {
        let Some(way) = way(&graph, module, module) else { continue };
        let there = |to: &Module| self::way(&graph, module, to).is_some();
        let back = |from: &Module| self::way(&graph, from, module).is_some();
        let all = graph.keys().filter(|other| there(other) && back(other)).collect();
        let shortest = circles.entry(all).or_insert(way.clone());
        if way.len() < shortest.len() {
            *shortest = way;
        }
    }
    let describe = |(all, shortest): (BTreeSet<&Module>, Vec<&Module>)| {
        let names: Vec<String> = all.into_iter().map(name).collect();
        let mut text = format!("a circle of {}, {}:", names.len(), names.join(", "));
        for arrow in shortest.windows(2) {
            let [from, to] = arrow else { unreachable!("windows of two") };
            let place = &graph[*from][*to];
            text += &format!("\n  {place}: {} names {}", name(from), name(to));
        }
        text
    };
    circles.into_iter().map(describe).collect()
}

/// The shortest way along at least one arrow, both ends included.
fn way<'g>(graph: &'g Graph, from: &'g Module, to: &'g Module) -> Option<Vec<&'g Module>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in graph.get(way[way.len() - 1]).into_iter().flat_map(BTreeMap::keys) {
            let longer = [&way[..], &[next]].concat();
            if next == to {
                return Some(longer);
            }
            if seen.insert(next) {
                ways.push_back(longer);
            }
        }
    }
    None
}

fn name(module: &Module) -> String {
    if module.is_empty() { "the root".into() } else { module.join("::") }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A crate in `src` of these files.
    fn tree(files: &[(&str, &str)]) -> Modules {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("src").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Modules::read(root.path(), "src")
    }

    const LAYERS: [&str; 3] = ["low", "middle", "high"];

    /// The layers, with this text in a file of the middle one.
    fn layers(text: &str) -> Modules {
        tree(&[
            (
                "lib.rs",
                "pub mod high; pub mod low; pub mod middle;\n\
                 pub use low::{Error, kept}; pub struct Own;",
            ),
            ("main.rs", "fn main() { gpp::high::run() }"),
            ("low.rs", "pub struct Error; pub fn kept() {}"),
            ("middle/mod.rs", "mod part; mod other; pub struct Item;"),
            ("middle/other.rs", "pub struct Thing;"),
            ("middle/part.rs", text),
            ("high/mod.rs", "pub mod leaf; pub use leaf::deep; use crate::middle::{self, Item};"),
            ("high/leaf.rs", "pub fn deep() {} pub struct Shown; fn f(_: crate::low::Error) {}"),
        ])
    }

    #[test]
    fn arrows_that_run_down_are_left_alone() {
        for text in [
            "use crate::low::Error;",
            "use crate::{Error, low::kept}; use super::{Item, other::Thing};",
            "use std::fs; use fs as high; fn f() { high::read(\"crate\"); }",
            "// crate::high::leaf\n/// [`crate::high`]\nconst TEXT: &str = \"see crate::high\";",
            "fn f<'high>() -> impl Sized + use<'high> { self::kept::high::leaf() }",
            "mod high { pub fn f() {} } fn g() { high::f() }",
        ] {
            assert_eq!(upward(&layers(text), &LAYERS), [""; 0], "{text}");
        }
    }

    #[test]
    fn an_arrow_that_runs_up_is_found_however_it_is_written() {
        for text in [
            "use crate::high::leaf::Shown;",
            "use crate::{low::Error, high::{self, leaf::Shown}};",
            "use super::super::high;",
            "use crate as all; fn f(_: all::high::leaf::Shown) {}",
            "fn f() { crate::high::deep() }",
            "fn f(_: &[crate::high::leaf::Shown]) {}",
            "fn f() { println!(\"{}\", [crate::high::deep()].len()) }",
            "macro_rules! m { () => { $crate::high::deep() } }",
            "macro_rules! m { () => { use $crate::{low, high}; } }",
            "mod tests { use super::super::super::high::deep; }",
            "use crate::high::*;",
            "#[serde(with = \"crate::high::leaf\")] struct S;",
            "fn f() { use crate::{high as up}; up::deep() }",
        ] {
            let found = upward(&layers(text), &LAYERS);
            let start = "src/middle/part.rs:1: middle::part names high";
            assert!(found.iter().any(|found| found.starts_with(start)), "{text}: {found:?}");
        }
        let found = upward(&layers("\nuse crate::Own;"), &LAYERS);
        let expected =
            "src/middle/part.rs:2: middle::part names the root, which is in a layer above it";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn folders_and_layers_are_the_same() {
        let found = upward(&layers(""), &["low", "middle", "top"]);
        assert_eq!(found, ["high is in none of the layers low, middle, top", "there is no top"]);
    }

    #[test]
    fn circles_are_found_with_their_arrows() {
        let straight = [
            ("lib.rs", "mod a; mod b; pub use b::list;"),
            ("a/mod.rs", "pub mod one; pub mod two; pub const ALL: [u8; 1] = [one::ONE];"),
            ("a/one.rs", "use super::two::TWO; pub const ONE: u8 = TWO;"),
            ("a/two.rs", "pub const TWO: u8 = 2;"),
            ("b.rs", "pub fn list() -> u8 { crate::a::ALL[0] }"),
        ];
        assert_eq!(circles(&tree(&straight)), [""; 0]);
        assert_eq!(circles_of_siblings(&tree(&straight)), [""; 0]);

        // A child that names its parent, which names it.
        let mut parent = straight;
        parent[2].1 = "pub const ONE: u8 = super::ALL[0];";
        assert_eq!(circles_of_siblings(&tree(&parent)), [""; 0]);
        let found = circles(&tree(&parent));
        let expected = "a circle of 2, a, a::one:\n  src/a/mod.rs:1: a names a::one\n  \
             src/a/one.rs:1: a::one names a";
        assert_eq!(found, [expected]);

        // Two siblings, and a re-export in between.
        let mut siblings = straight;
        siblings[3].1 = "pub const TWO: u8 = crate::a::one::ONE;";
        siblings[1].1 = "pub mod one; pub mod two;";
        let expected = "a circle of 2, a::one, a::two:\n  src/a/one.rs:1: a::one names a::two\n  \
                        src/a/two.rs:1: a::two names a::one";
        assert_eq!(circles(&tree(&siblings)), [expected]);
        assert_eq!(circles_of_siblings(&tree(&siblings)), [expected]);

        // By way of another file of the folder: none of the files is in a circle, the folders are.
        let mut folders = straight;
        folders[3].1 = "pub const TWO: u8 = crate::list();";
        folders[1].1 = "pub mod one; pub mod two;";
        folders[4].1 = "pub fn list() -> u8 { crate::a::one::ONE }";
        folders[2].1 = "pub const ONE: u8 = 1;";
        assert_eq!(circles(&tree(&folders)), [""; 0]);
        let expected = "a circle of 2, a, b:\n  src/a/two.rs:1: a names b\n  src/b.rs:1: b names a";
        assert_eq!(circles_of_siblings(&tree(&folders)), [expected]);
    }
}
