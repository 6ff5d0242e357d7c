//! The texts' figures, filled in from the archived runs, so that none is copied by hand.
//!
//! In a Markdown file `<!--f:time v13-->20.8<!--/f-->` holds a figure and `<!-- figures: clock -->`
//! to `<!-- /figures -->` a table, by the names of [`quantities`], [`tables`],
//! [`processor`] and [`offdiag`]. Links into the
//! archive follow its map; pictures are drawn from the same records.

pub mod archive;
pub mod energies;
pub mod offdiag;
pub mod processor;
pub mod quantities;
pub mod scales;
pub mod tables;
pub mod terminal;
pub mod typed;
pub mod words;

use std::fmt;
use std::path::Path;

use archive::{Archive, RUNS, is_record};

use crate::analysis::roofline::FIGURES;
use crate::error::{Error, FigureError, Result};
use crate::render::chart::Roofline;
use crate::render::nest;

/// The texts that quote the archive.
pub const FILES: [&str; 12] = [
    "README.md",
    OF_FOLDERS,
    "docs/decisions.md",
    "docs/distributed.md",
    "docs/journeys.md",
    "docs/kernel.md",
    "docs/limits.md",
    "docs/many-energies.md",
    "docs/off-diagonal.md",
    "docs/past-the-paper.md",
    "docs/processor.md",
    "docs/usage.md",
];

/// That of them which says what each folder holds, as it was.
const OF_FOLDERS: &str = "data/runs/README.md";

/// A place whose text is not what the archive says.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its line, from 1.
    pub line: usize,
    /// The figure's name.
    pub name: String,
    /// What is written.
    pub written: String,
    /// What should be, or why nothing can.
    pub computed: std::result::Result<String, FigureError>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { line, name, written, computed } = self;
        match computed {
            // Tables are too long for a line.
            Ok(text) if text.contains('\n') => {
                let differing = |(a, b): &(&str, &str)| a != b;
                let (before, now) =
                    written.lines().zip(text.lines()).find(differing).unwrap_or_default();
                write!(f, "{line}: {name}: written `{before}`, computed `{now}`")
            }
            Ok(text) => write!(f, "{line}: {name}: written `{written}`, computed `{text}`"),
            Err(why) => write!(f, "{line}: {name}: {why}"),
        }
    }
}

const FIGURE: (&str, &str) = ("<!--f:", "<!--/f-->");
const TABLE: (&str, &str) = ("<!-- figures:", "<!-- /figures -->");

/// The text with every figure, table and link as the archive has it, and what that changes.
pub fn fill(archive: &Archive, text: &str) -> (String, Vec<Difference>) {
    let mut differences = Vec::new();
    let mut filled = String::new();
    let mut rest = text;
    while let Some((at, inline)) = [FIGURE, TABLE]
        .iter()
        .filter_map(|form| Some((rest.find(form.0)?, form.0 == FIGURE.0)))
        .min()
    {
        let (open, close) = if inline { FIGURE } else { TABLE };
        filled += &rest[..at];
        let line = filled.lines().count().max(1) + usize::from(filled.ends_with('\n'));
        let starts_line = filled.is_empty() || filled.ends_with('\n');
        let place = &rest[at + open.len()..];
        let (Some((name, _)), Some((held, after))) =
            (place.split_once("-->"), place.split_once(close))
        else {
            let name = place.lines().next().unwrap_or_default().to_string();
            let computed = Err(FigureError::NoEnd(close));
            differences.push(Difference { line, name, written: String::new(), computed });
            filled += open;
            rest = place;
            continue;
        };
        let written = &held[held.len().min(name.len() + "-->".len())..];
        let computed = if !inline {
            table(archive, name).map(|table| format!("\n\n{table}\n"))
        } else if starts_line {
            Err(FigureError::StartsLine)
        } else {
            figure(archive, name)
        };
        filled += &format!("{open}{name}-->{}{close}", computed.as_deref().unwrap_or(written));
        if computed.as_deref().ok() != Some(written) {
            let (name, written) = (name.trim().to_string(), written.to_string());
            differences.push(Difference { line, name, written, computed });
        }
        rest = after;
    }
    filled += rest;
    let filled = links(archive, &filled, &mut differences);
    (filled, differences)
}

/// The text of a figure.
fn figure(archive: &Archive, name: &str) -> std::result::Result<String, FigureError> {
    let of = |record| name.trim().strip_prefix(record);
    match (of(processor::NAME), of(offdiag::NAME)) {
        (Some(name), _) => processor::figure(archive, name),
        (_, Some(name)) => offdiag::figure(archive, name),
        (None, None) => quantities::figure(archive, name),
    }
}

