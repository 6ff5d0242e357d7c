//! Tables of the page.

use maud::{Markup, html};

use crate::render::table::Cells;

/// A table whose rows may be of versions: these lead to the version's card and are highlighted with it.
pub(super) struct Sheet<'a> {
    headings: Vec<String>,
    rows: Vec<(Option<&'a str>, Vec<String>)>,
    words: Vec<usize>,
    anchors: bool,
}

/// Columns that a phone has room for, and a desk; rows of more are told in lines there.
const NARROW: usize = 4;
const WIDE: usize = 8;

/// What a cell without a value holds.
const NONE: &str = "–";

impl<'a> Sheet<'a> {
    /// A table without rows.
    pub(super) fn new(headings: &[impl ToString]) -> Sheet<'a> {
        let headings = headings.iter().map(ToString::to_string).collect();
        Sheet { headings, rows: Vec::new(), words: Vec::new(), anchors: false }
    }

    /// The table that a terminal shows as well, its rows of versions where `version` says so.
    pub(super) fn of(
        cells: &'a Cells,
        version: impl Fn(&'a [String]) -> Option<&'a str>,
    ) -> Sheet<'a> {
        let mut sheet = Sheet::new(&cells.headings);
        for row in &cells.rows {
            sheet.push(version(row), row.clone());
        }
        sheet
    }

    /// Has these columns wrap, as words do.
    pub(super) fn words(mut self, columns: impl IntoIterator<Item = usize>) -> Sheet<'a> {
        self.words.extend(columns);
        self
    }

    /// Takes a row in, of a version where it is of one.
    pub(super) fn push(&mut self, version: Option<&'a str>, cells: Vec<String>) {
        self.rows.push((version, cells));
    }

    /// The table without the columns in which no row has a value; nothing where it has no rows.
    pub(super) fn markup(&self) -> Markup {
        let filled = |at: usize| self.rows.iter().any(|(_, cells)| cells[at] != NONE);
        let columns: Vec<usize> = (0..self.headings.len()).filter(|&at| filled(at)).collect();
        let width = match columns.len() {
            few if few <= NARROW => "narrow",
            some if some <= WIDE => "wide",
            _ => "widest",
        };
        html! {
            @if !self.rows.is_empty() {
                div .scroll { table .(width) {
                    thead { tr { @for &at in &columns {
                        th scope="col" .left[self.words.contains(&at)] { (self.headings[at]) }
                    } } }
                    tbody { @for (version, cells) in &self.rows {
                        tr id=[version.filter(|_| self.anchors)] data-version=[version] { @for (place, &at) in columns.iter().enumerate() {
                            @if place == 0 {
                                th scope="row" { (named(*version, &cells[at])) }
                            } @else {
                                td .wrap[self.words.contains(&at)] data-of=(self.headings[at]) { (cells[at]) }
                            }
                        } }
                    } }
                } }
            }
        }
    }
}

/// A version's name, leading to its card; a text that names none as it is.
pub(super) fn named(version: Option<&str>, text: &str) -> Markup {
    html! {
        @match version {
            Some(version) => a href=(format!("#{version}")) { (text) },
            None => (text),
        }
    }
}
