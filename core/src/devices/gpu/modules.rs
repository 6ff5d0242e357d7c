//! PTX, and its modules of single kernels, loaded when first asked for or ahead of that while the GPU is busy.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::{mem, thread};

use miniz_oxide::inflate::decompress_to_vec;
use twox_hash::XxHash64;

use crate::devices::gpu::driver::{Context, Module};
use crate::error::{Error, Result};

/// A module of one kernel, with what its variable in constant memory holds.
pub struct Loaded {
    pub module: Module,
    pub table: Arc<Table>,
}

impl From<Module> for Loaded {
    fn from(module: Module) -> Loaded {
        Loaded { module, table: Arc::default() }
    }
}

/// The energies in a module's constant memory; none at first. Workers share the module, of whatever
/// problems they are: a kernel reads the table while it is held, and it is filled while nobody holds it.
#[derive(Default)]
pub struct Table {
    state: Mutex<InTable>,
    let_go: Condvar,
}

/// What a table holds, and how many hold it.
#[derive(Default)]
struct InTable {
    wx: Vec<f64>,
    holders: usize,
}

/// Keeps what is in a table there.
#[must_use]
pub struct Holding(Arc<Table>);

impl Table {
    /// Holds the table with these energies in it, put there by `fill` if it has others.
    pub fn holding(self: &Arc<Self>, wx: &[f64], fill: impl Fn() -> Result<()>) -> Result<Holding> {
        let mut state = self.state();
        while state.wx[..] != *wx {
            if state.holders > 0 {
                state = self.let_go.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // Whatever comes of it, the others are gone.
            state.wx.clear();
            fill()?;
            state.wx.extend_from_slice(wx);
        }
        state.holders += 1;
        Ok(Holding(self.clone()))
    }

    fn state(&self) -> MutexGuard<'_, InTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.state().holders -= 1;
        self.0.let_go.notify_all();
    }
}

/// The modules of one GPU, which threads may share: each is loaded once.
pub struct Modules {
    ptx: Ptx,
    context: Context,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    loaded: HashMap<String, Arc<Loaded>>,
    ahead: Ahead,
}

/// What is loaded before it is asked for.
#[derive(Default)]
enum Ahead {
    #[default]
    Nothing,
    Wanted(String),
    Loading(String, JoinHandle<Result<Module>>),
}

impl Modules {
    /// Those of `ptx` for `context`, of which none is loaded yet.
    pub fn new(ptx: Ptx, context: Context) -> Modules {
        Modules { ptx, context, state: Mutex::default() }
    }

    pub fn get(&self, symbol: &str) -> Result<Arc<Loaded>> {
        let mut state = self.finished();
        if let Some(module) = state.loaded.get(symbol) {
            return Ok(module.clone());
        }
        let module = Arc::new(Loaded::from(self.context.module(&self.text(symbol)?)?));
        state.loaded.insert(symbol.into(), module.clone());
        Ok(module)
    }

    /// Says which kernel is needed next, for [`Modules::begin`].
    pub fn want(&self, symbol: &str) {
        let mut state = self.finished();
        if !state.loaded.contains_key(symbol) {
            state.ahead = Ahead::Wanted(symbol.into());
        }
    }

    /// Starts to load the kernel wanted. The driver may hold locks meanwhile, so nothing that is
    /// timed may be enqueued before [`Modules::finish`]: call it when work is on the GPU.
    pub fn begin(&self) {
        let mut state = self.state();
        state.ahead = match mem::take(&mut state.ahead) {
            Ahead::Wanted(key) if state.loaded.contains_key(&key) => Ahead::Nothing,
            Ahead::Wanted(key) => match self.text(&key) {
                Ok(text) => {
                    let context = self.context.clone();
                    let load = thread::Builder::new().spawn(move || context.module(&text));
                    // Without a thread it is loaded when it is asked for.
                    load.map_or(Ahead::Nothing, |load| Ahead::Loading(key, load))
                }
                // Whoever asks for it gets the error.
                Err(_) => Ahead::Nothing,
            },
            other => other,
        };
    }

    pub fn finish(&self) {
        drop(self.finished());
    }

    /// The state with nothing being loaded.
    fn finished(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        match mem::take(&mut state.ahead) {
            Ahead::Loading(key, load) => {
                // What failed is tried again by whoever asks for it, who gets the error.
                if let Ok(Ok(module)) = load.join() {
                    state.loaded.insert(key, Arc::new(module.into()));
                }
            }
            other => state.ahead = other,
        }
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole, whatever a thread that panicked did before or after.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, symbol: &str) -> Result<String> {
        let missing = || {
            Error::driver(format!("look-up of kernel {symbol}"), "the PTX has none of this name")
        };
        self.ptx.module(symbol).ok_or_else(missing)
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // The driver does not take it well when the process ends under a thread of its.
        self.finish();
    }
}

