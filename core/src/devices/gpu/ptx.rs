//! PTX in parts: a module for each kernel, so that the driver compiles no more than what runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use miniz_oxide::inflate::decompress_to_vec;

use super::code;

const ENTRY: &str = ".visible .entry ";

/// Variables outside of entries.
const SPACES: [&str; 4] = [".shared ", ".const ", ".global ", ".extern .shared "];

/// Instructions that need more than the target of the build: where a module has one, its version and target.
const NEEDED: [(&str, [&str; 2]); 3] = [
    ("cp.async.bulk.", [".version 8.0\n", ".target sm_90\n"]),
    ("mma.sync.aligned.m16n8k", [".version 8.0\n", ".target sm_90\n"]),
    ("mma.sync.aligned.m8n8k4.", [".version 7.0\n", ".target sm_80\n"]),
];

/// The text of many kernels, which can be had one by one.
pub struct Ptx {
    /// What every module begins with: version, target, source files.
    head: String,
    /// Variables by name, with their declarations.
    variables: Vec<(String, String)>,
    entries: BTreeMap<String, Entry>,
}

/// The text of a kernel.
enum Entry {
    Plain(String),
    Packed(&'static [u8]),
}

impl Entry {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Entry::Plain(text) => text.into(),
            Entry::Packed(packed) => {
                let text = decompress_to_vec(packed).expect("the build packed it");
                String::from_utf8(text).expect("the build packed text").into()
            }
        }
    }
}

impl Ptx {
    /// Finds the kernels in `text`.
    pub fn new(text: impl AsRef<str>) -> Ptx {
        let text = text.as_ref();
        let (mut head, mut variables, mut entries) = (String::new(), Vec::new(), BTreeMap::new());
        let mut entry: Option<(String, usize)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let lines = at..at + line.len();
            at = lines.end;
            if let Some((name, begin)) = &entry {
                if line.trim_end() == "}" {
                    entries.insert(name.clone(), Entry::Plain(text[*begin..lines.end].into()));
                    entry = None;
                }
            } else if let Some(rest) = line.strip_prefix(ENTRY) {
                entry = Some((name_at_start(rest).to_string(), lines.start));
            } else if SPACES.iter().any(|space| line.starts_with(space)) {
                let name = line.split('[').next().and_then(|l| l.split_whitespace().last());
                variables.push((name.unwrap_or_default().to_string(), line.to_string()));
            } else if !line.trim_start().starts_with("//") && !line.trim().is_empty() {
                head += line;
            }
        }
        Ptx { head, variables, entries }
    }

    /// Kernels that are unpacked when they are asked for, and the text that stands outside of them.
    ///
    /// # Panics
    /// Those of other methods, where a kernel is not a text that was packed.
    pub fn packed(shared: &str, kernels: &[(&str, &'static [u8])]) -> Ptx {
        let entries =
            kernels.iter().map(|&(symbol, text)| (symbol.to_string(), Entry::Packed(text)));
        Ptx { entries: entries.collect(), ..Ptx::new(shared) }
    }

    /// The kernels' symbols, in alphabetical order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The module of one kernel.
    pub fn module(&self, symbol: &str) -> Option<String> {
        self.entries.contains_key(symbol).then(|| self.of([symbol]))
    }

    /// 16 hexadecimal digits that tell the code of a kernel from others', of whatever name, by
    /// whichever build of the same compiler: the same for the same code only.
    pub fn hash(&self, symbol: &str) -> Option<String> {
        Some(code::hash(&self.module(symbol)?, symbol))
    }

    /// One module of some kernels, with the variables that they use.
    pub fn of<'s>(&self, symbols: impl IntoIterator<Item = &'s str>) -> String {
        let entries = symbols.into_iter().filter_map(|symbol| self.entries.get(symbol));
        let entries: Vec<Cow<str>> = entries.map(Entry::text).collect();
        let needed = |needs: &&(&str, _)| entries.iter().any(|entry| entry.contains(needs.0));
        let mut module = match NEEDED.iter().find(needed) {
            Some((_, target)) => for_target(&self.head, target),
            None => self.head.clone(),
        };
        for (name, declaration) in &self.variables {
            if entries.iter().any(|entry| entry.contains(name.as_str())) {
                module += declaration;
            }
        }
        module + &entries.concat()
    }
}

/// A head with another version and target.
fn for_target(head: &str, target: &[&str; 2]) -> String {
    let lines = head.split_inclusive('\n').map(|line| {
        let key = line.split_whitespace().next().unwrap_or_default();
        target
            .iter()
            .find(|other| other.starts_with(key) && !key.is_empty())
            .copied()
            .unwrap_or(line)
    });
    lines.collect()
}

/// The identifier that `text` begins with.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    &text[..end.unwrap_or(text.len())]
}
