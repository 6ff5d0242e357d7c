//! Why a figure of the texts cannot be filled in.

use super::chart::ChartError;

/// A figure, a table or a link that the archive cannot fill in.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FigureError {
    /// The end of its place is missing.
    #[error("`{0}` is missing")]
    NoEnd(&'static str),

    /// It begins a line.
    #[error("a line that starts with a comment is no Markdown")]
    StartsLine,

    /// A link leads nowhere.
    #[error("{0} does not exist")]
    NoTarget(String),

    /// Its name is none.
    #[error("no such {0}")]
    Unknown(&'static str),

    /// A word of its name is none.
    #[error("no {what} `{name}`{of}")]
    NoName {
        /// What was named.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it was looked for, with a space before.
        of: &'static str,
    },

    /// Its decimals are no number.
    #[error("`{0}` is no decimals")]
    NoDecimals(String),

    /// The archive does not hold it.
    #[error("{of} has no {what}")]
    Missing {
        /// A record, or a version in one.
        of: String,
        /// What it lacks.
        what: String,
    },

    /// The change goes the other way than the text says.
    #[error("the change is {0:+.1} %: the text has it the other way round")]
    OtherWay(f64),

    /// A number that is measured stands there without a name.
    #[error(
        "typed by hand: name `{0}` as a figure, or say where it is from, `<!--t:why-->{0}<!--/t-->`"
    )]
    Typed(String),

    /// Words that records decide stand there without a figure.
    #[error("says `{words}` without a figure of that in the sentence: {figures}")]
    Stated {
        /// The words.
        words: &'static str,
        /// The figures, one of which is needed.
        figures: String,
    },

    /// A record cannot be read.
    #[error("{0}")]
    Record(String),

    /// A picture cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
}

impl FigureError {
    /// What a record or a version in it lacks.
    pub fn missing(of: impl Into<String>, what: impl Into<String>) -> FigureError {
        FigureError::Missing { of: of.into(), what: what.into() }
    }
}