// PTX in parts: a module for each kernel, so that the driver compiles no more than what runs.

const ENTRY: &str = ".visible .entry ";

const SPACES: [&str; 4] = [".shared ", ".const ", ".global ", ".extern .shared "];

/// Instructions that need more than the target of the build: if a module has one, its version and target.
const NEEDED: [(&str, [&str; 2]); 4] = [
    ("cp.async.bulk.", [".version 8.0\n", ".target sm_90\n"]),
    ("mma.sync.aligned.m16n8k", [".version 8.0\n", ".target sm_90\n"]),
    ("cp.async.cg.", [".version 7.0\n", ".target sm_80\n"]),
    ("mma.sync.aligned.m8n8k4.", [".version 7.0\n", ".target sm_80\n"]),
];

/// The text of many kernels, which can be had one by one.
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
        let text = text.as_ref();
        let (mut head, mut variables, mut entries) = (String::new(), Vec::new(), BTreeMap::new());
        let mut entry: Option<(String, usize)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let lines = at..at + line.len();
            at = lines.end;
            if let Some((name, begin)) = &entry {
                if line.trim_end() == "}" {
                    entries.insert(name.clone(), PtxEntry::Plain(text[*begin..lines.end].into()));
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
    pub fn packed(shared: &str, kernels: &[(&str, &'static [u8])]) -> Ptx {
        let entries =
            kernels.iter().map(|&(symbol, text)| (symbol.to_string(), PtxEntry::Packed(text)));
        Ptx { entries: entries.collect(), ..Ptx::new(shared) }
    }

    /// The kernels' symbols, in alphabetical order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn module(&self, symbol: &str) -> Option<String> {
        self.entries.contains_key(symbol).then(|| self.of([symbol]))
    }

    /// 16 hexadecimal digits that tell the code of a kernel from others', of whatever name, by
    /// whichever build of the same compiler: the same for the same code only.
    pub fn hash(&self, symbol: &str) -> Option<String> {
        Some(code_hash(&self.module(symbol)?, symbol))
    }

    /// One module of some kernels, with the variables that they use.
    pub fn of<'s>(&self, symbols: impl IntoIterator<Item = &'s str>) -> String {
        let entries = symbols.into_iter().filter_map(|symbol| self.entries.get(symbol));
        let entries: Vec<Cow<str>> = entries.map(PtxEntry::text).collect();
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

// What tells a kernel's code from another's.

/// Lines that say where code comes from.
const LINE_TABLE: [&str; 2] = [".loc", ".file"];

const MARKS: [&str; 2] = ["$L__tmp", "$L__func_"];

/// Beginnings of names that the compiler gives: labels, mangled paths, constants without a name.
const GIVEN: [&str; 5] = ["$", "_ZN", "_R", "anon_", "__unnamed_"];

/// 16 hexadecimal digits for the module of one kernel: its instructions and registers, its bounds,
/// the memory and the functions that it uses, the PTX's version and target.
///
/// Left out is what depends on where it was built and on what else is built with it: line table, comments,
/// the kernel's name and names that the compiler gives.
fn code_hash(module: &str, symbol: &str) -> String {
    let mut names = HashMap::new();
    let mut code = String::with_capacity(module.len());
    for line in module.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let begins = |with: &[&str]| with.iter().any(|start| line.starts_with(start));
        if !(line.is_empty() || begins(&LINE_TABLE) || begins(&MARKS) && line.ends_with(':')) {
            for word in words(line) {
                code += &neutral(word, symbol, &mut names);
            }
            code.push('\n');
        }
    }
    format!("{:016x}", XxHash64::oneshot(0, code.as_bytes()))
}

/// The names of a line, and what stands between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = is_name(rest.chars().next()?);
        let end = rest.find(|c| is_name(c) != first).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// A word without what has no part in the hash: given names become numbers, in the order in which
/// they come.
fn neutral<'a>(word: &'a str, symbol: &str, names: &mut HashMap<&'a str, usize>) -> String {
    if let Some(rest) = word.strip_prefix(symbol)
        && (rest.is_empty() || rest.starts_with("_param_"))
    {
        return format!("entry{rest}");
    }
    if GIVEN.iter().any(|start| word.starts_with(start)) {
        let next = names.len();
        return format!("name{}", names.entry(word).or_insert(next));
    }
    word.into()
}

#[cfg(test)]
mod tests;
