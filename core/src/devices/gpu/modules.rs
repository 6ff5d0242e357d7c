//! PTX as one module for each kernel, so that the driver compiles only what runs, and modules that are loaded.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use miniz_oxide::inflate::decompress_to_vec;
use twox_hash::XxHash64;

use crate::devices::gpu::driver::Function;
use crate::error::Result;

/// A kernel, with the state of its module's constant memory.
pub struct Loaded {
    pub function: Function,
    pub table: Arc<Table>,
}

/// The energies in a module's constant memory, shared by workers: filled only while no launch reads it.
#[derive(Default)]
pub struct Table {
    state: Mutex<TableState>,
    released: Condvar,
}

#[derive(Default)]
struct TableState {
    wx: Vec<f64>,
    readers: usize,
}

/// Keeps the energies in a table.
#[must_use]
pub struct Holding(Arc<Table>);

impl Table {
    /// Waits until the table has these energies, put there by `fill` if it has others and no reader.
    pub fn holding(self: &Arc<Self>, wx: &[f64], fill: impl Fn() -> Result<()>) -> Result<Holding> {
        let mut state = self.state();
        while state.wx[..] != *wx {
            if state.readers > 0 {
                state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // If the fill fails, the table has unknown energies.
            state.wx.clear();
            fill()?;
            state.wx.extend_from_slice(wx);
        }
        state.readers += 1;
        Ok(Holding(self.clone()))
    }

    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.state().readers -= 1;
        self.0.released.notify_all();
    }
}

const SPACES: [&str; 4] = [".shared ", ".const ", ".global ", ".extern .shared "];

/// Instructions that need more than the target of the build, with the version and target of a module that has one.
const NEEDED: [(&str, [&str; 2]); 4] = [
    ("cp.async.bulk.", [".version 8.0\n", ".target sm_90\n"]),
    ("mma.sync.aligned.m16n8k", [".version 8.0\n", ".target sm_90\n"]),
    ("cp.async.cg.", [".version 7.0\n", ".target sm_80\n"]),
    ("mma.sync.aligned.m8n8k4.", [".version 7.0\n", ".target sm_80\n"]),
];

pub struct Ptx {
    /// What every module begins with: version, target, source files.
    head: String,
    /// Variables by name, with their declarations.
    variables: Vec<(String, String)>,
    entries: BTreeMap<String, PtxEntry>,
}

enum PtxEntry {
    Plain(String),
    Packed(&'static [u8]),
}

impl PtxEntry {
    fn text(&self) -> Cow<'_, str> {
        match self {
            PtxEntry::Plain(text) => text.into(),
            PtxEntry::Packed(packed) => {
                let text = decompress_to_vec(packed).expect("the build packed it");
                String::from_utf8(text).expect("the build packed text").into()
            }
        }
    }
}

impl Ptx {
    pub fn new(text: impl AsRef<str>) -> Ptx {
        let (mut head, mut variables, mut entries) = (String::new(), Vec::new(), BTreeMap::new());
        let mut entry: Option<(String, String)> = None;
        for line in text.as_ref().split_inclusive('\n') {
            if let Some((_, body)) = &mut entry {
                body.push_str(line);
                if line.trim_end() == "}" {
                    let (name, body) = entry.take().expect("matched above");
                    entries.insert(name, PtxEntry::Plain(body));
                }
            } else if let Some(rest) = line.strip_prefix(".visible .entry ") {
                let name = rest.split(|c| !is_name(c)).next().unwrap_or_default();
                entry = Some((name.into(), line.into()));
            } else if SPACES.iter().any(|space| line.starts_with(space)) {
                let name = line.split('[').next().and_then(|l| l.split_whitespace().last());
                variables.push((name.unwrap_or_default().to_string(), line.to_string()));
            } else if !line.trim_start().starts_with("//") && !line.trim().is_empty() {
                head += line;
            }
        }
        Ptx { head, variables, entries }
    }

    /// Kernels that are unpacked when they are needed, and the text outside of them.
    pub fn packed(shared: &str, kernels: &[(&str, &'static [u8])]) -> Ptx {
        let entries =
            kernels.iter().map(|&(symbol, text)| (symbol.to_string(), PtxEntry::Packed(text)));
        Ptx { entries: entries.collect(), ..Ptx::new(shared) }
    }

    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn module(&self, symbol: &str) -> Option<String> {
        self.entries.contains_key(symbol).then(|| self.module_of([symbol]))
    }

    /// 16 hexadecimal digits that identify a kernel's code, with the memory and functions that it uses. They do not
    /// depend on where it was built and what else was, nor on comments and names: those that the compiler chooses become
    /// numbers in order of appearance.
    pub fn hash(&self, symbol: &str) -> Option<String> {
        let module = self.module(symbol)?;
        let mut numbers = HashMap::new();
        let mut code = String::with_capacity(module.len());
        for line in module.lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            let begins = |with: &[&str]| with.iter().any(|start| line.starts_with(start));
            if line.is_empty() || begins(&LINE_TABLE) || begins(&MARKS) && line.ends_with(':') {
                continue;
            }
            let mut remaining = line;
            while let Some(first) = remaining.chars().next() {
                let end =
                    remaining.find(|c| is_name(c) != is_name(first)).unwrap_or(remaining.len());
                let (word, after) = remaining.split_at(end);
                remaining = after;
                match word.strip_prefix(symbol) {
                    Some(tail) if tail.is_empty() || tail.starts_with("_param_") => {
                        code += "entry";
                        code += tail;
                    }
                    _ if CHOSEN.iter().any(|start| word.starts_with(start)) => {
                        let next = numbers.len();
                        code += &format!("name{}", numbers.entry(word).or_insert(next));
                    }
                    _ => code += word,
                }
            }
            code.push('\n');
        }
        Some(format!("{:016x}", XxHash64::oneshot(0, code.as_bytes())))
    }

    /// One module of some kernels, with the variables that they use.
    pub fn module_of<'s>(&self, symbols: impl IntoIterator<Item = &'s str>) -> String {
        let entries = symbols.into_iter().filter_map(|symbol| self.entries.get(symbol));
        let entries: Vec<Cow<str>> = entries.map(PtxEntry::text).collect();
        let uses = |text: &str| entries.iter().any(|entry| entry.contains(text));
        let needed = NEEDED.iter().find(|(instruction, _)| uses(instruction));
        let target = needed.map_or(&[][..], |(_, target)| &target[..]);
        let head = self.head.split_inclusive('\n').map(|line| {
            let directive = line.split_whitespace().next().unwrap_or_default();
            target.iter().copied().find(|new| new.starts_with(directive)).unwrap_or(line)
        });
        let variables = self.variables.iter().filter(|(name, _)| uses(name));
        let variables = variables.map(|(_, declaration)| declaration.as_str());
        let entries = entries.iter().map(|entry| &**entry);
        head.chain(variables).chain(entries).collect()
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Lines and labels that say where code comes from.
const LINE_TABLE: [&str; 2] = [".loc", ".file"];
const MARKS: [&str; 2] = ["$L__tmp", "$L__func_"];

/// Beginnings of names that the compiler chooses: labels, mangled paths, constants without a name.
const CHOSEN: [&str; 5] = ["$", "_ZN", "_R", "anon_", "__unnamed_"];

#[cfg(test)]
mod tests;
