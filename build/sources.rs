//! The sources of the kernels, for the program to show, and what tells each and all that it uses from others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use twox_hash::XxHash64;

/// Rust that lists every source of `folders` in `root` as `(path, text, hash)`, sorted by path; see [`hashes`].
///
/// # Panics
/// Where a folder cannot be read.
pub fn list(root: &Path, folders: &[&str]) -> String {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(&root.join(folder), &mut files));
    files.sort();
    let name = |file: &PathBuf| {
        let parts = file.strip_prefix(root).expect("walked from there").iter();
        parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    };
    let read = |file| fs::read_to_string(file).expect("the sources can be read");
    let named: Vec<(String, String)> = files.iter().map(|file| (name(file), read(file))).collect();
    let entry = |((file, (name, _)), hash): ((&PathBuf, &(String, String)), String)| {
        format!("({name:?}, include_str!({:?}), {hash:?}),\n", file.display().to_string())
    };
    let entries = files.iter().zip(&named).zip(hashes(&named)).map(entry);
    format!("&[\n{}]\n", entries.collect::<String>())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the sources are there");
    for path in entries.map(|entry| entry.expect("the sources are there").path()) {
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// For each source, by its path and its text, 16 hexadecimal digits of its code and of that of all sources it uses,
/// and these use: comments, layout and tests have no part in it. A source uses those to which paths in it lead.
///
/// # Panics
/// Where a text is no Rust.
pub fn hashes(files: &[(String, String)]) -> Vec<String> {
    let modules: BTreeMap<Vec<String>, usize> =
        files.iter().enumerate().map(|(at, (path, _))| (module(path), at)).collect();
    let parsed: Vec<Code> = files.iter().map(|(path, text)| Code::of(path, text)).collect();
    let uses = |at: usize| {
        let (own, paths) = (module(&files[at].0), &parsed[at].paths);
        let lead = |path: &Vec<String>| {
            // Or on from what an import names.
            let first = path.first();
            let imports = paths.iter().filter(|import| import.len() > 1 && import.last() == first);
            let on = imports.map(|import| [import, &path[1..]].concat());
            on.chain([path.clone()])
                .filter_map(|path| resolved(&path, &own, &modules))
                .collect::<Vec<_>>()
        };
        paths.iter().flat_map(lead).collect::<BTreeSet<usize>>()
    };
    let used: Vec<BTreeSet<usize>> = (0..files.len()).map(uses).collect();
    let closure = |from: usize| {
        let mut found = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            open.extend(used[at].iter().filter(|&&other| found.insert(other)));
        }
        found
    };
    let hash = |at: usize| {
        let code = closure(at).into_iter().map(|at| files[at].0.clone() + "\n" + &parsed[at].code);
        format!("{:016x}", XxHash64::oneshot(0, code.collect::<Vec<_>>().join("\n").as_bytes()))
    };
    (0..files.len()).map(hash).collect()
}

/// The module of a source: `kernels/src/tiles/far.rs` is `gpp_kernels::tiles::far`.
fn module(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").or(path.strip_suffix("/lib")).unwrap_or(path);
    let mut parts: Vec<String> = path.split('/').map(str::to_string).collect();
    if parts.len() > 1 {
        parts.remove(1);
        parts[0] = format!("gpp_{}", parts[0]);
    }
    parts
}

/// The source that a path in a module leads to: the last module that its words name.
fn resolved(
    path: &[String],
    own: &[String],
    modules: &BTreeMap<Vec<String>, usize>,
) -> Option<usize> {
    let mut words = path.iter().peekable();
    let mut at = match words.peek()?.as_str() {
        "crate" => own[..1].to_vec(),
        "self" | "super" => own.to_vec(),
        first if first.starts_with("gpp_") => Vec::new(),
        _ => own.to_vec(),
    };
    words.next_if(|word| ["crate", "self"].contains(&word.as_str()));
    while words.next_if(|word| *word == "super").is_some() {
        at.pop();
    }
    let begin = at.len();
    for word in words {
        at.push(word.clone());
        if !modules.contains_key(&at) {
            at.pop();
            break;
        }
    }
    // A path of the language, or of another crate.
    let is_own = ["crate", "self", "super"].contains(&path[0].as_str());
    if at.len() > begin || is_own { modules.get(&at).copied() } else { None }
}

/// A source as the compiler sees it.
struct Code {
    /// Its words.
    code: String,
    /// The paths in it, imports in groups taken apart.
    paths: BTreeSet<Vec<String>>,
}

impl Code {
    fn of(path: &str, text: &str) -> Code {
        let tokens = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut code = Code { code: String::new(), paths: BTreeSet::new() };
        code.add(tokens);
        code
    }

    fn add(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some(after) = left_out(&tokens, at) {
                at = after;
                continue;
            }
            let begins = !is_separator(&tokens, at.wrapping_sub(2));
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    let [open, close] = match group.delimiter() {
                        Delimiter::Parenthesis => ["(", ")"],
                        Delimiter::Brace => ["{", "}"],
                        Delimiter::Bracket => ["[", "]"],
                        Delimiter::None => ["", ""],
                    };
                    self.code += open;
                    self.add(group.stream());
                    self.code += close;
                }
                TokenTree::Ident(name) => {
                    self.code += &name.to_string();
                    self.code.push(' ');
                    if begins {
                        self.path(&tokens[at - 1..], Vec::new());
                    }
                }
                TokenTree::Punct(sign) => self.code.push(sign.as_char()),
                TokenTree::Literal(value) => {
                    self.code += &value.to_string();
                    self.code.push(' ');
                }
            }
        }
    }

    /// Takes in the path that begins here, and those of a group that it ends with.
    fn path(&mut self, tokens: &[TokenTree], mut path: Vec<String>) {
        let mut at = 0;
        while let Some(TokenTree::Ident(name)) = tokens.get(at) {
            path.push(name.to_string());
            if !is_separator(tokens, at + 1) {
                break;
            }
            at += 3;
        }
        if let Some(TokenTree::Group(group)) = tokens.get(at)
            && group.delimiter() == Delimiter::Brace
            && is_separator(tokens, at.wrapping_sub(2))
        {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            for item in inner.split(|token| is(Some(token), ',')) {
                self.path(item, path.clone());
            }
        }
        // Names without a path are of the module itself.
        if path.len() > 1 || path.iter().any(|word| ["crate", "super"].contains(&word.as_str())) {
            self.paths.insert(path.into_iter().filter(|word| word != "self").collect());
        }
    }
}

/// Whether `::` stands there.
fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    is(tokens.get(at), ':') && is(tokens.get(at.wrapping_add(1)), ':')
}

/// Where what begins here ends, if it is a comment or a module of tests.
fn left_out(tokens: &[TokenTree], at: usize) -> Option<usize> {
    if !is(tokens.get(at), '#') {
        return None;
    }
    let inner = usize::from(is(tokens.get(at + 1), '!'));
    let TokenTree::Group(attribute) = tokens.get(at + 1 + inner)? else { return None };
    let text = attribute.stream().to_string().replace(' ', "");
    let after = at + 2 + inner;
    if text.starts_with("doc=") {
        return Some(after);
    }
    let is_module = tokens.get(after).is_some_and(|token| token.to_string() == "mod");
    (text == "cfg(test)" && is_module).then_some(after + 3)
}

fn is(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}