/// A table.
fn table(archive: &Archive, name: &str) -> std::result::Result<String, FigureError> {
    let of = |record| name.trim().strip_prefix(record);
    match (of(processor::NAME), of(offdiag::NAME)) {
        (Some(name), _) => processor::table(archive, name),
        (_, Some(name)) => offdiag::table(archive, name),
        (None, None) => tables::table(archive, name),
    }
}

/// Has links to records point at the folders that hold them.
fn links(archive: &Archive, text: &str, differences: &mut Vec<Difference>) -> String {
    let start = format!("{RUNS}/");
    let mut parts = text.split(&start);
    let mut linked = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let line = linked.lines().count().max(1) + usize::from(linked.ends_with('\n'));
        linked += &start;
        let end = part.find(|c: char| c.is_whitespace() || ")`\"*".contains(c));
        let (path, after) = part.split_at(end.unwrap_or(part.len()));
        let moved = path.split_once('/').and_then(|(folder, inside)| {
            let record = inside.split(['/', '.']).next().unwrap_or_default();
            let kind = |folder: &str| folder.split('-').next().map(str::to_string);
            let is_of_kind = kind(folder) == kind(archive.folder(record));
            (is_record(record) && is_of_kind && folder != archive.folder(record))
                .then(|| format!("{}/{inside}", archive.folder(record)))
        });
        let target = moved.as_deref().unwrap_or(path);
        let differs =
            |computed| Difference { line, name: "link".into(), written: path.into(), computed };
        if after.starts_with(')') && !archive.runs.join(target).exists() {
            differences.push(differs(Err(FigureError::NoTarget(target.into()))));
        } else if moved.is_some() {
            differences.push(differs(Ok(target.into())));
        }
        linked += target;
        linked += after;
    }
    linked
}

/// A file as the archive has it.
pub struct Filled {
    /// The file, from the repository's root.
    pub file: String,
    /// What it should hold.
    pub text: String,
    /// What it holds instead.
    pub differences: Vec<Difference>,
}

/// These texts of the repository at `root`; where none is named, all of them and their pictures.
///
/// # Errors
/// [`Error::Data`] for a file that cannot be read and for a picture that cannot be drawn.
pub fn fill_all(root: &Path, files: &[String]) -> Result<Vec<Filled>> {
    let archive = Archive::open(root)?;
    let named = if files.is_empty() { FILES.map(String::from).to_vec() } else { files.to_vec() };
    let mut filled = Vec::new();
    for file in named {
        let held = std::fs::read_to_string(root.join(&file))
            .map_err(|e| Error::Data { origin: file.clone(), what: format!("cannot read: {e}") })?;
        let (text, mut differences) = fill(&archive, &held);
        if file != OF_FOLDERS {
            differences.extend(typed::typed(&text));
        }
        filled.push(Filled { file, text, differences });
    }
    if files.is_empty() {
        let drawn = pictures(&archive)
            .map_err(|e| Error::Data { origin: "docs/images".into(), what: e.to_string() })?;
        filled.extend(drawn.into_iter().map(|(file, text)| {
            let written = std::fs::read_to_string(root.join(&file)).unwrap_or_default();
            let name = "picture".into();
            let computed = Ok(text.clone());
            let differences = if written == text {
                Vec::new()
            } else {
                vec![Difference { line: 1, name, written, computed }]
            };
            Filled { file, text, differences }
        }));
    }
    Ok(filled)
}

/// The pictures of the texts, each with its file.
fn pictures(archive: &Archive) -> std::result::Result<Vec<(String, String)>, FigureError> {
    let system = archive.system("si214")?;
    let mut pictures = vec![
        ("terminal".to_string(), terminal::svg(&system.run)),
        ("kernel".to_string(), nest::picture(&system.run.system, true).into_string()),
    ];
    for figure in FIGURES.iter().filter(|figure| figure.paper.is_none()) {
        let shown = figure.of(&system.profiles);
        if shown.is_empty() {
            continue;
        }
        let (title, levels, ceilings) = (figure.title(&shown), figure.levels(), &system.ceilings);
        let svg = Roofline { title: &title, profiles: &shown, ceilings, levels }.svg()?;
        pictures.push((figure.name.to_string(), svg));
    }
    pictures.extend(energies::pictures(archive)?);
    pictures.push(offdiag::roofline::picture(archive)?);
    pictures.push(("sigma".to_string(), processor::picture(archive)?));
    let in_docs = |(name, svg)| (format!("docs/images/{name}.svg"), svg);
    Ok(pictures.into_iter().map(in_docs).collect())
}
