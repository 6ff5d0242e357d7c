//! Every path that a source names, with the line and the inline module it stands in.

use std::collections::BTreeMap;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path of more than one part, or one that `use` brings in.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Its parts; `$crate` is `crate`.
    pub path: Vec<String>,
    /// The name by which `use` makes it known here.
    pub name: Option<String>,
    pub line: usize,
}

/// What a file names, for itself (no name) and for each module that is written inside it.
///
/// # Panics
/// Where it is no Rust.
pub fn named(text: &str, path: &Path) -> BTreeMap<Vec<String>, Vec<Named>> {
    let tokens: TokenStream =
        text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut found = BTreeMap::from([(Vec::new(), Vec::new())]);
    scan(tokens, &mut Vec::new(), &mut found);
    found
}

fn scan(
    tokens: TokenStream,
    module: &mut Vec<String>,
    found: &mut BTreeMap<Vec<String>, Vec<Named>>,
) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "use" && !is(tokens.get(at + 1), '<') => {
                at = paths(&tokens, at + 1, &[], true, found.entry(module.clone()).or_default());
            }
            TokenTree::Ident(word) if word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                    (tokens.get(at + 1), tokens.get(at + 2))
                {
                    module.push(name.to_string());
                    found.entry(module.clone()).or_default();
                    scan(body.stream(), module, found);
                    module.pop();
                    at += 2;
                }
                at += 1;
            }
            TokenTree::Ident(_) => {
                at = paths(&tokens, at, &[], false, found.entry(module.clone()).or_default());
            }
            TokenTree::Group(group) => {
                scan(group.stream(), module, found);
                at += 1;
            }
            TokenTree::Literal(literal) => {
                // As in `#[serde(with = "crate::…")]`.
                let text = literal.to_string();
                let text = text.trim_matches('"');
                if ["crate::", "super::", "self::"].iter().any(|start| text.starts_with(start)) {
                    let path = text.split("::").map(str::to_string).collect();
                    let line = literal.span().start().line;
                    let named = Named { path, name: None, line };
                    found.entry(module.clone()).or_default().push(named);
                }
                at += 1;
            }
            TokenTree::Punct(_) => at += 1,
        }
    }
}

/// Reads the path at `at`, groups in braces included, and returns where it ends.
fn paths(
    tokens: &[TokenTree],
    mut at: usize,
    before: &[String],
    used: bool,
    found: &mut Vec<Named>,
) -> usize {
    let mut path = before.to_vec();
    let line = tokens.get(at).map_or(0, |token| token.span().start().line);
    // A leading `::` is of another crate, and `$` stands before `crate`.
    while is(tokens.get(at), ':') || is(tokens.get(at), '$') {
        at += 1;
    }
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(word)) => path.push(word.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                for item in inside.split(|token| is(Some(token), ',')).filter(|i| !i.is_empty()) {
                    paths(item, 0, &path, used, found);
                }
                return at + 1;
            }
            // A glob: what it brings in is not known here, where it comes from is.
            Some(_) if used && is(tokens.get(at), '*') => {
                found.push(Named { path, name: None, line });
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        if !(is(tokens.get(at), ':') && is(tokens.get(at + 1), ':')) {
            break;
        }
        at += 2;
    }
    // `{self, …}` names what stands before it.
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let renamed = match (tokens.get(at), tokens.get(at + 1)) {
        (Some(TokenTree::Ident(word)), Some(TokenTree::Ident(name))) if word == "as" => {
            Some(name.to_string())
        }
        _ => None,
    };
    if used || path.len() > 1 {
        let name = if used { renamed.or_else(|| path.last().cloned()) } else { None };
        found.push(Named { path, name, line });
    }
    at
}

fn is(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}
