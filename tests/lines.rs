//! Where kernels are shown: at lines that compute, not at lines that call what does.

mod common;
#[path = "../build/inlining.rs"]
mod inlining;
#[allow(dead_code, reason = "the build script uses all of it")]
#[path = "../build/line_table.rs"]
mod line_table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::repository;
use gpp::devices::gpu::{self, NO_KERNELS};
use gpp::kernels::versions::ALL;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What of a loop's arithmetic may stand at lines that call: these compute too, as in
/// `omega2 * reciprocal(cden)`.
const AT_CALLS: f64 = 0.3;

/// File and line, as the line table names files.
type Place = (String, usize);

/// Path and text of each source below a folder of the repository.
fn sources(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(repository(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| {
        let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() { sources(&name) } else { vec![(name, fs::read_to_string(path).unwrap())] }
    });
    below.collect()
}

/// A call by name: the name, what stands before it, and where.
struct Call {
    name: String,
    of_number: bool,
    line: usize,
}

/// Functions that a source defines, and what it calls.
#[derive(Default)]
struct Names {
    defined: Vec<String>,
    called: Vec<Call>,
}

impl Names {
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(name) => {
                    let before = |back: usize| tokens.get(at.wrapping_sub(back));
                    if is_word(before(1), "fn") {
                        self.defined.push(name.to_string());
                    } else if is_called(&tokens[at + 1..]) {
                        let of_number = is(before(1), ':') && is_word(before(3), "R");
                        let line = name.span().start().line;
                        self.called.push(Call { name: name.to_string(), of_number, line });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether a name is called: what follows it is `(…)` or `::<…>(…)`.
fn is_called(after: &[TokenTree]) -> bool {
    let is_arguments = |token: Option<&TokenTree>| {
        let Some(TokenTree::Group(group)) = token else { return false };
        group.delimiter() == Delimiter::Parenthesis
    };
    if !(is(after.first(), ':') && is(after.get(1), ':') && is(after.get(2), '<')) {
        return is_arguments(after.first());
    }
    let mut depth = 0;
    for at in 2..after.len() {
        depth += i32::from(is(after.get(at), '<')) - i32::from(is(after.get(at), '>'));
        if depth == 0 {
            return is_arguments(after.get(at + 1));
        }
    }
    false
}

fn is(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// Lines that call a function of the kernels' sources, but for those that stand in for the
/// language.
fn lines_that_call() -> BTreeSet<Place> {
    let mut defined = BTreeSet::new();
    let mut files = Vec::new();
    for (path, text) in sources("kernels/src") {
        let mut names = Names::default();
        names.scan(text.parse().unwrap());
        let file = path.strip_prefix("kernels/src/").unwrap();
        // No version calls what stands behind them all, which has some of the language's names.
        let is_behind = file.starts_with("offdiag/");
        if !is_behind && !line_table::LANGUAGE.iter().any(|language| file.starts_with(language)) {
            defined.extend(names.defined);
        }
        files.push((path, names.called));
    }
    let of_file = |(path, called): (String, Vec<Call>)| {
        let called = called.into_iter().filter(|one| !one.of_number && defined.contains(&one.name));
        called.map(|one| (path.clone(), one.line)).collect::<Vec<_>>()
    };
    files.into_iter().flat_map(of_file).collect()
}

/// Where the FP64 arithmetic of an entry's innermost loops is shown.
fn arithmetic_in_loops(entry: &str, files: &BTreeMap<&str, &str>) -> Vec<Place> {
    let (mut at, mut shown, mut labels) = (Place::default(), Vec::new(), BTreeMap::new());
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    for line in entry.lines().map(str::trim) {
        if let Some(location) = line.strip_prefix(".loc") {
            let mut words = location.split_whitespace();
            let file = words.next().and_then(|number| files.get(number)).unwrap();
            at =
                (file.trim_start_matches("./").to_string(), words.next().unwrap().parse().unwrap());
        } else if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, shown.len());
        } else if let Some((_, label)) = line.split_once("bra") {
            let label = label.trim_start_matches(".uni").trim().trim_end_matches(';');
            if let Some(&begin) = labels.get(label) {
                ends.insert(begin, shown.len());
            }
        } else if is_arithmetic(line) {
            shown.push(at.clone());
        }
    }
    let holds_another = |begin: usize, end: usize| {
        ends.iter().any(|(&b, &e)| (b, e) != (begin, end) && begin <= b && e <= end && b < e)
    };
    let innermost = ends.iter().filter(|&(&begin, &end)| begin < end && !holds_another(begin, end));
    innermost.flat_map(|(&begin, &end)| shown[begin..end].to_vec()).collect()
}

fn is_arithmetic(instruction: &str) -> bool {
    let operation = instruction.split_whitespace().find(|word| !word.starts_with('@'));
    let mut parts = operation.unwrap_or_default().split('.');
    let kinds = ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"];
    parts.next().is_some_and(|kind| kinds.contains(&kind)) && parts.any(|part| part == "f64")
}

#[test]
fn loops_are_shown_where_they_compute() {
    assert_eq!(NO_KERNELS, None, "there is nothing to look at");
    let calls = lines_that_call();
    fn file(line: &str) -> Option<(&str, &str)> {
        let (number, path) = line.trim().strip_prefix(".file")?.trim().split_once(' ')?;
        Some((number, path.trim_matches('"')))
    }
    let (ptx, head) = (gpu::own(), gpu::own().of([]));
    let files: BTreeMap<&str, &str> = head.lines().filter_map(file).collect();
    let kernels = ALL.iter().flat_map(|version| version.kernels);
    let mut found = Vec::new();
    for entry in kernels.flat_map(|kernel| kernel.entries) {
        let arithmetic = arithmetic_in_loops(&ptx.of([entry.symbol]), &files);
        assert!(arithmetic.len() > 20, "{}: no loop of FP64 arithmetic", entry.symbol);
        let at_calls = arithmetic.iter().filter(|at| calls.contains(at)).count();
        let share = at_calls as f64 / arithmetic.len() as f64;
        println!("{}: {share:.2}", entry.symbol);
        if share.is_nan() || share > AT_CALLS {
            found.push(format!("{}: {share:.2} of its loops is at calls", entry.symbol));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_calls_is_told_from_what_computes() {
    let calls = lines_that_call();
    let line = |file: &str, part: &str| -> Place {
        let path = format!("kernels/src/{file}");
        let (_, text) = sources("kernels/src").into_iter().find(|(at, _)| *at == path).unwrap();
        let line = text.lines().position(|line| line.contains(part)).unwrap();
        (path, line + 1)
    };
    for (file, part) in [
        ("tiles/real_poles.rs", "let y = reciprocal_unless("),
        ("versions/v4.rs", "arrays.matngmatmgp::<L>("),
        ("versions/v13.rs", "gpp_v13_real_nw1"),
    ] {
        let computes = file.ends_with("v13.rs");
        assert_eq!(calls.contains(&line(file, part)), !computes, "{file}: {part}");
    }
    assert!(!calls.contains(&line("quotient.rs", "let error = 1.0 -")));
    assert!(!calls.contains(&line("tiles/mod.rs", "sum.re = sum.re + m.re * factor")));
    assert!(!calls.contains(&line("formula.rs", "term.sch * (vcoul * 0.5)")));
}
